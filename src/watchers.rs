//! Those who wait for something to change.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use crate::locked::locked;

pub(crate) struct Watchers(Mutex<Vec<Waker>>);

impl Watchers {
    pub(crate) const fn none() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Something has changed. Nothing may be locked: some wakers poll at once.
    pub(crate) fn tell(&self) {
        let wakers = std::mem::take(&mut *locked(&self.0));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Completes once it is so.
    pub(crate) async fn until(&self, is_so: impl Fn() -> bool) {
        poll_fn(|cx| {
            let mut watchers = locked(&self.0);
            if is_so() {
                return Poll::Ready(());
            }
            if !watchers.iter().any(|known| known.will_wake(cx.waker())) {
                watchers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}
