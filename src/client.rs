//! The client: where its bridges are, how to reach them, and how often to ask.

mod majority;
mod repeats;
mod sending;
mod several;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::bridge::{Bridge, Push};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::lock::{self, Lock};
use crate::name::Name;
use crate::runtime::Runtime;
use crate::script::{self, Call, Kind};
use crate::token::Session;
use crate::transport::{Response, Transport};

pub(crate) use sending::{Settled, Until};

const MAX_OWNER: usize = 512;

/// No answer comes in no time, and hosts count whole milliseconds.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// Hands out locks that live behind a bridge, or behind several.
///
/// Cheap to clone, and to make anew in each handler. Making one sends nothing and draws no random bytes, so it may be made
/// outside of a request.
///
/// `T` sends requests and `R` knows the time: on the edge `edgelock::web` has both.
pub struct Client<T, R> {
    host: Arc<Host<T, R>>,
    reach: Reach,
    prefix: Arc<str>,
    request_timeout: Duration,
    attempts: u32,
    quarantine: Duration,
}

struct Host<T, R> {
    nodes: Vec<Node>,
    transport: T,
    runtime: R,
    /// Requests so far, so that each has a nonce of its own.
    requests: AtomicU64,
}

/// One bridge, and what was learned of it.
struct Node {
    bridge: Bridge,
    /// Has answered, and in an answer said that it can be listened to.
    answered: AtomicBool,
    announced: AtomicBool,
    /// Was found to have no subscriptions.
    mute: AtomicBool,
}

impl Node {
    const fn new(bridge: Bridge) -> Self {
        Self {
            bridge,
            answered: AtomicBool::new(false),
            announced: AtomicBool::new(false),
            mute: AtomicBool::new(false),
        }
    }

    /// Whether waiters listen; before the first answer of some bridges, nobody knows.
    fn pushes(&self) -> Option<bool> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if is(&self.mute) {
            return Some(false);
        }
        let announced = || is(&self.answered).then(|| is(&self.announced));
        self.bridge.pushes().or_else(announced)
    }

    /// Hears what the bridge says of itself. Only its answers count: a refusal can come from a proxy before it.
    fn hear(&self, response: &Response) {
        if response.status == 200 {
            if Bridge::says_it_pushes(response) {
                self.announced.store(true, Ordering::Relaxed);
            }
            self.answered.store(true, Ordering::Relaxed);
        }
    }
}

/// Which of the bridges a lock lives behind.
#[derive(Clone)]
enum Reach {
    One(usize),
    /// All of them, and what a majority says counts.
    Majority,
    /// One, by the lock's name. These are what the bridges are called.
    ByName(Arc<[String]>),
}

impl<T: Transport, R: Runtime> Client<T, R> {
    /// A client of `bridge`, with a time-out of 2 s for each request and up to 3 attempts for each operation.
    pub fn new(bridge: Bridge, transport: T, runtime: R) -> Self {
        Self::over(vec![bridge], Reach::One(0), transport, runtime)
    }

    fn over(bridges: Vec<Bridge>, reach: Reach, transport: T, runtime: R) -> Self {
        let nodes = bridges.into_iter().map(Node::new).collect();
        Self {
            host: Arc::new(Host {
                nodes,
                transport,
                runtime,
                requests: AtomicU64::new(0),
            }),
            reach,
            prefix: "".into(),
            request_timeout: Duration::from_secs(2),
            attempts: 3,
            quarantine: Duration::ZERO,
        }
    }

