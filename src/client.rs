//! The client: where the bridge is, how to reach it, and how often to ask.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::bridge::{Bridge, Push};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::lock::Lock;
use crate::name::Name;
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Call, Kind, Verdict};
use crate::token::Session;
use crate::transport::{Transport, TransportError};
use crate::wait::Backoff;

const MAX_OWNER: usize = 512;

/// Hands out locks that live behind one bridge.
///
/// Cheap to clone, and to make anew in each handler. Making one sends nothing and draws no random bytes, so it may be made
/// outside of a request.
///
/// `T` sends requests and `R` knows the time: on the edge `edgelock::web` has both.
pub struct Client<T, R> {
    host: Arc<Host<T, R>>,
    prefix: Arc<str>,
    request_timeout: Duration,
    attempts: u32,
}

struct Host<T, R> {
    bridge: Bridge,
    transport: T,
    runtime: R,
    /// Requests so far, so that each has a nonce of its own.
    requests: AtomicU64,
    /// The bridge was found to have no subscriptions.
    mute: AtomicBool,
}

impl<T: Transport, R: Runtime> Client<T, R> {
    /// A client of `bridge`, with a time-out of 2 s for each request and up to 3 attempts for each operation.
    pub fn new(bridge: Bridge, transport: T, runtime: R) -> Self {
        Self {
            host: Arc::new(Host {
                bridge,
                transport,
                runtime,
                requests: AtomicU64::new(0),
                mute: AtomicBool::new(false),
            }),
            prefix: "".into(),
            request_timeout: Duration::from_secs(2),
            attempts: 3,
        }
    }

    /// Puts `prefix` before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long to wait for the answer to one request before it is aborted, at most. No answer is awaited past the lease's
    /// deadline, whatever is set here.
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// How often an operation is sent when its requests get lost; 0 counts as 1. Sending again is safe: all attempts carry the
    /// same token, and a write its number.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// The lock called `name`, 1 to 512 bytes with the prefix. Sends nothing.
    ///
    /// The lock is the Redis key of that name, as other clients lock it too. Its companions, such as `{name}:fence`, lie in
    /// the same slot of a cluster.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the name is empty or too long, or has a `}` but no hash tag: nothing could share its slot.
    pub fn lock(&self, name: &str) -> Result<Lock<T, R>, Error> {
        Ok(Lock::new(
            self.clone(),
            Name::new(&self.prefix, name)?,
            Kind::Mutex,
        ))
    }

    /// The lock called `name` as `owner` may take it: again and again while it has it, from any handler that says the same
    /// `owner`, and free once it was released as often. Sends nothing.
    ///
    /// It is stored as Redisson stores its `RLock`, so both see the same lock; there an owner is `<client id>:<thread id>`. All
    /// leases of one hold have the same fence. Others that wait are told of the last release, and all ask: nobody queues, so it
    /// cannot be [fair](Lock::fair).
    ///
    /// Whoever says `owner` has what `owner` has, so it should be as unique as what it stands for: a request, an order, a saga.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the name cannot be one, or the owner is empty or over 512 bytes.
    pub fn reentrant(&self, name: &str, owner: &str) -> Result<Lock<T, R>, Error> {
        if owner.is_empty() || owner.len() > MAX_OWNER {
            return Err(Error::InvalidArgument(format!(
                "an owner has 1 to {MAX_OWNER} bytes"
            )));
        }
        let kind = Kind::Reentrant {
            owner: owner.to_owned(),
        };
        Ok(Lock::new(
            self.clone(),
            Name::new(&self.prefix, name)?,
            kind,
        ))
    }

    /// Runs commands that only read, together and without a lock: what they say may be out of date on arrival. One request.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a command may write, [`Error::CommandFailed`] if one failed; those of the bridge.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request.
    pub async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Error> {
        script::check_reads(reads)?;
        let session = Session::random(self.runtime())?;
        self.call_once(&Call::read(reads), &session, script::read)
            .await
    }

    pub(crate) fn runtime(&self) -> &R {
        &self.host.runtime
    }

    pub(crate) const fn request_limit(&self) -> Duration {
        self.request_timeout
    }

    pub(crate) fn observe(&self, name: &Name, kind: EventKind<'_>) {
        let name = name.key();
        self.runtime().observe(&Event { name, kind });
    }

    /// Whether who waits may listen.
    pub(crate) fn pushes(&self) -> bool {
        self.host.bridge.pushes() && !self.host.mute.load(Ordering::Relaxed)
    }

    /// Listens to `channel` until that is over, for `limit` at most. One request.
    pub(crate) async fn listen(
        &self,
        channel: &str,
        limit: Duration,
        hear: &mut (dyn FnMut(Push) + Send),
    ) {
        let mut url = String::new();
        let (request, mut listening) = self.host.bridge.listen(&mut url, channel, limit);
        let mut read = |piece: &[u8]| listening.read(piece, hear);
        // However it ends, asking from time to time goes on.
        let ended = self.host.transport.listen(request, &mut read).await;
        if ended.is_ok_and(Bridge::never_pushes) {
            self.host.mute.store(true, Ordering::Relaxed);
        }
    }

    /// Has a call executed that belongs to no acquisition.
    pub(crate) async fn call_once<O>(
        &self,
        call: &Call,
        session: &Session,
        read: impl Fn(Verdict) -> Result<O, Error>,
    ) -> Result<O, Error> {
        self.call(call, session, Until::Timeout, read).await.outcome
    }

