//! One call to one bridge, which is sent again while that makes sense. No other operation sends
//! commands.
//!
//! ```text
//! New ── Started ──▶ InFlight ── Answered ──▶ settled
//!                    ▲  │ ▲                      ▲
//!                    │  │ └ script unknown       │ too late
//!                    │  ▼ lost                   │
//!                  Pausing ─── Woken ────────────┘
//! ```

use std::sync::Arc;
use std::time::Duration;

use super::repeats::Repeats;
use super::{Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::bridge::Bridge;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault};
use crate::event::EventKind;
use crate::replicas::Replicas;
use crate::runtime::Instant;
use crate::script::{self, Answer, Call};
use crate::token::Session;
use crate::topology::{Endpoint, Topology};
use crate::transport::{Response, TransportError};

/// Sends `call`, and sends it again with the same token while requests get lost or answers cannot
/// be read, within `limit`.
pub(super) struct Delivery {
    topology: Topology,
    endpoint: usize,
    call: Arc<Call>,
    session: Session,
    repeats: Repeats,
    /// Read before its first request left, and before its last.
    begun_at: Instant,
    asked_at: Instant,
    requests: u32,
    phase: Phase,
}

enum Phase {
    New,
    InFlight(InFlight),
    /// Pauses before it is sent again, after it got lost with this error.
    Pausing(Id, Fault),
    Completed,
}

/// A request under way.
struct InFlight {
    id: Id,
    nonce: String,
    /// It names a script by its digest, which Redis may not know.
    names_script: bool,
    /// How long to wait for its answer, and until when.
    limit: Duration,
    deadline: Instant,
}

impl Delivery {
    pub(super) fn new(
        topology: &Topology,
        endpoint: usize,
        call: Arc<Call>,
        session: &Session,
        limit: TimeLimit,
    ) -> Self {
        Self {
            endpoint,
            session: session.clone(),
            repeats: Repeats::new(&call, limit, topology.attempts, topology.request_timeout),
            call,
            begun_at: Instant::ORIGIN,
            asked_at: Instant::ORIGIN,
            requests: 0,
            phase: Phase::New,
            topology: topology.clone(),
        }
    }

