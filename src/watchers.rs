//! Those who wait for something to change, as for the end of work that goes on though its caller is
//! gone.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use crate::locked::locked;

#[derive(Default)]
pub(crate) struct Watchers(Mutex<Vec<Waker>>);

impl Watchers {
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

/// What goes on though nobody may wait for it any more.
#[derive(Clone, Default)]
pub(crate) struct GoingOn(Arc<Works>);

#[derive(Default)]
struct Works {
    count: AtomicUsize,
    watchers: Watchers,
}

/// Until this is dropped, it goes on.
pub(crate) struct UnderWay(Arc<Works>);

impl GoingOn {
    pub(crate) fn begin(&self) -> UnderWay {
        self.0.count.fetch_add(1, SeqCst);
        UnderWay(self.0.clone())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.count.load(SeqCst) == 0
    }

    /// Completes once nothing goes on.
    pub(crate) async fn over(&self) {
        self.0.watchers.until(|| self.is_over()).await;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, SeqCst);
        self.0.watchers.tell();
    }
}
