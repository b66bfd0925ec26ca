//! Sending: what is sent again, and for how long.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::repeats::Repeats;
use super::{Client, Node, Reach};
use crate::bridge::Bridge;
use crate::command::Reply;
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::quorum::Judged;
use crate::replicas::Replicas;
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Call, Outcome, Verdict};
use crate::token::Session;
use crate::transport::{Transport, TransportError};

impl<T: Transport, R: Runtime> Client<T, R> {
    /// Has a call executed that belongs to no acquisition.
    pub(crate) async fn call_once<O: Judged>(
        &self,
        call: &Call,
        session: &Session,
    ) -> Result<O, Error> {
        self.call(call, session, Until::Timeout).await.outcome
    }

    /// Has `call` executed where the lock lives.
    pub(crate) async fn call<O: Judged>(
        &self,
        call: &Call,
        session: &Session,
        until: Until,
    ) -> Settled<O> {
        match self.reach {
            Reach::One(node) => self.call_at(node, call, session, until).await,
            // A lock that lives behind one by its name has a client of that one.
            Reach::Majority | Reach::ByName(_) => self.call_majority(call, session, until).await,
        }
    }

    /// Has `call` executed behind one bridge.
    pub(super) async fn call_at<O: Outcome>(
        &self,
        node: usize,
        call: &Call,
        session: &Session,
        until: Until,
    ) -> Settled<O> {
        let settled = self.deliver(node, call, session, until, O::check).await;
        settled.and_then(|verdict| O::read(&verdict))
    }

    /// Sends `call`, and again with the same token while requests get lost or answers do not pass `check`, until `until`. The only
    /// place that sends again, and one for all outcomes: in wasm each more would be another copy of it.
    pub(super) async fn deliver(
        &self,
        node: usize,
        call: &Call,
        session: &Session,
        until: Until,
        check: Check,
    ) -> Settled<Verdict> {
        let node = &self.host.nodes[node];
        let mut repeats = Repeats::new(call, until, self.attempts, self.request_timeout);
        let mut requests = 0;
        let mut begun_at = None;
        loop {
            let asked_at = self.runtime().now();
            let begun_at = *begun_at.get_or_insert(asked_at);
            let limit = repeats.limit(asked_at).min(self.request_limit_of(call));
            let outcome = self
                .send(node, call, session, limit, &mut requests)
                .await
                .and_then(|verdict| check(&verdict).map(|()| verdict))
                .and_then(|verdict| repeats.check(verdict, self.runtime().now()))
                .map_err(|error| call.name_in(error))
                .map_err(|error| error.quoting(|text| node.bridge.quote(&call.redact(text))));
            let pause = match &outcome {
                Err(error) => repeats
                    .pause(self.runtime(), asked_at, error)
                    .inspect(|pause| self.observe_retry(call, error, *pause)),
                Ok(_) => None,
            };
            if let Some(pause) = pause {
                self.runtime().sleep(pause).await;
                // The host may have stood still meanwhile, and what comes too late must not leave.
                if !repeats.limit(self.runtime().now()).is_zero() {
                    continue;
                }
            }
            return Settled {
                begun_at,
                asked_at,
                strays: repeats.may_have_run(),
                requests,
                outcome: repeats.settle(outcome),
            };
        }
    }

    fn observe_retry(&self, call: &Call, error: &Error, pause: Duration) {
        let name = call.lock().unwrap_or_default();
        let kind = EventKind::Retried { error, pause };
        self.runtime().observe(&Event { name, kind });
    }

    /// Sends `call` once; with `script_cache`, once more if Redis does not know the script. Both within `limit`, and neither behind it.
    async fn send(
        &self,
        node: &Node,
        call: &Call,
        session: &Session,
        limit: Duration,
        requests: &mut u32,
    ) -> Result<Verdict, Error> {
        let bridge = &node.bridge;
        let mut left = limit;
        let nonce = session.nonce(self.host.requests.fetch_add(1, Ordering::Relaxed));
        *requests += 1;
        if bridge.caches_scripts() {
            let deadline = self.runtime().now() + limit;
            let digest = call.script().digest(bridge.key_locks());
            let words = call.words("EVALSHA", digest, &nonce);
            let answer = self.execute(node, call, &words, limit).await?;
            if !script::is_unknown_script(&answer.reply) {
                return answer.verdict(call, &nonce);
            }
            left = deadline.since(self.runtime().now());
            // The host may have stood still meanwhile. What leaves now could arrive when the receipt is gone.
            if left.is_zero() {
                return Err(out_of_time());
            }
            *requests += 1;
        }
        let text = call.script().text(bridge.key_locks());
        let words = call.words("EVAL", text, &nonce);
        let answer = self.execute(node, call, &words, left).await?;
        answer.verdict(call, &nonce)
    }

