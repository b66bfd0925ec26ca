//! A name that calls come to, and that nobody holds: what a throttle and a debounce have in common.

use std::sync::Arc;

use crate::checked::Checked;
use crate::drive::Host;
use crate::error::Fault;
use crate::name::Name;
use crate::operation::PacedCall;
use crate::runtime::Runtime;
use crate::topology::Topology;
use crate::transport::Transport;

pub(crate) struct Paced<T, R> {
    host: Arc<Host<T, R>>,
    topology: Arc<Topology>,
    name: Name,
    checked: Checked,
}

impl<T: Transport, R: Runtime> Paced<T, R> {
    pub(crate) fn new(
        host: Arc<Host<T, R>>,
        topology: &Arc<Topology>,
        name: Name,
        checked: Checked,
    ) -> Self {
        Self {
            topology: topology.for_name(&name),
            host,
            name,
            checked,
        }
    }

    /// The same, with an option that is `checked`.
    pub(crate) fn with(mut self, checked: Result<(), Fault>) -> Self {
        self.checked.note(checked);
        self
    }

    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.checked.of(Some(self.key()))
    }

    /// One call, if it may send anything.
    pub(crate) fn call(&self) -> Result<PacedCall, Fault> {
        self.check()?;
        PacedCall::new(&self.topology, &self.name, &self.host.runtime)
    }

    pub(crate) const fn host(&self) -> &Arc<Host<T, R>> {
        &self.host
    }
}

impl<T, R> Paced<T, R> {
    pub(crate) fn key(&self) -> &str {
        self.name.key()
    }
}

impl<T, R> Clone for Paced<T, R> {
    fn clone(&self) -> Self {
        Self {
            host: self.host.clone(),
            topology: self.topology.clone(),
            name: self.name.clone(),
            checked: self.checked.clone(),
        }
    }
}
