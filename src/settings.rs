//! What a lock is, and how it is asked for: all but its host.

use std::sync::Arc;
use std::time::Duration;

use crate::command::Command;
use crate::error::Fault;
use crate::kind::Kind;
use crate::name::Name;
use crate::replicas::Replicas;
use crate::script;
use crate::topology::Topology;

/// Shared by a lock and its claims, so that neither copies it. It knows no host, so its code is
/// compiled once.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) topology: Arc<Topology>,
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    /// `None` unless it was set.
    pub(crate) ttl: Option<Duration>,
    pub(crate) fair: bool,
    /// Whether its holder listens for its loss.
    pub(crate) listens: bool,
    pub(crate) replicas: Option<Replicas>,
    /// As it is stored.
    pub(crate) label: String,
    pub(crate) checked: Checked,
}

impl Settings {
    pub(crate) fn new(topology: &Arc<Topology>, name: Name, kind: Kind, checked: Checked) -> Self {
        Self {
            topology: topology.for_name(&name),
            name,
            kind,
            ttl: None,
            fair: false,
            listens: false,
            replicas: None,
            label: String::new(),
            checked,
        }
    }

    /// What is invalid, if anything is.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.checked.of(Some(self.name.shown()))
    }

    /// Whether it is valid, and its acquisition can have `reads`.
    pub(crate) fn check_reads(&self, reads: &[Command]) -> Result<(), Fault> {
        self.check()?;
        let checked = script::check_reads(reads).and_then(|()| check_kind(&self.kind, reads));
        checked.map_err(|fault| fault.of_lock(Some(self.name.shown())))
    }

    /// Whether its lease can have `writes` run.
    pub(crate) fn check_writes(&self, writes: &[Command]) -> Result<(), Fault> {
        let checked =
            check_kind(&self.kind, writes).and_then(|()| script::check_writes(writes, &self.name));
        checked.map_err(|fault| fault.of_lock(Some(self.name.shown())))
    }

    pub(crate) fn lasts(&self) -> Duration {
        self.ttl.unwrap_or_else(|| self.kind.lasts())
    }

    /// How long a server must have been up to have a say, in a quorum.
    pub(crate) fn uptime(&self) -> Option<Duration> {
        (self.kind.is_voted()).then(|| self.lasts().max(self.topology.quarantine))
    }
}

/// Whether a lock of this kind has these commands run, if there are any.
pub(crate) fn check_kind(kind: &Kind, commands: &[Command]) -> Result<(), Fault> {
    if commands.is_empty() {
        return Ok(());
    }
    kind.may(|refusals| refusals.commands)
}

/// Whether all that a client, a lock or a throttle was given is valid: else the first that is not.
/// Every call that would send something fails with it instead.
#[derive(Clone)]
pub(crate) struct Checked(Option<Arc<Fault>>);

impl Checked {
    /// Nothing was given yet.
    pub(crate) const VALID: Self = Self(None);

    /// The first one that is invalid stays.
    pub(crate) fn note(&mut self, option: Result<(), Fault>) {
        if let (None, Err(invalid)) = (&self.0, option) {
            self.0 = Some(Arc::new(invalid));
        }
    }

    /// What is invalid of `lock`, or of what is not about a lock.
    pub(crate) fn of(&self, lock: Option<&str>) -> Result<(), Fault> {
        match self.0.as_ref().and_then(|invalid| invalid.again()) {
            Some(invalid) => Err(invalid.of_lock(lock)),
            None => Ok(()),
        }
    }
}