    async fn execute(
        &self,
        node: &Node,
        call: &Call,
        words: &[&str],
        timeout: Duration,
    ) -> Result<Answer, Error> {
        let bridge = &node.bridge;
        let mut url = String::new();
        let request = match call.replicas() {
            None => bridge.encode(words, timeout),
            Some(replicas) => bridge.encode_both(&mut url, [words, &replicas.wait()], timeout)?,
        };
        let response = self
            .host
            .transport
            .send(request)
            .await
            .map_err(|error| unanswered(error, timeout))?;
        node.hear(&response);
        let of_redis = script::is_error_of_redis;
        Ok(match call.replicas() {
            None => Answer {
                reply: bridge.decode(&response, of_redis)?,
                waited: Reply::Nil,
            },
            Some(_) => {
                let [reply, waited] = Bridge::decode_both(&response, of_redis)?;
                Answer { reply, waited }
            }
        })
    }

    /// One that waits for replicas lasts for that much longer.
    fn request_limit_of(&self, call: &Call) -> Duration {
        let wait = call.replicas().map_or(Duration::ZERO, Replicas::within);
        self.request_timeout.saturating_add(wait)
    }
}

/// Redis did not know the script, and the time was over before it could be told: nothing was executed.
fn out_of_time() -> Error {
    Error::Unavailable {
        message: "Redis did not know the script, and its text could not be sent in time".into(),
        retry_after: None,
        may_have_run: false,
    }
}

/// What the lack of a response within `timeout` means for the script.
fn unanswered(error: TransportError, timeout: Duration) -> Error {
    let may_have_run = !matches!(error, TransportError::NotSent(_));
    match error {
        TransportError::NotSent(message) | TransportError::NoResponse(message) => {
            Error::Unavailable {
                message,
                retry_after: None,
                may_have_run,
            }
        }
        TransportError::BrokeOff(_) => Error::Truncated,
        TransportError::TooLarge => Error::TooLarge,
        TransportError::TimedOut => Error::TimedOut(timeout),
    }
}

/// What a request brought: the script's reply, and that to the wait for replicas behind it.
struct Answer {
    reply: Reply,
    waited: Reply,
}

impl Answer {
    /// A lock counts as held only once it is replicated as `call` asks.
    fn verdict(self, call: &Call, nonce: &str) -> Result<Verdict, Error> {
        let verdict = script::verdict(self.reply, nonce)?;
        match call.replicas().filter(|_| verdict.is_yes()) {
            Some(replicas) => replicas.check(self.waited).map(|()| verdict),
            None => Ok(verdict),
        }
    }
}

/// Whether an answer is one to this call.
pub(super) type Check = fn(&Verdict) -> Result<(), Error>;

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

impl<O> Settled<O> {
    pub(super) fn and_then<P>(self, read: impl FnOnce(O) -> Result<P, Error>) -> Settled<P> {
        Settled {
            outcome: self.outcome.and_then(read),
            begun_at: self.begun_at,
            asked_at: self.asked_at,
            strays: self.strays,
            requests: self.requests,
        }
    }
}

/// How long an answer is of use.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// Up to an instant.
    Deadline(Moment),
    /// An acquisition's ttl, which runs anew from each request.
    Ttl {
        ttl: Duration,
        /// How many requests it may still send.
        requests: u32,
    },
    /// For as long as requests may take.
    Timeout,
}

impl Until {
    pub(super) fn limit(self, now: Moment) -> Duration {
        match self {
            Self::Deadline(deadline) => deadline.since(now),
            Self::Ttl { ttl, .. } => ttl,
            Self::Timeout => Duration::MAX,
        }
    }

    /// What one of several bridges may take of it: if it is mute, the others must still find an acquisition worth having.
    pub(super) fn share(self, now: Moment) -> Duration {
        match self {
            Self::Ttl { .. } => self.limit(now) / 4,
            Self::Deadline(_) | Self::Timeout => self.limit(now),
        }
    }

    /// How often to send, of `attempts` that are allowed.
    pub(super) fn attempts(self, attempts: u32) -> u32 {
        match self {
            Self::Ttl { requests, .. } => attempts.min(requests),
            Self::Deadline(_) | Self::Timeout => attempts,
        }
    }
}
