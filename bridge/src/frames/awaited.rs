//! How many replies belong together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many replies each request awaits, in the order in which they were sent. What no request awaits counts for itself.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Arc<Mutex<VecDeque<usize>>>);

impl Awaited {
    /// To be called right before the request is sent.
    pub(crate) fn expect(&self, replies: usize) {
        if replies > 0 {
            self.requests().push_back(replies);
        }
    }

    /// Whether the reply that arrived was the last one to its request.
    pub(super) fn arrived(&self) -> bool {
        let mut requests = self.requests();
        match requests.front_mut() {
            Some(left) if *left > 1 => {
                *left -= 1;
                false
            }
            _ => {
                requests.pop_front();
                true
            }
        }
    }

    fn requests(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
