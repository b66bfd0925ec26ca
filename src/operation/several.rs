//! One call to several bridges at once, of which a majority decides.

use std::sync::Arc;

use super::delivery::{Delivery, Read};
use super::{Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::error::Error;
use crate::runtime::Instant;
use crate::script::{AnyOutcome, Call};
use crate::token::Session;
use crate::topology::{Count, Topology};

/// Done as soon as the answers decide the outcome.
pub(super) struct Several {
    topology: Topology,
    call: Arc<Call>,
    session: Session,
    limit: TimeLimit,
    read: Read,
    judge: Judge,
    asked: Vec<Delivery>,
    answers: Vec<AnyOutcome>,
    failure: Option<Error>,
    requests: u32,
    begun_at: Option<Instant>,
}

/// What the answers so far amount to, if they decide the outcome.
pub(super) type Judge = fn(&[AnyOutcome], Count) -> Option<AnyOutcome>;

const NO_BRIDGES: Error = Error::unexpected("no bridge was asked");

impl Several {
    pub(super) fn new(
        topology: &Topology,
        call: Arc<Call>,
        session: &Session,
        limit: TimeLimit,
        read: Read,
        judge: Judge,
    ) -> Self {
        Self {
            topology: topology.clone(),
            call,
            session: session.clone(),
            limit,
            read,
            judge,
            asked: Vec::new(),
            answers: Vec::new(),
            failure: None,
            requests: 1,
            begun_at: None,
        }
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        self.asked.iter().filter_map(Delivery::waits_for).collect()
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.begun_at = Some(cx.now);
        let share = self.limit.share(cx.now).min(self.topology.request_timeout);
        let limit = self.limit.until(cx.now + share);
        for endpoint in 0..self.topology.endpoints().len() {
            let alone = self.topology.of(endpoint);
            self.asked.push(Delivery::new(
                &alone,
                endpoint,
                self.call.clone(),
                &self.session,
                limit,
                self.read,
            ));
        }
    }

    fn heard(
        &mut self,
        cx: &mut Cx<'_>,
        settled: Completed<AnyOutcome>,
    ) -> Option<Completed<AnyOutcome>> {
        self.requests = self.requests.max(settled.requests);
        match settled.outcome {
            Ok(answer) => self.answers.push(answer),
            Err(error) => self.failure = Some(worse_error(self.failure.take(), error)),
        }
        let (bridges, pending) = (self.topology.endpoints().len(), self.asked.len());
        let count = Count {
            bridges,
            pending,
            failed: bridges - self.answers.len() - pending,
        };
        if let Some(outcome) = (self.judge)(&self.answers, count) {
            self.hear_out_others(cx);
            return Some(self.settled(cx, Ok(outcome)));
        }
        self.give_up_if_all_answered(cx)
    }

    fn give_up_if_all_answered(&mut self, cx: &Cx<'_>) -> Option<Completed<AnyOutcome>> {
        self.asked.is_empty().then(|| {
            let failure = self.failure.take();
            self.settled(
                cx,
                Err(failure.unwrap_or_else(|| NO_BRIDGES.of_lock(self.call.lock()))),
            )
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

    fn settled(&self, cx: &Cx<'_>, outcome: Result<AnyOutcome, Error>) -> Completed<AnyOutcome> {
        let begun_at = self.begun_at.unwrap_or(cx.now);
        Completed {
            outcome,
            begun_at,
            asked_at: begun_at,
            earlier_may_run: true,
            requests: self.requests,
        }
    }
}

impl Operation for Several {
    type Outcome = Completed<AnyOutcome>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Completed<AnyOutcome>> {
        if let Input::Started = input {
            self.begin(cx);
            // All are asked before the first answer is judged, since one may be there at once.
            let mut settled = Vec::new();
            self.asked.retain_mut(|delivery| {
                let answer = delivery.on(cx, Input::Started);
                let waits = answer.is_none();
                settled.extend(answer);
                waits
            });
            let mut all = settled.into_iter();
            return all
                .find_map(|settled| self.heard(cx, settled))
                .or_else(|| self.give_up_if_all_answered(cx));
        }
        let settled = pass_on(&mut self.asked, cx, input)?;
        self.heard(cx, settled)
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
fn pass_on(
    asked: &mut Vec<Delivery>,
    cx: &mut Cx<'_>,
    input: Input,
) -> Option<Completed<AnyOutcome>> {
    let id = input.id()?;
    let waits = |delivery: &Delivery| delivery.waits_for() == Some(id);
    let at = asked.iter().position(waits)?;
    let settled = asked[at].on(cx, input)?;
    asked.swap_remove(at);
    Some(settled)
}

/// Of two failures the one that leaves the outcome open: unknown is not "no".
fn worse_error(before: Option<Error>, error: Error) -> Error {
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
