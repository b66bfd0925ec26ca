//! The requests of one call to one bridge, which is sent again while that makes sense. Nothing else
//! sends commands.
//!
//! ```text
//! ask ──▶ InFlight ── Answered ──▶ completed
//!         ▲  │ ▲                      ▲
//!         │  │ └ script unknown       │ too late
//!         │  ▼ lost                   │
//!       Pausing ─── Woken ────────────┘
//! ```

use std::time::Duration;

use super::backoff::Backoff;
use super::query::{Completed, Query};
use super::{Cx, Id, Input, TimeLimit, deadline};
use crate::bridge::Bridge;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault};
use crate::event::EventKind;
use crate::runtime::Instant;
use crate::script::{self, Answer, RECEIPT_LIFE};
use crate::topology::Topology;
use crate::transport::{Response, TransportError};

/// Sends a call, and sends it again with the same token while requests get lost or answers cannot
/// be read, within its limit.
pub(super) struct Slot {
    endpoint: usize,
    limit: TimeLimit,
    backoff: Backoff,
    /// When the first request left that may have been executed, and how the last such request got
    /// lost.
    lost: Option<(Instant, Fault)>,
    /// Read before its first request left, and before its last.
    begun_at: Instant,
    asked_at: Instant,
    requests: u32,
    phase: Phase,
}

enum Phase {
    Idle,
    InFlight(InFlight),
    /// Pauses before it is sent again, after it got lost with this error.
    Pausing(Id, Fault),
}

/// A request under way.
struct InFlight {
    id: Id,
    nonce: String,
    /// It names a script by its digest, which Redis may not know.
    names_script: bool,
    /// How long to wait for its answer.
    limit: Duration,
}

impl Slot {
    pub(super) fn new(
        topology: &Topology,
        endpoint: usize,
        limit: TimeLimit,
        now: Instant,
    ) -> Self {
        let attempts = limit.attempts_of(topology.attempts);
        Self {
            endpoint,
            limit,
            backoff: Backoff::new(attempts, topology.request_timeout),
            lost: None,
            begun_at: now,
            asked_at: now,
            requests: 0,
            phase: Phase::Idle,
        }
    }

    /// What it waits for.
    pub(super) const fn waits_for(&self) -> Option<Id> {
        match &self.phase {
            Phase::InFlight(InFlight { id, .. }) | Phase::Pausing(id, _) => Some(*id),
            Phase::Idle => None,
        }
    }

    /// Goes on until it waits for something else, or is done.
    pub(super) fn on(&mut self, query: &Query, cx: &mut Cx<'_>, input: Input) -> Option<Completed> {
        match (std::mem::replace(&mut self.phase, Phase::Idle), input) {
            (Phase::InFlight(asked), Input::Answered(id, response)) if asked.id == id => {
                self.answered(query, cx, asked, response)
            }
            // The host may have stood still meanwhile. A request that is too late must not leave.
            (Phase::Pausing(timer, fault), Input::Woken(id)) if timer == id => {
                match self.useful_for(query, cx.now).is_zero() {
                    true => Some(self.completed(query, Err(fault))),
                    false => self.ask(query, cx),
                }
            }
            (phase, _) => {
                self.phase = phase;
                None
            }
        }
    }

    pub(super) fn ask(&mut self, query: &Query, cx: &mut Cx<'_>) -> Option<Completed> {
        self.asked_at = cx.now;
        let limit = self.useful_for(query, cx.now).min(query.longest());
        let nonce = query.session.nonce(query.topology.count_request());
        // There may have to be another, with the text of the script.
        let names_script =
            self.bridge(query).caches_scripts() && self.limit.requests_left(self.requests) >= 2;
        self.post(query, cx, nonce, names_script, limit)
    }

    fn post(
        &mut self,
        query: &Query,
        cx: &mut Cx<'_>,
        nonce: String,
        names_script: bool,
        limit: Duration,
    ) -> Option<Completed> {
        self.requests += 1;
        let (bridge, call) = (self.bridge(query), &query.call);
        let (eval, script) = match names_script {
            true => ("EVALSHA", call.script().digest(bridge.key_locks())),
            false => ("EVAL", call.script().text(bridge.key_locks())),
        };
        let words = call.words(eval, script, &nonce);
        let post = match call.replicas() {
            None => bridge.encode(&words, limit),
            Some(replicas) => match bridge.encode_both([&words, &replicas.wait()], limit) {
                Ok(post) => post,
                Err(error) => return self.failed(query, cx, error.into()),
            },
        };
        self.phase = Phase::InFlight(InFlight {
            id: cx.send(&query.topology, self.endpoint, post),
            nonce,
            names_script,
            limit,
        });
        None
    }

