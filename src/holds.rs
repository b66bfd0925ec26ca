//! The leases that a client has, by name: for a call that waits for the lease of its own caller.

use std::sync::{Arc, Mutex, Weak};

use crate::locked::locked;
use crate::name::Name;
use crate::runtime::Instant;

/// What is known of a lease.
pub(crate) trait Holding: Send + Sync {
    fn is_held(&self, now: Instant) -> bool;
}

/// A client has few at a time, so they are searched one after the other.
#[derive(Default)]
pub(crate) struct Holds(Mutex<Vec<(Name, Weak<dyn Holding>)>>);

impl Holds {
    pub(crate) fn enter(&self, name: &Name, holding: &Arc<dyn Holding>) {
        let entry = (name.clone(), Arc::downgrade(holding));
        locked(&self.0).push(entry);
    }

    pub(crate) fn leave(&self, holding: &Arc<dyn Holding>) {
        let left = Arc::downgrade(holding);
        locked(&self.0).retain(|(_, other)| !Weak::ptr_eq(other, &left));
    }

    /// Whether the client has a lease of this name.
    pub(crate) fn has(&self, name: &str, now: Instant) -> bool {
        let is_held = |holding: Arc<dyn Holding>| holding.is_held(now);
        let all = locked(&self.0);
        let mut of_name = all.iter().filter(|(other, _)| other.key() == name);
        of_name.any(|(_, holding)| holding.upgrade().is_some_and(is_held))
    }
}
