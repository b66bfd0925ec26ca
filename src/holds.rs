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
    pub(crate) fn enter(&self, name: &Name, holding: Weak<dyn Holding>) {
        let mut all = locked(&self.0);
        all.retain(|(_, other)| other.strong_count() > 0);
        all.push((name.clone(), holding));
    }

    /// Whether the client has a lease of this name.
    pub(crate) fn has(&self, name: &str, now: Instant) -> bool {
        let is_held = |holding: Arc<dyn Holding>| holding.is_held(now);
        let all = locked(&self.0);
        let mut of_name = all.iter().filter(|(other, _)| {
            other.key() == name || other.others().iter().any(|other| other.key() == name)
        });
        of_name.any(|(_, holding)| holding.upgrade().is_some_and(is_held))
    }
}
