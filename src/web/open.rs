//! What a host may not stop, although nobody waits for it any more: calls and leases. One task
//! stands for all that are under way at once.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Poll, Waker};

use crate::locked::locked;
use crate::runtime::Task;

#[derive(Clone, Default)]
pub(super) struct Open(Arc<Mutex<Weak<Stay>>>);

/// Dropping the last handle ends the task.
struct Stay(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_over: bool,
    waker: Option<Waker>,
}

impl Open {
    pub(super) fn stay(&self, begin: impl FnOnce(Task)) -> Arc<dyn Send + Sync> {
        let mut open = locked(&self.0);
        if let Some(stay) = open.upgrade() {
            return stay;
        }
        let state = Arc::new(Mutex::new(State::default()));
        let stay = Arc::new(Stay(state.clone()));
        *open = Arc::downgrade(&stay);
        drop(open);
        begin(Box::pin(poll_fn(move |cx| {
            let mut state = locked(&state);
            if state.is_over {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })));
        stay
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let waker = {
            let mut state = locked(&self.0);
            state.is_over = true;
            state.waker.take()
        };
        // Not under the mutex: some wakers poll at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
