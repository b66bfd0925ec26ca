//! Those who wait for something to change, as for the end of work that goes on though its caller is
//! gone.

use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
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

/// Work of a client that goes on though its caller is gone, since others get what comes of it.
pub(crate) struct GoingOn {
    count: AtomicUsize,
    watchers: Watchers,
}

/// Until this is dropped, nothing of the client's ends because the caller is gone.
pub(crate) struct UnderWay<'a>(&'a GoingOn);

impl GoingOn {
    pub(crate) const fn none() -> Self {
        Self { count: AtomicUsize::new(0), watchers: Watchers::none() }
    }

    pub(crate) fn begin(&self) -> UnderWay<'_> {
        self.count.fetch_add(1, SeqCst);
        UnderWay(self)
    }

    /// Completes once no such work goes on.
    pub(crate) async fn over(&self) {
        self.watchers.until(|| self.count.load(SeqCst) == 0).await;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, SeqCst);
        self.0.watchers.tell();
    }
}
