//! What the client needs from its host besides the network: a clock, a timer, random bytes, and a
//! place for background work.

use std::future::Future;
use std::ops::Add;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::event::Event;
use crate::nanos::Nanos;

/// Background work that a [`Runtime`] has to finish. It may move to another thread.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An instant on a [`Runtime`]'s monotonic clock.
///
/// `std::time::Instant` panics on `wasm32-unknown-unknown`, and a simulation must be able to invent
/// times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(
    /// In nanoseconds, of which 64 bits hold centuries.
    u64,
);

impl Instant {
    /// Before anything has happened.
    pub(crate) const ORIGIN: Self = Self(0);

    /// The instant at `elapsed` after the clock's origin, whatever that origin is.
    pub const fn from_origin(elapsed: Duration) -> Self {
        Self(Nanos::of(elapsed).0)
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time from this instant to `later`; zero if that is over.
    pub(crate) const fn to(self, later: Self) -> Nanos {
        Nanos(later.0.saturating_sub(self.0))
    }

    pub(crate) const fn after(self, time: Nanos) -> Self {
        Self(self.0.saturating_add(time.0))
    }

    pub(crate) const fn earlier_by(self, time: Nanos) -> Self {
        Self(self.0.saturating_sub(time.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        self.after(Nanos::of(later))
    }
}

/// The host could not give random bytes, as when a Worker asks for them outside of a request.
#[derive(Debug)]
pub struct EntropyUnavailable;

/// The host's clock, timers, random source and background work.
///
/// On the edge, use `edgelock::web::Host`. On a native host, use `edgelock::native::Tokio`, or
/// write a few lines over the async runtime in use.
pub trait Runtime: Send + Sync + 'static {
    /// The current instant, on a clock that never goes back. Deadlines are computed from it, so its
    /// rate must be within 1 % of that of Redis's clock. It may stand still while the handler
    /// computes, as it does in deployed Workers. Clients of one process that share turns have the
    /// same clock, or seldom expect the right thing.
    fn now(&self) -> Instant;

    /// Completes once `duration` has passed. Dropping the future cancels the timer.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send
    where
        Self: Sized;

    /// Fills `bytes` from a cryptographically secure source. Tokens are made of them.
    ///
    /// # Errors
    /// [`EntropyUnavailable`] if the host refuses.
    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable>;

    /// Runs `task` to its end even if the caller's future is dropped, for as long as the host
    /// allows. The task cleans up after acquisitions whose outcome is unknown. If a host drops it,
    /// the ttl frees such a lock.
    ///
    /// The task should start soon, before the caller's next request has a reply: it may take a
    /// waiter out of the queue to which a release would otherwise hand the lock. It may have been
    /// polled before.
    fn spawn(&self, task: Task);

    /// A waker of the same task that the tasks of other callers may call, as callers of a
    /// [`GroupCommit`](crate::GroupCommit) do. Default: a clone of `waker`. Override it on hosts
    /// that let a request continue only by what that request made itself.
    ///
    /// A caller that wakes it by reference keeps it until that task goes on. If it is dropped
    /// earlier, it may not wake.
    fn shared_waker(&self, waker: &Waker) -> Waker {
        waker.clone()
    }

    /// Until what is returned is dropped, the host stops nothing, though the caller is gone: a call
    /// or a lease is under way. Default: nothing, for hosts that drop a caller's futures when it is
    /// gone.
    fn stay(&self) -> Option<Arc<dyn Send + Sync>> {
        None
    }

    /// Completes once the caller is gone, if the host tells that, and does not drop its futures. A
    /// lease is then given back, and a wait ends. Default: it never says so.
    fn gone(&self) -> Option<Task> {
        None
    }

    /// Gets everything that happens to the locks of a client. Default: does nothing. It must not
    /// block.
    fn observe(&self, event: &Event<'_>) {
        let _ = event;
    }
}
