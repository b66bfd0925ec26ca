//! What the client needs from its host besides the network: a clock, a timer, randomness and a place for background work.

use std::future::Future;
use std::ops::Add;
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

use crate::event::Event;
use crate::threads::{SendOutsideWasm, SyncOutsideWasm};

/// Background work that a [`Runtime`] is asked to finish. It may go to another thread where there are threads.
#[cfg(not(target_family = "wasm"))]
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Background work that a [`Runtime`] is asked to finish.
#[cfg(target_family = "wasm")]
pub type Task = Pin<Box<dyn Future<Output = ()>>>;

/// An instant on a [`Runtime`]'s monotonic clock.
///
/// `std::time::Instant` panics on `wasm32-unknown-unknown`, and a simulation must be able to make time up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// The instant that lies `elapsed` after the clock's origin, whatever that origin is.
    pub const fn from_origin(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The time from `earlier` to this instant, zero if `earlier` is the later one.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) const fn earlier_by(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}

/// The host could not give random bytes, as when a Worker asks for them outside of a request.
#[derive(Debug)]
pub struct EntropyUnavailable;

/// The clock, the timer, the random source and the background of the host.
///
/// On the edge `edgelock::web::Host` is the implementation; natively `edgelock::native::Tokio`, or a few lines over the
/// async runtime in use.
pub trait Runtime: SendOutsideWasm + SyncOutsideWasm + 'static {
    /// The present on a clock that never goes back. Deadlines are computed from it, so its rate must be within 1 % of
    /// Redis's; it may stand still while the handler computes, as it does in deployed Workers.
    fn now(&self) -> Instant;

    /// Completes once `duration` has passed. Dropping the future cancels the timer.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + SendOutsideWasm;

    /// Fills `bytes` from a cryptographically secure source: tokens are drawn from it.
    ///
    /// # Errors
    /// [`EntropyUnavailable`] where the host refuses.
    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable>;

    /// Runs `task` to its end even if the caller's future is dropped, for as long as the host allows. It cleans up after
    /// acquisitions whose outcome is unknown; a host that drops it leaves such a lock to its ttl.
    ///
    /// It should begin soon, before whatever the caller does next has an answer: it may take a waiter out of the queue that a
    /// release would otherwise hand the lock to. It may have been polled before.
    fn spawn(&self, task: Task);

    /// A waker of the same task that another caller's task may call, as callers of a [`GroupCommit`](crate::GroupCommit) call each other.
    /// `waker` itself unless it is implemented: hosts differ that let a request go on only by what it has made itself. Called by
    /// reference, it is kept until that task goes on; dropped before, it may not wake.
    fn shared_waker(&self, waker: &Waker) -> Waker {
        waker.clone()
    }

    /// Hears of everything that happens to the locks of a client. Nothing is done with it unless it is implemented; it must not
    /// wait.
    fn observe(&self, event: &Event<'_>) {
        let _ = event;
    }
}

/// What an operation has of a [`Runtime`] at once, without waiting: one type for all runtimes.
pub(crate) trait Surroundings: SyncOutsideWasm {
    /// As [`Runtime::random`].
    fn draw(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable>;

    /// As [`Runtime::observe`].
    fn tell(&self, event: &Event<'_>);
}

impl<R: Runtime> Surroundings for R {
    fn draw(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.random(bytes)
    }

    fn tell(&self, event: &Event<'_>) {
        self.observe(event);
    }
}
