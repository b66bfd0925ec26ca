//! Where a waiting caller gets its answer from the caller that works for it.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};

use crate::error::Error;
use crate::locked::locked;
use crate::runtime::Runtime;

/// One caller's answer, and how it is woken.
pub(super) struct Slot<A>(Mutex<State<A>>);

struct State<A> {
    outcome: Option<Result<A, Error>>,
    is_called: bool,
    waker: Option<Wakers>,
}

struct Wakers {
    own: Waker,
    /// For the task of another caller to wake.
    shared: Waker,
}

impl<A> Slot<A> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State { outcome: None, is_called: false, waker: None }))
    }

    /// Only the first answer counts.
    pub(super) fn put(&self, outcome: Result<A, Error>) {
        self.state().outcome.get_or_insert(outcome);
        self.call();
    }

    /// Calls the caller to look.
    pub(super) fn call(&self) {
        let waker = {
            let mut state = self.state();
            state.is_called = true;
            (state.waker.as_ref()).map(|known| known.shared.clone())
        };
        // Not under the lock: some wakers poll at once.
        if let Some(waker) = waker {
            waker.wake_by_ref();
        }
    }

    pub(super) fn take(&self) -> Option<Result<A, Error>> {
        self.state().outcome.take()
    }

    /// Completes once there is something to look at. If this is dropped before, it is not woken: a
    /// caller that hung up is still in its turn.
    pub(super) async fn called<R: Runtime>(&self, runtime: &R) {
        let _awake = Awake(self);
        poll_fn(|cx| {
            let mut state = self.state();
            if std::mem::take(&mut state.is_called) {
                return Poll::Ready(());
            }
            let own = cx.waker();
            if !state.waker.as_ref().is_some_and(|known| known.own.will_wake(own)) {
                let own = own.clone();
                let shared = runtime.shared_waker(&own);
                state.waker = Some(Wakers { own, shared });
            }
            Poll::Pending
        })
        .await;
    }

    fn state(&self) -> MutexGuard<'_, State<A>> {
        locked(&self.0)
    }
}

/// Once it is dropped, nobody waits.
struct Awake<'a, A>(&'a Slot<A>);

impl<A> Drop for Awake<'_, A> {
    fn drop(&mut self) {
        let waker = self.0.state().waker.take();
        // Not under the lock.
        drop(waker);
    }
}
