//! One call to the bridge or bridges of a lock, and its outcome.

use std::marker::PhantomData;
use std::sync::Arc;

use super::delivery::Delivery;
use super::several::Several;
use super::{Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::error::Error;
use crate::script::{Call, ScriptReply};
use crate::token::Session;
use crate::topology::{Count, Layout, QuorumOutcome, Topology};

/// Asks one bridge, or the majority of several.
pub(crate) struct Ask<O>(Whom, PhantomData<fn() -> O>);

enum Whom {
    One(Delivery),
    Several(Several),
}

impl<O: QuorumOutcome> Ask<O> {
    /// Asks the bridges of the lock.
    pub(crate) fn new(
        topology: &Topology,
        call: Arc<Call>,
        session: &Session,
        limit: TimeLimit,
    ) -> Self {
        let whom = match topology.layout {
            Layout::Single(endpoint) => Whom::One(Delivery::new(
                topology,
                endpoint,
                call,
                session,
                limit,
                O::check,
            )),
            // A lock of a sharded client has the topology of its one bridge.
            Layout::Quorum | Layout::Sharded(_) => Whom::Several(Several::new(
                topology,
                call,
                session,
                limit,
                O::check,
                decides::<O>,
            )),
        };
        Self(whom, PhantomData)
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> Vec<Id> {
        match &self.0 {
            Whom::One(delivery) => delivery.waits_for().into_iter().collect(),
            Whom::Several(several) => several.waits_for(),
        }
    }
}

fn decides<O: QuorumOutcome>(answers: &[ScriptReply], count: Count) -> bool {
    judge::<O>(answers, count).is_some()
}

fn judge<O: QuorumOutcome>(answers: &[ScriptReply], count: Count) -> Option<O> {
    let answers: Vec<O> = answers.iter().flat_map(O::read).collect();
    O::judge(&answers, count)
}

impl<O: QuorumOutcome> Operation for Ask<O> {
    type Outcome = Completed<O>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Completed<O>> {
        Some(match &mut self.0 {
            Whom::One(delivery) => delivery
                .on(cx, input)?
                .and_then(|verdict| O::read(&verdict)),
            Whom::Several(several) => several.on(cx, input)?.and_then(|(answers, count)| {
                let judged = judge(&answers, count);
                judged.ok_or_else(|| UNDECIDED.of_lock(several.lock()))
            }),
        })
    }
}

const UNDECIDED: Error = Error::unexpected("no majority");
