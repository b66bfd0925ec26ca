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

use std::sync::Arc;
use std::time::Duration;

use super::backoff::Backoff;
use super::{Cx, Id, Input, TimeLimit, deadline};
use crate::bridge::Bridge;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault};
use crate::event::EventKind;
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::script::{self, Answer, Call, RECEIPT_LIFE, shape};
use crate::token::Session;
use crate::topology::{Endpoint, Topology};
use crate::transport::{Response, TransportError};

/// What is asked, of whom, and for which session.
#[derive(Clone)]
pub(super) struct Query {
    pub(super) topology: Arc<Topology>,
    pub(super) call: Arc<Call>,
    pub(super) session: Session,
}

impl Query {
    /// How long a request may take. One that waits for replicas may take that much longer.
    pub(super) fn longest(&self) -> Nanos {
        let timeout = Nanos::of(self.topology.request_timeout);
        match self.call.replicas() {
            Some(replicas) => timeout + Nanos::of(replicas.within()),
            None => timeout,
        }
    }
}

/// How a call ended.
pub(crate) struct Completed {
    pub(crate) outcome: Result<Answer, Fault>,
    /// Read before its first request left.
    pub(crate) begun_at: Instant,
    /// Read before the request left that was answered. Deadlines are computed from it.
    pub(crate) asked_at: Instant,
    /// Whether a request before the last one may still be executed.
    pub(crate) earlier_may_run: bool,
    /// How often it was sent.
    pub(crate) requests: u32,
}

/// What it means for the script that no response came within `timeout`.
pub(super) fn unanswered(error: TransportError, timeout: Nanos) -> Fault {
    match error {
        TransportError::NotSent(message) => Fault::unavailable(message, false),
        TransportError::NoResponse(message) => Fault::unavailable(message, true),
        TransportError::TimedOut => Fault::timed_out(timeout.duration()),
        TransportError::TooLarge => Fault::bad(BadResponse::TooLarge),
        why @ TransportError::Interrupted(_) => Fault::from(Error::BadResponse {
            lock: None,
            kind: BadResponse::Truncated,
            source: Some(why),
            can_repeat: false,
        }),
    }
}

/// Sends a call, and sends it again with the same token while requests get lost or answers cannot
/// be read, within its limit.
pub(super) struct Slot {
    endpoint: Arc<Endpoint>,
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
    /// Pauses before it is sent again, after this error.
    Pausing(Id, Failure),
}

/// How a request failed; `None` if it may have been executed, and `lost` says how.
type Failure = Option<Fault>;

/// A request under way.
struct InFlight {
    id: Id,
    nonce: String,
    /// It names a script by its digest, which Redis may not know.
    names_script: bool,
    /// How long to wait for its answer.
    limit: Nanos,
}

impl Slot {
    pub(super) fn new(
        topology: &Topology,
        endpoint: &Arc<Endpoint>,
        limit: TimeLimit,
        now: Instant,
    ) -> Self {
        let attempts = limit.attempts_of(topology.attempts);
        Self {
            endpoint: endpoint.clone(),
            limit,
            backoff: Backoff::new(attempts, Nanos::of(topology.request_timeout)),
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
            (Phase::Pausing(timer, failure), Input::Woken(id)) if timer == id => {
                if self.useful_for(query, cx.now).is_zero() {
                    return Some(self.completed(query, Err(failure)));
                }
                self.ask(query, cx);
                None
            }
            (phase, _) => {
                self.phase = phase;
                None
            }
        }
    }

    pub(super) fn ask(&mut self, query: &Query, cx: &mut Cx<'_>) {
        self.asked_at = cx.now;
        let limit = self.useful_for(query, cx.now).min(query.longest());
        let nonce = query.session.nonce(query.topology.count_request());
        // There may have to be another, with the text of the script.
        let names_script =
            self.endpoint.bridge.caches_scripts() && self.limit.requests_left(self.requests) >= 2;
        self.post(query, cx, nonce, names_script, limit);
    }

