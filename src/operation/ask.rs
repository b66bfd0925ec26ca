//! One call to the bridge or bridges of a lock.
//!
//! ```text
//!        ┌─ at one bridge ──▶ its answer ─────────────────────────────▶ done
//! Started│
//!        └─ at each bridge ─▶ vote ── decided, or all have answered ──▶ done
//!                              ▲ │ open                       │
//!                              └─┘                            └▶ the others are heard out
//! ```

use std::sync::Arc;

use super::slot::{Completed, Query, Slot};
use super::{Cx, Id, Input, Operation, TimeLimit};
use crate::error::Fault;
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::script::{Answer, Call};
use crate::token::Session;
use crate::topology::{Count, Topology, judge};

/// Asks one bridge, or the majority of several. Done as soon as the answers decide the outcome.
pub(crate) struct Ask {
    query: Query,
    limit: TimeLimit,
    /// The bridges that have not answered.
    slots: Vec<Slot>,
    answers: Vec<Answer>,
    failure: Option<Fault>,
    requests: u32,
    begun_at: Instant,
}

impl Ask {
    pub(crate) fn new(
        topology: &Arc<Topology>,
        call: Arc<Call>,
        session: &Session,
        limit: TimeLimit,
    ) -> Self {
        let query = Query { topology: topology.clone(), call, session: *session };
        Self::of(query, limit, Vec::new())
    }

    const fn of(query: Query, limit: TimeLimit, slots: Vec<Slot>) -> Self {
        Self {
            query,
            limit,
            slots,
            answers: Vec::new(),
            failure: None,
            requests: 1,
            begun_at: Instant::ORIGIN,
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        self.slots.iter().filter_map(Slot::waits_for).collect()
    }

    pub(super) fn begin(&mut self, cx: &mut Cx<'_>) {
        self.begun_at = cx.now;
        let topology = &self.query.topology;
        let mut limit = self.limit;
        if topology.is_voted() {
            let longest = Nanos::of(topology.request_timeout);
            limit = limit.until(cx.now.after(limit.share(cx.now).min(longest)));
        }
        for endpoint in topology.asked() {
            let mut slot = Slot::new(topology, endpoint, limit, cx.now);
            slot.ask(&self.query, cx);
            self.slots.push(slot);
        }
    }

    /// A bridge has answered, or failed for good.
    fn heard(&mut self, cx: &mut Cx<'_>, completed: Completed) -> Option<Completed> {
        if !self.query.topology.is_voted() {
            return Some(completed);
        }
        self.requests = self.requests.max(completed.requests);
        match completed.outcome {
            Ok(answer) => self.answers.push(answer),
            Err(fault) => self.failure = Some(worse(self.failure.take(), fault)),
        }
        let (bridges, pending) = (self.query.topology.endpoints().len(), self.slots.len());
        let count = Count { bridges, pending, failed: bridges - self.answers.len() - pending };
        let outcome = match judge(self.query.call.verb, &self.answers, count) {
            Some(answer) => Ok(answer),
            None if pending > 0 => return None,
            None => Err(self.failed()),
        };
        self.hear_out_others(cx);
        Some(Completed {
            outcome,
            begun_at: self.begun_at,
            asked_at: self.begun_at,
            earlier_may_run: true,
            requests: self.requests,
        })
    }

    /// Why nobody knows what a majority says. A bridge that refused did nothing, but another may
    /// have given back a vote without which there is no majority.
    fn failed(&mut self) -> Fault {
        let is_done = |answer: &Answer| matches!(answer, Answer::Done(_));
        match self.failure.take() {
            Some(fault) if self.answers.iter().any(is_done) => {
                fault.beside_done().unwrap_or_else(|| self.undecided())
            }
            Some(fault) => fault,
            None => self.undecided(),
        }
    }

    /// All have answered, and there is nothing that a majority says.
    fn undecided(&self) -> Fault {
        let undecided = Fault::unexpected("no majority of the bridges agrees");
        undecided.of_lock(self.query.call.lock())
    }

    /// In the background: a request that is broken off may be executed nevertheless.
    fn hear_out_others(&mut self, cx: &mut Cx<'_>) {
        if !self.slots.is_empty() {
            let ids = self.waits_for();
            let others = std::mem::take(&mut self.slots);
            let others = Self::of(self.query.clone(), self.limit, others);
            cx.detach(Box::new(HearOut(others)), ids);
        }
    }
}

impl Operation for Ask {
    type Outcome = Completed;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Completed> {
        let Some(id) = input.id() else {
            self.begin(cx);
            return None;
        };
        let mut slots = self.slots.iter_mut();
        let slot = slots.find(|slot| slot.waits_for() == Some(id))?;
        let completed = slot.on(&self.query, cx, input)?;
        self.slots.retain(|slot| slot.waits_for().is_some());
        self.heard(cx, completed)
    }
}

/// A call of whose outcome nobody is told.
pub(super) struct HearOut(pub(super) Ask);

impl Operation for HearOut {
    type Outcome = ();

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<()> {
        self.0.on(cx, input).map(drop)
    }
}

/// Of two failures the one that leaves the outcome open: unknown is not "no".
fn worse(before: Option<Fault>, fault: Fault) -> Fault {
    before
        .filter(|before| before.is_outcome_unknown() || !fault.is_outcome_unknown())
        .unwrap_or(fault)
}

impl Input {
    /// The id that it is about.
    const fn id(&self) -> Option<Id> {
        match self {
            Self::Started => None,
            Self::Answered(id, _)
            | Self::Woken(id)
            | Self::Received(id, _)
            | Self::Ended(id, _) => Some(*id),
        }
    }
}
