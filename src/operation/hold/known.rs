//! Lets the client know of a hold while it lasts.

use std::iter;
use std::sync::{Arc, Mutex};

use super::{Hold, State};
use crate::holds::{Holding, Holds};
use crate::locked::locked;
use crate::runtime::Instant;

impl Hold {
    pub(super) fn make_known(&self) {
        for name in iter::once(&self.claim.lock.name).chain(self.claim.lock.name.others()) {
            self.holds().enter(name.key(), &self.holding());
        }
    }

    fn holding(&self) -> Arc<dyn Holding> {
        self.state.clone()
    }

    fn holds(&self) -> &Holds {
        self.claim.lock.topology.holds()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds().leave(&self.holding());
    }
}

impl Holding for Mutex<State> {
    fn is_held(&self, now: Instant) -> bool {
        !locked(self).remaining(now).is_zero()
    }
}
