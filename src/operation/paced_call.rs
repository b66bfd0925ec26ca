//! One call of a throttle or of a debounce: what it asks with, and how it is given up.

use std::sync::Arc;

use super::ask::HearOut;
use super::{Ask, Cx, TimeLimit};
use crate::error::Fault;
use crate::name::Name;
use crate::runtime::Surroundings;
use crate::script::Call;
use crate::token::{Session, Token};
use crate::topology::Topology;

#[derive(Clone)]
pub(crate) struct PacedCall {
    topology: Arc<Topology>,
    pub(super) name: Name,
    /// Tells it from all others: a repeat has the same.
    pub(super) token: Token,
    session: Session,
}

impl PacedCall {
    /// # Errors
    /// [`Error::EntropyUnavailable`].
    pub(crate) fn new(
        topology: &Arc<Topology>,
        name: &Name,
        host: &dyn Surroundings,
    ) -> Result<Self, Fault> {
        let (session, token) = Session::with_token(host)?;
        Ok(Self {
            topology: topology.clone(),
            name: name.clone(),
            token,
            session,
        })
    }

    pub(super) fn ask(&self, call: Call) -> Ask {
        Ask::new(
            &self.topology,
            call.into(),
            &self.session,
            TimeLimit::TIMEOUT,
        )
    }

    /// Has `call` give up what may have been executed, or may be yet, and was not told to its
    /// caller. Nobody is left to be told what came of it.
    pub(super) fn give_up(&self, cx: &mut Cx<'_>, call: Call) {
        cx.begin_in_background(HearOut(self.ask(call)));
    }
}
