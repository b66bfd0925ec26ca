//! What was sent and is not answered yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The requests that await replies, in the order in which they were sent. What no request awaits counts for itself.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    bytes: usize,
}

struct Request {
    replies: usize,
    bytes: usize,
    spent: usize,
}

impl Awaited {
    /// To be called right before a request of so many `bytes` is sent; of what its replies may cost, `spent` went on earlier ones.
    pub(crate) fn expect(&self, replies: usize, bytes: usize, spent: usize) {
        if replies > 0 {
            let mut state = self.state();
            state.bytes += bytes;
            state.requests.push_back(Request {
                replies,
                bytes,
                spent,
            });
        }
    }

    /// Of all requests.
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// By the request whose replies come next.
    pub(super) fn spent(&self) -> usize {
        self.state()
            .requests
            .front()
            .map_or(0, |request| request.spent)
    }

    /// Whether the reply that arrived was the last one to its request.
    pub(super) fn arrived(&self) -> bool {
        let mut state = self.state();
        match state.requests.front_mut() {
            Some(request) if request.replies > 1 => {
                request.replies -= 1;
                false
            }
            _ => {
                let answered = state.requests.pop_front();
                state.bytes -= answered.map_or(0, |request| request.bytes);
                true
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
