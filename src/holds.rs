//! The leases that a client has, by name: for a call that waits for the lease of its own caller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use crate::locked::locked;
use crate::runtime::Instant;

/// What is known of a lease.
pub(crate) trait Holding: Send + Sync {
    fn is_held(&self, now: Instant) -> bool;
}

#[derive(Default)]
pub(crate) struct Holds(Mutex<BTreeMap<String, Vec<Weak<dyn Holding>>>>);

impl Holds {
    pub(crate) fn enter(&self, name: &str, holding: &Arc<dyn Holding>) {
        let mut all = locked(&self.0);
        let of_name = all.entry(name.to_owned()).or_default();
        of_name.push(Arc::downgrade(holding));
    }

    pub(crate) fn leave(&self, name: &str, holding: &Arc<dyn Holding>) {
        let mut all = locked(&self.0);
        if let Some(of_name) = all.get_mut(name) {
            of_name.retain(|other| !Weak::ptr_eq(other, &Arc::downgrade(holding)));
            if of_name.is_empty() {
                all.remove(name);
            }
        }
    }

    /// Whether the client has a lease of this name.
    pub(crate) fn has(&self, name: &str, now: Instant) -> bool {
        let all = locked(&self.0);
        let mut of_name = all.get(name).into_iter().flatten();
        of_name.any(|holding| (holding.upgrade()).is_some_and(|holding| holding.is_held(now)))
    }
}
