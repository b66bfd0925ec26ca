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

use super::delivery::Delivery;
use super::{Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::error::{Error, Fault};
use crate::runtime::Instant;
use crate::script::{Answer, Call};
use crate::token::Session;
use crate::topology::{Count, Layout, Topology, judge};

/// Asks one bridge, or the majority of several. Done as soon as the answers decide the outcome.
pub(crate) struct Ask {
    topology: Topology,
    call: Arc<Call>,
    session: Session,
    limit: TimeLimit,
    asked: Vec<Delivery>,
    answers: Vec<Answer>,
    failure: Option<Fault>,
    requests: u32,
    begun_at: Instant,
}

impl Ask {
    pub(crate) fn new(
        topology: &Topology,
        call: Arc<Call>,
        session: &Session,
        limit: TimeLimit,
    ) -> Self {
        Self {
            topology: topology.clone(),
            call,
            session: session.clone(),
            limit,
            asked: Vec::new(),
            answers: Vec::new(),
            failure: None,
            requests: 1,
            begun_at: Instant::ORIGIN,
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        self.asked.iter().filter_map(Delivery::waits_for).collect()
    }

    /// All are asked before the first answer is judged, since one may be there at once.
    fn begin(&mut self, cx: &mut Cx<'_>) -> Vec<Completed> {
        self.begun_at = cx.now;
        let (endpoints, limit) = match self.topology.layout {
            Layout::Single(endpoint) => (endpoint..endpoint + 1, self.limit),
            // A lock of a sharded client has the topology of its one bridge.
            Layout::Quorum | Layout::Sharded(_) => {
                let share = self.limit.share(cx.now).min(self.topology.request_timeout);
                let bridges = self.topology.endpoints().len();
                (0..bridges, self.limit.until(cx.now + share))
            }
        };
        let mut completed = Vec::new();
        for endpoint in endpoints {
            let (topology, call) = (&self.topology, self.call.clone());
            let mut delivery = Delivery::new(topology, endpoint, call, &self.session, limit);
            match delivery.on(cx, Input::Started) {
                Some(done) => completed.push(done),
                None => self.asked.push(delivery),
            }
        }
        completed
    }

    /// A bridge has answered, or failed for good.
    fn heard(&mut self, cx: &mut Cx<'_>, completed: Completed) -> Option<Completed> {
        if let Layout::Single(_) = self.topology.layout {
            return Some(completed);
        }
        self.requests = self.requests.max(completed.requests);
        match completed.outcome {
            Ok(answer) => self.answers.push(answer),
            Err(error) => self.failure = Some(worse_error(self.failure.take(), error)),
        }
        let (bridges, pending) = (self.topology.endpoints().len(), self.asked.len());
        let count = Count {
            bridges,
            pending,
            failed: bridges - self.answers.len() - pending,
        };
        if let Some(answer) = judge(self.call.verb(), &self.answers, count) {
            self.hear_out_others(cx);
            return Some(self.completed(Ok(answer)));
        }
        self.give_up_if_all_answered()
    }

    fn give_up_if_all_answered(&mut self) -> Option<Completed> {
        self.asked.is_empty().then(|| {
            let no_bridge = || Error::unexpected("no bridge was asked").of_lock(self.call.lock());
            let failure = self.failure.take();
            let failure = failure.unwrap_or_else(|| no_bridge().into());
            self.completed(Err(failure))
        })
    }

    /// In the background: a request that is broken off may be executed nevertheless.
    fn hear_out_others(&mut self, cx: &mut Cx<'_>) {
        if !self.asked.is_empty() {
            let ids = self.waits_for();
            let others = std::mem::take(&mut self.asked);
            cx.detach(Box::new(Others(others)), ids);
        }
    }

    const fn completed(&self, outcome: Result<Answer, Fault>) -> Completed {
        Completed {
            outcome,
            begun_at: self.begun_at,
            asked_at: self.begun_at,
            earlier_may_run: true,
            requests: self.requests,
        }
    }
}

impl Operation for Ask {
    type Outcome = Completed;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Completed> {
        if let Input::Started = input {
            let mut all = self.begin(cx).into_iter();
            return all
                .find_map(|completed| self.heard(cx, completed))
                .or_else(|| self.give_up_if_all_answered());
        }
        let completed = pass_on(&mut self.asked, cx, input)?;
        self.heard(cx, completed)
    }
}

/// The bridges whose answers are too late to count.
struct Others(Vec<Delivery>);

impl Operation for Others {
    type Outcome = ();

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<()> {
        pass_on(&mut self.0, cx, input);
        self.0.is_empty().then_some(())
    }
}

/// Tells the call that waits for it what happened, and removes it from `asked` once it is done.
fn pass_on(asked: &mut Vec<Delivery>, cx: &mut Cx<'_>, input: Input) -> Option<Completed> {
    let id = input.id()?;
    let waits = |delivery: &Delivery| delivery.waits_for() == Some(id);
    let at = asked.iter().position(waits)?;
    let completed = asked[at].on(cx, input)?;
    asked.swap_remove(at);
    Some(completed)
}

/// Of two failures the one that leaves the outcome open: unknown is not "no".
fn worse_error(before: Option<Fault>, error: Fault) -> Fault {
    before
        .filter(|before| before.is_outcome_unknown() || !error.is_outcome_unknown())
        .unwrap_or(error)
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