    /// Has `call` executed, and sends it again with the same token while requests get lost, until `until`. The only place that
    /// sends again.
    pub(crate) async fn call<O>(
        &self,
        call: &Call,
        session: &Session,
        until: Until,
        read: impl Fn(Verdict) -> Result<O, Error>,
    ) -> Settled<O> {
        let mut backoff = Backoff::new(self.attempts.min(until.requests()));
        let mut strays = false;
        let mut requests = 0;
        let begun_at = self.runtime().now();
        loop {
            let asked_at = self.runtime().now();
            let limit = until.limit(asked_at).min(self.request_timeout);
            let outcome = self
                .send(call, session, limit, &mut requests)
                .await
                .and_then(&read)
                .map_err(|error| error.quoting(|text| self.clean(call, text)));
            let pause = match &outcome {
                Err(error) if error.is_passing() => {
                    strays |= error.is_unknown();
                    let left = until.limit(self.runtime().now());
                    backoff
                        .pause(self.runtime(), error)
                        .filter(|pause| *pause < left)
                        .inspect(|pause| self.observe_retry(call, error, *pause))
                }
                _ => None,
            };
            let Some(pause) = pause else {
                return Settled {
                    outcome,
                    begun_at,
                    asked_at,
                    strays,
                    requests,
                };
            };
            self.runtime().sleep(pause).await;
        }
    }

    fn observe_retry(&self, call: &Call, error: &Error, pause: Duration) {
        let name = call.lock().unwrap_or_default();
        let kind = EventKind::Retried { error, pause };
        self.runtime().observe(&Event { name, kind });
    }

    /// Sends `call` once; with `script_cache`, once more if Redis does not know the script. Both within `limit`.
    async fn send(
        &self,
        call: &Call,
        session: &Session,
        limit: Duration,
        requests: &mut u32,
    ) -> Result<Verdict, Error> {
        let bridge = &self.host.bridge;
        let mut left = limit;
        let nonce = session.nonce(self.host.requests.fetch_add(1, Ordering::Relaxed));
        *requests += 1;
        if bridge.caches_scripts() {
            let deadline = self.runtime().now() + limit;
            let digest = call.script().digest(bridge.key_locks());
            let reply = self
                .execute(&call.words("EVALSHA", digest, &nonce), limit)
                .await?;
            if !script::is_unknown_script(&reply) {
                return script::verdict(reply, &nonce);
            }
            *requests += 1;
            left = deadline.since(self.runtime().now());
        }
        let text = call.script().text(bridge.key_locks());
        let reply = self
            .execute(&call.words("EVAL", text, &nonce), left)
            .await?;
        script::verdict(reply, &nonce)
    }

    async fn execute(&self, words: &[&str], timeout: Duration) -> Result<Reply, Error> {
        let request = self.host.bridge.encode(words, timeout);
        let response = self
            .host
            .transport
            .send(request)
            .await
            .map_err(|error| match error {
                TransportError::NoResponse(message) => Error::Unavailable {
                    message,
                    retry_after: None,
                    may_have_run: true,
                },
                TransportError::BrokeOff(_) => Error::Truncated,
                TransportError::TooLarge => Error::TooLarge,
                TransportError::TimedOut => Error::TimedOut(timeout),
            })?;
        self.host
            .bridge
            .decode(&response, script::is_error_of_redis)
    }

    /// `text` from outside, as an error may quote it.
    fn clean(&self, call: &Call, text: &str) -> String {
        self.host.bridge.quote(&call.redact(text))
    }
}

/// How an operation ended.
pub(crate) struct Settled<O> {
    pub(crate) outcome: Result<O, Error>,
    /// Before its first request left.
    pub(crate) begun_at: Moment,
    /// Before the request that was answered left: what a deadline is computed from.
    pub(crate) asked_at: Moment,
    /// Whether a request before the last one may yet be executed.
    pub(crate) strays: bool,
    /// How often it was sent.
    pub(crate) requests: u32,
}

/// How long an answer is of use.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// Up to an instant.
    Deadline(Moment),
    /// An acquisition's ttl, which runs anew from each request; and up to the end of its wait, if it waits.
    Ttl {
        ttl: Duration,
        give_up: Option<Moment>,
        /// How many requests it may still send.
        requests: u32,
    },
    /// For as long as requests may take.
    Timeout,
}

impl Until {
    fn limit(self, now: Moment) -> Duration {
        match self {
            Self::Deadline(deadline) => deadline.since(now),
            Self::Ttl { ttl, give_up, .. } => {
                give_up.map_or(ttl, |give_up| ttl.min(give_up.since(now)))
            }
            Self::Timeout => Duration::MAX,
        }
    }

    const fn requests(self) -> u32 {
        match self {
            Self::Ttl { requests, .. } => requests,
            Self::Deadline(_) | Self::Timeout => u32::MAX,
        }
    }
}

impl<T, R> Clone for Client<T, R> {
    fn clone(&self) -> Self {
        Self {
            host: self.host.clone(),
            prefix: self.prefix.clone(),
            request_timeout: self.request_timeout,
            attempts: self.attempts,
        }
    }
}

impl<T, R> fmt::Debug for Client<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("bridge", &self.host.bridge)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
