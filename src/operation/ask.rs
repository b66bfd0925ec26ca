//! One call to the bridge or bridges of a lock, and its outcome.

use std::marker::PhantomData;
use std::sync::Arc;

use super::delivery::Delivery;
use super::several::Several;
use super::{Completed, Cx, Id, Input, Operation, TimeLimit};
use crate::error::Error;
use crate::script::{AnyOutcome, Call, ScriptReply};
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
                topology, endpoint, call, session, limit, read::<O>,
            )),
            // A lock of a sharded client has the topology of its one bridge.
            Layout::Quorum | Layout::Sharded(_) => Whom::Several(Several::new(
                topology, call, session, limit, read::<O>, judge::<O>,
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

fn read<O: QuorumOutcome>(reply: &ScriptReply) -> Result<AnyOutcome, Error> {
    O::read(reply).map(AnyOutcome::new)
}

fn judge<O: QuorumOutcome>(answers: &[AnyOutcome], count: Count) -> Option<AnyOutcome> {
    let answers: Vec<&O> = answers.iter().filter_map(AnyOutcome::get).collect();
    O::judge(&answers, count).map(AnyOutcome::new)
}

impl<O: QuorumOutcome> Operation for Ask<O> {
    type Outcome = Completed<O>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Completed<O>> {
        let settled = match &mut self.0 {
            Whom::One(delivery) => delivery.on(cx, input)?,
            Whom::Several(several) => several.on(cx, input)?,
        };
        Some(settled.and_then(AnyOutcome::into))
    }
}
