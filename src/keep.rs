//! Keeping a lease while work goes on under it.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use crate::drive::drive;
use crate::error::Error;
use crate::lease::Lease;
use crate::operation::{BeginKeeping, EndKeeping, Keep, Why};
use crate::runtime::{Instant, Runtime};
use crate::select::{Either, select};
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Lease<T, R> {
    /// Keeps the lease, by renewing it, while `work` goes on, and releases it at the end: what [`crate::Lock::run`] does with the
    /// lease that it acquires. `max_hold` counts from there; without it, it is 15 minutes, or the ttl if that is longer.
    ///
    /// A [resumed](crate::Lock::resume) lease is renewed before the work begins, and `max_hold` counts from then; if it was renewed
    /// before, from when it was resumed. What the work [hands over](Lease::hand_over) is not released.
    ///
    /// # Errors
    /// As [`crate::Lock::run`]. With the work not begun, those of [`Lease::renew`] if the lease is over, or could not be renewed,
    /// and [`Error::Busy`] if it is kept already.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work. The lease is as it was last renewed.
    pub async fn run<O, E: From<Error>>(
        &self,
        max_hold: Option<Duration>,
        work: impl Future<Output = Result<O, E>>,
    ) -> Result<O, E> {
        let _keeping = self.hold().begin_keeping()?;
        let until = self.begin_keeping(max_hold).await?;
        match select(work, self.lost(until)).await {
            Either::Left(outcome) => {
                let end = EndKeeping::behind_work(self.hold().clone());
                let held = drive(self.host(), end).await;
                // Work that failed is to be told why it failed, whatever became of the lock.
                let outcome = outcome?;
                held?;
                Ok(outcome)
            }
            Either::Right(why) => Err(self.stopped(why).await.into()),
        }
    }

    /// Keeps the lease, by renewing it, for as long as this is awaited: for work that is in no one place, beside which it goes on. As
    /// with [`Lease::run`], a resumed lease is renewed first, and `max_hold` bounds it; but nothing is released when it is dropped.
    ///
    /// It comes back when nothing is left to keep, with why: [`Error::Released`] when the lease was given back or handed over, by the
    /// time of its next renewal; [`Error::Lost`], [`Error::Expired`]; [`Error::MaxHoldExceeded`] after `max_hold`, with the lock given back. At once,
    /// those of [`Lease::renew`] if it is over, or could not be renewed, and [`Error::Busy`] if it is kept already.
    ///
    /// ```
    /// # #[cfg(feature = "native-no-tls")]
    /// # mod example {
    /// use edgelock::native::Lease;
    /// use edgelock::Error;
    ///
    /// /// Looks after the lease while others of this process use it.
    /// async fn look_after(lease: &Lease) {
    ///     let Err(why) = lease.keep_alive(None).await;
    ///     eprintln!("the lease is over: {why}");
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// Always, as said: nothing else ends it.
    ///
    /// # Cancel safety
    /// Dropping the future stops the renewals. The lease is as it was last renewed.
    pub async fn keep_alive(&self, max_hold: Option<Duration>) -> Result<Infallible, Error> {
        let _keeping = self.hold().begin_keeping()?;
        let until = self.begin_keeping(max_hold).await?;
        match self.kept(until).await {
            Why::Released => Err(self.hold().error(Why::Released)),
            why => Err(self.stopped(why).await),
        }
    }

    async fn begin_keeping(&self, max_hold: Option<Duration>) -> Result<Instant, Error> {
        let begin = BeginKeeping::new(self.hold().clone(), max_hold);
        drive(self.host(), begin).await
    }

    async fn kept(&self, until: Instant) -> Why {
        drive(self.host(), Keep::new(self.hold().clone(), until)).await
    }

    async fn lost(&self, until: Instant) -> Why {
        match self.kept(until).await {
            // The work gave it back or handed it over itself, and may still have something to do.
            Why::Released => pending().await,
            why => why,
        }
    }

    /// Gives the lock back after the work was stopped. What is said of that.
    async fn stopped(&self, why: Why) -> Error {
        let end = EndKeeping::stopped(self.hold().clone(), why);
        let told = drive(self.host(), end).await;
        told.err().unwrap_or_else(|| self.hold().error(why))
    }
}