    fn post(
        &mut self,
        query: &Query,
        cx: &mut Cx<'_>,
        nonce: String,
        names_script: bool,
        limit: Nanos,
    ) {
        self.requests += 1;
        let (bridge, call) = (&self.endpoint.bridge, &query.call);
        let (eval, script) = match names_script {
            true => ("EVALSHA", call.script.digest(bridge.key_locks())),
            false => ("EVAL", call.script.text(bridge.key_locks())),
        };
        let command = call.command(eval, script, &nonce);
        let mut post = match call.replicas() {
            None => bridge.encode(&command, limit.duration()),
            Some(replicas) => bridge.encode_both(
                [&command, &replicas.wait().each_ref().map(String::as_str)],
                limit.duration(),
            ),
        };
        post.waits = call.waits;
        self.phase = Phase::InFlight(InFlight {
            id: cx.send(&self.endpoint, post),
            nonce,
            names_script,
            limit,
        });
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
                let left = cx.now.to(self.asked_at.after(asked.limit));
                // The host may have stood still meanwhile. A request that leaves now could arrive
                // after the receipt has expired.
                if !left.is_zero() {
                    self.post(query, cx, asked.nonce, false, left);
                    return None;
                }
                Err(out_of_time())
            }
            Ok((reply, waited)) => self.judge(query, cx.now, [&reply, &waited], &asked.nonce),
            Err(error) => Err(error),
        };
        match judged {
            Ok(Some(answer)) => Some(self.completed(query, Ok(answer))),
            Ok(None) => Some(self.completed(query, Err(None))),
            Err(fault) => self.failed(query, cx, fault),
        }
    }

    /// The script's reply, and the reply to the wait for replicas behind it.
    fn read(&self, query: &Query, response: &Response) -> Result<(Reply, Reply), Fault> {
        self.endpoint.hear(response);
        if query.call.replicas().is_none() {
            return Ok((self.endpoint.bridge.decode(response)?, Reply::Nil));
        }
        let [reply, waited] = Bridge::decode_both(response)?;
        Ok((reply, waited))
    }

    /// What it answers; `None` if by now an earlier request may be why it was not done.
    fn judge(
        &self,
        query: &Query,
        now: Instant,
        [reply, waited]: [&Reply; 2],
        nonce: &str,
    ) -> Result<Option<Answer>, Fault> {
        let (verdict, rest) = script::verdict(reply, nonce)?;
        let is_yes = verdict == script::YES;
        // A lock counts as held only once as many replicas as the call asks for have it.
        if let Some(replicas) = query.call.replicas().filter(|_| is_yes) {
            replicas.check(waited)?;
        }
        let answer = Answer::read(&query.call, verdict, rest)?;
        // The host may have stood still.
        let is_late = self.receipt_end(query).is_some_and(|end| end <= now);
        Ok((is_yes || !is_late).then_some(answer))
    }

    /// Sends it again after a pause, or is done.
    #[inline(never)]
    fn failed(&mut self, query: &Query, cx: &mut Cx<'_>, mut fault: Fault) -> Option<Completed> {
        let call = &query.call;
        call.name_in(&mut fault);
        fault.quote(|text| self.endpoint.bridge.quote(&call.redact(text)));
        if !fault.is_passing() {
            return Some(self.completed(query, Err(Some(fault))));
        }
        let asked = fault.retry_after();
        let failure = match fault.is_outcome_unknown() {
            true => {
                let first = self.lost.take().map_or(self.asked_at, |(first, _)| first);
                self.lost = Some((first, fault));
                None
            }
            false => Some(fault),
        };
        let Some(pause) = self.pause(query, cx, asked) else {
            return Some(self.completed(query, Err(failure)));
        };
        let lost = self.lost.as_ref().map(|(_, lost)| lost);
        if let Some(error) = failure.as_ref().or(lost) {
            let (name, pause) = (call.lock().unwrap_or_default(), pause.duration());
            cx.observe(name, EventKind::Retried { error, pause });
        }
        self.phase = Phase::Pausing(cx.wake_in(pause), failure);
        None
    }

    /// How long to pause before it is sent again, no shorter than the bridge `asked` for; `None`
    /// not to send it again.
    fn pause(&mut self, query: &Query, cx: &Cx<'_>, asked: Option<Duration>) -> Option<Nanos> {
        // The caller has a deadline, and only a repeat can tell the outcome of its write. A wait
        // for the lock has pauses of its own.
        if self.limit.is_at_instant() && query.call.leaves_receipt && self.lost.is_some() {
            self.backoff.lose_no_patience();
        }
        let pause = self.backoff.pause(cx.host(), asked)?;
        let left = self.useful_for(query, cx.now);
        (self.limit.requests_left(self.requests) > 0 && pause < left).then_some(pause)
    }

    /// How long an answer is useful.
    fn useful_for(&self, query: &Query, now: Instant) -> Nanos {
        let left = self.limit.left(now);
        (self.receipt_end(query)).map_or(left, |end| left.min(now.to(end)))
    }

    /// Until when Redis surely recognises a repeat. `None` if no request was lost, or a repeat does
    /// no harm.
    fn receipt_end(&self, query: &Query) -> Option<Instant> {
        let (first, _) = self.lost.as_ref().filter(|_| query.call.leaves_receipt)?;
        Some(deadline(*first, RECEIPT_LIFE))
    }

    /// The outcome of all requests, from that of the last one.
    fn completed(&mut self, query: &Query, last: Result<Answer, Failure>) -> Completed {
        let lost = self.lost.take();
        Completed {
            begun_at: self.begun_at,
            asked_at: self.asked_at,
            earlier_may_run: lost.is_some(),
            requests: self.requests,
            outcome: last.map_err(|last| match (last, lost) {
                (Some(mut refusal), Some((_, lost))) => {
                    // A key of another type may be what the commands of an earlier request stored.
                    if let Error::WrongType { may_have_run, .. } = &mut *refusal {
                        *may_have_run |= query.call.leaves_receipt;
                    }
                    refusal.behind(lost)
                }
                (Some(fault), None) | (None, Some((_, fault))) => fault,
                (None, None) => shape(),
            }),
        }
    }
}

/// Nothing was executed: Redis did not know the script.
fn out_of_time() -> Fault {
    let what = "Redis did not know the script, and its text could not be sent in time";
    Fault::unavailable(what.into(), false)
}
