//! Lets the client know of a hold while it lasts.

use std::iter;
use std::sync::{Arc, Mutex};

use super::{Hold, State};
use crate::holds::{Holding, Holds};
use crate::locked::locked;
use crate::runtime::Instant;

impl Hold {
    pub(super) fn for_each_name(&self, note: impl Fn(&Holds, &str, &Arc<dyn Holding>)) {
        let holding: Arc<dyn Holding> = self.state.clone();
        let holds = self.claim.topology.holds();
        for name in iter::once(&self.claim.name).chain(self.claim.name.others()) {
            note(holds, name.key(), &holding);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.for_each_name(Holds::leave);
    }
}

impl Holding for Mutex<State> {
    fn is_held(&self, now: Instant) -> bool {
        !locked(self).remaining(now).is_zero()
    }
}
