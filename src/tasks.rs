//! What the tasks of a process have between them: the first of two futures, those who wait for
//! something to change, as for the end of work that goes on though its caller is gone, and mutexes.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Which of the two was first.
pub(crate) enum Either<A, B> {
    Left(A),
    Right(B),
}

/// Drops the other one. If both are ready, the left one is first.
pub(crate) async fn select<A, B>(
    left: impl Future<Output = A>,
    right: impl Future<Output = B>,
) -> Either<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Either::Left(output)),
        Poll::Pending => right.as_mut().poll(cx).map(Either::Right),
    })
    .await
}

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

/// A panic of another that had it locked does not matter: nobody leaves a change half done under a
/// mutex of this crate.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