    /// What it waits for.
    pub(super) const fn waits_for(&self) -> Option<Id> {
        match &self.phase {
            Phase::InFlight(InFlight { id, .. }) | Phase::Pausing(id, _) => Some(*id),
            Phase::New | Phase::Completed => None,
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_>) -> Option<Completed> {
        self.asked_at = cx.now;
        let limit = self.repeats.limit(cx.now).min(self.request_limit());
        let nonce = self.session.nonce(self.topology.count_request());
        let names_script =
            self.bridge().caches_scripts() && self.repeats.may_name_script(self.requests);
        self.post(cx, nonce, names_script, limit)
    }

    fn post(
        &mut self,
        cx: &mut Cx<'_>,
        nonce: String,
        names_script: bool,
        limit: Duration,
    ) -> Option<Completed> {
        self.requests += 1;
        let bridge = self.bridge();
        let (verb, script) = match names_script {
            true => ("EVALSHA", self.call.script().digest(bridge.key_locks())),
            false => ("EVAL", self.call.script().text(bridge.key_locks())),
        };
        let words = self.call.words(verb, script, &nonce);
        let post = match self.call.replicas() {
            None => bridge.encode(&words, limit),
            Some(replicas) => match bridge.encode_both([&words, &replicas.wait()], limit) {
                Ok(post) => post,
                Err(error) => return self.came_to(cx, Err(error.into())),
            },
        };
        self.phase = Phase::InFlight(InFlight {
            id: cx.send(&self.topology, self.endpoint, post),
            nonce,
            names_script,
            limit,
            deadline: cx.now + limit,
        });
        None
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        asked: InFlight,
        response: Result<Response, TransportError>,
    ) -> Option<Completed> {
        let reply = response
            .map_err(|error| unanswered(error, asked.limit).into())
            .and_then(|response| self.read(&response));
        let outcome = match reply {
            Ok((reply, _)) if asked.names_script && script::is_unknown_script(&reply) => {
                let left = asked.deadline.since(cx.now);
                // The host may have stood still meanwhile. A request that leaves now could arrive
                // after the receipt has expired.
                if !left.is_zero() {
                    return self.post(cx, asked.nonce, false, left);
                }
                Err(out_of_time().into())
            }
            Ok((reply, waited)) => self.judge(cx.now, reply, waited, &asked.nonce),
            Err(error) => Err(error),
        };
        self.came_to(cx, outcome)
    }

    /// The script's reply, and the reply to the wait for replicas behind it.
    fn read(&self, response: &Response) -> Result<(Reply, Reply), Fault> {
        self.endpoint().hear(response);
        if self.call.replicas().is_none() {
            return Ok((self.bridge().decode(response)?, Reply::Nil));
        }
        let [reply, waited] = Bridge::decode_both(response)?;
        Ok((reply, waited))
    }

    /// A lock counts as held only once as many replicas as the call asks for have it.
    fn judge(
        &self,
        now: Instant,
        reply: Reply,
        waited: Reply,
        nonce: &str,
    ) -> Result<Answer, Fault> {
        let reply = script::verdict(reply, nonce)?;
        if let Some(replicas) = self.call.replicas().filter(|_| reply.is_yes()) {
            replicas.check(waited)?;
        }
        let answer = Answer::read(&self.call, &reply)?;
        self.repeats.check(reply.is_yes(), now)?;
        Ok(answer)
    }

    /// Sends it again after a pause, or is done.
    fn came_to(&mut self, cx: &mut Cx<'_>, outcome: Result<Answer, Fault>) -> Option<Completed> {
        let mut outcome = outcome;
        if let Err(error) = &mut outcome {
            self.call.name_in(error);
            error.quote(|text| self.bridge().quote(&self.call.redact(text)));
            let (asked_at, sent) = (self.asked_at, self.requests);
            let pause = (self.repeats).pause(cx.host(), cx.now, asked_at, sent, error);
            if let Some(pause) = pause {
                let name = self.call.lock().unwrap_or_default();
                cx.observe(name, EventKind::Retried { error, pause });
                self.phase = Phase::Pausing(cx.wake_in(pause), error.clone());
                return None;
            }
        }
        Some(self.settled(outcome))
    }

    fn settled(&mut self, outcome: Result<Answer, Fault>) -> Completed {
        self.phase = Phase::Completed;
        Completed {
            begun_at: self.begun_at,
            asked_at: self.asked_at,
            earlier_may_run: self.repeats.may_have_run(),
            requests: self.requests,
            outcome: self.repeats.settle(outcome),
        }
    }

    /// A request that waits for replicas may take that much longer.
    fn request_limit(&self) -> Duration {
        let wait = self
            .call
            .replicas()
            .map_or(Duration::ZERO, Replicas::within);
        self.topology.request_timeout.saturating_add(wait)
    }

    fn endpoint(&self) -> &Endpoint {
        self.topology.endpoint(self.endpoint)
    }

    fn bridge(&self) -> &Bridge {
        &self.endpoint().bridge
    }
}

impl Operation for Delivery {
    type Outcome = Completed;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Completed> {
        match (std::mem::replace(&mut self.phase, Phase::Completed), input) {
            (Phase::New, Input::Started) => {
                self.begun_at = cx.now;
                self.ask(cx)
            }
            (Phase::InFlight(asked), Input::Answered(id, response)) if asked.id == id => {
                self.answered(cx, asked, response)
            }
            // The host may have stood still meanwhile. A request that is too late must not leave.
            (Phase::Pausing(timer, error), Input::Woken(id)) if timer == id => {
                match self.repeats.limit(cx.now).is_zero() {
                    true => Some(self.settled(Err(error))),
                    false => self.ask(cx),
                }
            }
            (phase, _) => {
                self.phase = phase;
                None
            }
        }
    }
}

/// Redis did not know the script, and there was no time left to send its text: nothing was
/// executed.
fn out_of_time() -> Error {
    let what = "Redis did not know the script, and its text could not be sent in time";
    Error::unavailable(what.into(), false)
}

/// What it means for the script that no response came within `timeout`.
fn unanswered(error: TransportError, timeout: Duration) -> Error {
    match error {
        TransportError::NotSent(message) => Error::unavailable(message, false),
        TransportError::NoResponse(message) => Error::unavailable(message, true),
        TransportError::TimedOut => Error::timed_out(timeout),
        TransportError::TooLarge => Error::bad(BadResponse::TooLarge),
        why @ TransportError::Interrupted(_) => Error::BadResponse {
            lock: None,
            kind: BadResponse::Truncated,
            source: Some(why),
            can_repeat: false,
        },
    }
}