    /// Puts `prefix` before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long to wait for the answer to one request before it is aborted, at most; less than 1 ms counts as that. No answer is
    /// awaited past the lease's deadline, whatever is set here.
    ///
    /// Also how long a call that does not wait for the lock leaves a bridge alone that asks for it
    /// (`Retry-After`), in all. What is more is said by [`Error::retry_after`].
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        let is_too_short = timeout.as_nanos() < SHORTEST_TIMEOUT.as_nanos();
        self.request_timeout = if is_too_short {
            SHORTEST_TIMEOUT
        } else {
            timeout
        };
        self
    }

    /// How often an operation is sent when its requests get lost; 0 counts as 1. Sending again is safe: all attempts carry the
    /// same token, and a write its number. A write is not sent again later than half a minute after
    /// the first time: Redis knows no longer that it is the same.
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
    /// [`Error::InvalidArgument`] if the name is empty or too long, or has a `}` but no hash tag: nothing could share its slot. If its keys
    /// could be those of another lock: `{7}:fence` and all else that looks like a companion, and `{7}`, whose companions are those of `7`.
    pub fn lock(&self, name: &str) -> Result<Lock<T, R>, Error> {
        let name = Name::new(&self.prefix, name)?;
        let kind = match self.reach {
            Reach::Majority => Kind::Voted {
                quarantine: self.quarantine.min(lock::MAX_TTL),
            },
            Reach::One(_) | Reach::ByName(_) => Kind::Mutex,
        };
        Ok(Lock::new(self.for_name(&name), name, kind))
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
    /// [`Error::InvalidArgument`] if the name cannot be one, or the owner is empty or over 512 bytes, or this is a
    /// [quorum](Client::quorum).
    pub fn reentrant(&self, name: &str, owner: &str) -> Result<Lock<T, R>, Error> {
        if owner.is_empty() || owner.len() > MAX_OWNER {
            return Err(Error::InvalidArgument(format!(
                "an owner has 1 to {MAX_OWNER} bytes"
            )));
        }
        if let Reach::Majority = self.reach {
            return Err(Error::InvalidArgument(
                "a reentrant lock lives behind one bridge, not several".into(),
            ));
        }
        let name = Name::new(&self.prefix, name)?;
        let kind = Kind::Reentrant {
            owner: owner.to_owned(),
        };
        Ok(Lock::new(self.for_name(&name), name, kind))
    }

    /// Runs commands that only read, together and without a lock: what they say may be out of date on arrival. One request.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a command may write, or there are several bridges to read from: see [`Client::at`].
    /// [`Error::CommandFailed`] if one failed; those of the bridge.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request.
    pub async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Error> {
        script::check_reads(reads)?;
        let Reach::One(node) = self.reach else {
            return Err(Error::InvalidArgument(
                "there are several bridges to read from; say by `at` which one".into(),
            ));
        };
        let session = Session::random(self.runtime())?;
        let call = Call::read(reads);
        let until = Until::Timeout;
        self.call_at(node, &call, &session, until).await.outcome
    }

    /// The host that it was made for: its clock, its timers, its background.
    pub fn runtime(&self) -> &R {
        &self.host.runtime
    }

    pub(crate) const fn request_limit(&self) -> Duration {
        self.request_timeout
    }

    pub(crate) const fn attempt_limit(&self) -> u32 {
        self.attempts
    }

    pub(crate) fn observe(&self, name: &Name, kind: EventKind<'_>) {
        let name = name.key();
        self.runtime().observe(&Event { name, kind });
    }

    /// The bridge that pushes to waiters, if there is one.
    fn speaker(&self) -> Option<&Node> {
        self.single().filter(|node| node.pushes() == Some(true))
    }

    fn single(&self) -> Option<&Node> {
        match self.reach {
            Reach::One(node) => self.host.nodes.get(node),
            Reach::Majority | Reach::ByName(_) => None,
        }
    }

    /// Whether waiters listen.
    pub(crate) fn pushes(&self) -> bool {
        self.speaker().is_some()
    }

    /// Whether waiters may come to listen, as far as is known: before its first answer a bridge said nothing of itself.
    pub(crate) fn may_push(&self) -> bool {
        self.single()
            .is_some_and(|node| node.pushes() != Some(false))
    }

    /// Listens to `channel` until that is over, for `limit` at most. One request.
    pub(crate) async fn listen(
        &self,
        channel: &str,
        limit: Duration,
        hear: &mut (dyn FnMut(Push) + Send),
    ) {
        let Some(node) = self.speaker() else {
            return;
        };
        let mut url = String::new();
        let (request, mut listening) = node.bridge.listen(&mut url, channel, limit);
        let mut read = |piece: &[u8]| listening.read(piece, hear);
        // However it ends, asking from time to time goes on.
        let ended = self.host.transport.listen(request, &mut read).await;
        if ended.is_ok_and(Bridge::never_pushes) {
            node.mute.store(true, Ordering::Relaxed);
        }
    }
}

impl<T, R> Clone for Client<T, R> {
    fn clone(&self) -> Self {
        Self {
            host: self.host.clone(),
            reach: self.reach.clone(),
            prefix: self.prefix.clone(),
            request_timeout: self.request_timeout,
            attempts: self.attempts,
            quarantine: self.quarantine,
        }
    }
}

impl<T, R> fmt::Debug for Client<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bridges: Vec<_> = self.host.nodes.iter().map(|node| &node.bridge).collect();
        f.debug_struct("Client")
            .field("bridges", &bridges)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