    fn answered(
        &mut self,
        query: &Query,
        cx: &mut Cx<'_>,
        asked: InFlight,
        response: Result<Response, TransportError>,
    ) -> Option<Completed> {
        let read = response
            .map_err(|error| unanswered(error, asked.limit))
            .and_then(|response| self.read(query, &response));
        let judged = match read {
            Ok((reply, _)) if asked.names_script && script::is_unknown_script(&reply) => {
                let left = (self.asked_at + asked.limit).since(cx.now);
                // The host may have stood still meanwhile. A request that leaves now could arrive
                // after the receipt has expired.
                if !left.is_zero() {
                    return self.post(query, cx, asked.nonce, false, left);
                }
                Err(out_of_time().into())
            }
            Ok((reply, waited)) => self.judge(query, cx.now, reply, waited, &asked.nonce),
            Err(error) => Err(error.into()),
        };
        match judged {
            Ok(answer) => Some(self.completed(query, Ok(answer))),
            Err(fault) => self.failed(query, cx, fault),
        }
    }

    /// The script's reply, and the reply to the wait for replicas behind it.
    fn read(&self, query: &Query, response: &Response) -> Result<(Reply, Reply), Error> {
        query.topology.endpoint(self.endpoint).hear(response);
        if query.call.replicas().is_none() {
            return Ok((self.bridge(query).decode(response)?, Reply::Nil));
        }
        let [reply, waited] = Bridge::decode_both(response)?;
        Ok((reply, waited))
    }

    fn judge(
        &self,
        query: &Query,
        now: Instant,
        reply: Reply,
        waited: Reply,
        nonce: &str,
    ) -> Result<Answer, Fault> {
        let reply = script::verdict(reply, nonce)?;
        // A lock counts as held only once as many replicas as the call asks for have it.
        if let Some(replicas) = query.call.replicas().filter(|_| reply.is_yes()) {
            replicas.check(waited)?;
        }
        let answer = Answer::read(&query.call, &reply)?;
        // The host may have stood still. By now the first request may be why it was not done.
        match (&self.lost, self.receipt_end(query)) {
            (Some((_, lost)), Some(end)) if end <= now && !reply.is_yes() => Err(lost.clone()),
            _ => Ok(answer),
        }
    }

    /// Sends it again after a pause, or is done.
    fn failed(&mut self, query: &Query, cx: &mut Cx<'_>, mut fault: Fault) -> Option<Completed> {
        let call = &query.call;
        call.name_in(&mut fault);
        fault.quote(|text| self.bridge(query).quote(&call.redact(text)));
        let Some(pause) = self.pause(query, cx, &fault) else {
            return Some(self.completed(query, Err(fault)));
        };
        let (name, error) = (call.lock().unwrap_or_default(), &*fault);
        cx.observe(name, EventKind::Retried { error, pause });
        self.phase = Phase::Pausing(cx.wake_in(pause), fault);
        None
    }

    /// How long to pause after the last request failed; `None` not to send it again.
    fn pause(&mut self, query: &Query, cx: &Cx<'_>, fault: &Fault) -> Option<Duration> {
        if !fault.is_passing() {
            return None;
        }
        if fault.is_outcome_unknown() {
            let first = self.lost.take().map_or(self.asked_at, |(first, _)| first);
            self.lost = Some((first, fault.clone()));
        }
        // The caller has a deadline, and only a repeat can tell the outcome of its write. A wait
        // for the lock has pauses of its own.
        if self.limit.is_at_instant() && query.call.leaves_receipt() && self.lost.is_some() {
            self.backoff.lose_no_patience();
        }
        let pause = self.backoff.pause(cx.host(), fault)?;
        let left = self.useful_for(query, cx.now);
        (self.limit.requests_left(self.requests) > 0 && pause < left).then_some(pause)
    }

    /// How long an answer is useful.
    fn useful_for(&self, query: &Query, now: Instant) -> Duration {
        let left = self.limit.left(now);
        (self.receipt_end(query)).map_or(left, |end| left.min(end.since(now)))
    }

    /// Until when Redis surely recognises a repeat. `None` if no request was lost, or a repeat does
    /// no harm.
    fn receipt_end(&self, query: &Query) -> Option<Instant> {
        let (first, _) = self.lost.as_ref().filter(|_| query.call.leaves_receipt())?;
        Some(deadline(*first, RECEIPT_LIFE))
    }

    /// The outcome of all requests, from that of the last one.
    fn completed(&mut self, query: &Query, last: Result<Answer, Fault>) -> Completed {
        let lost = self.lost.take();
        Completed {
            begun_at: self.begun_at,
            asked_at: self.asked_at,
            earlier_may_run: lost.is_some(),
            requests: self.requests,
            outcome: last.map_err(|mut refusal| {
                let Some((_, lost)) = lost else {
                    return refusal;
                };
                // A key of another type may be what the commands of an earlier request stored.
                if let Error::WrongType { may_have_run, .. } = &mut *refusal {
                    *may_have_run |= query.call.leaves_receipt();
                }
                refusal.behind(lost)
            }),
        }
    }

    fn bridge<'a>(&self, query: &'a Query) -> &'a Bridge {
        &query.topology.endpoint(self.endpoint).bridge
    }
}

/// Nothing was executed: Redis did not know the script.
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
