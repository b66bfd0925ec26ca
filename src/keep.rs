//! Keeps a lease while work runs under it.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use crate::drive::drive;
use crate::error::{Error, Fault};
use crate::lease::Lease;
use crate::operation::{BeginKeeping, EndKeeping, Keep, Why};
use crate::runtime::{Instant, Runtime};
use crate::tasks::{Either, select};
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Lease<T, R> {
    /// Renews the lease while `work` runs, and releases it at the end, as [`crate::Lock::run`] does
    /// with the lease that it acquires. `max_hold` counts from the acquisition. Without it the
    /// bound is 15 minutes, or the ttl if that is longer.
    ///
    /// A [resumed](crate::Lock::resume) lease is renewed before the work begins, and `max_hold`
    /// counts from that renewal. If the lease was renewed before, `max_hold` counts from when it
    /// was resumed. A lease that the work [hands over](Lease::hand_over) is not released.
    ///
    /// # Errors
    /// As [`crate::Lock::run`]. Before the work begins: those of [`Lease::renew`] if the lease is
    /// over or could not be renewed, and [`Error::Busy`] if it is already being kept.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work. The lease stays as it was last renewed.
    pub async fn run<O, E: From<Error>>(
        &self,
        max_hold: Option<Duration>,
        work: impl Future<Output = Result<O, E>>,
    ) -> Result<O, E> {
        let _keeping = self.hold.begin_keeping().map_err(Error::from)?;
        let until = self.begin_keeping(max_hold).await.map_err(Error::from)?;
        let (lost, forsaken) = (pin!(self.lost(until)), pin!(self.forsaken()));
        match select(work, select(lost, forsaken)).await {
            Either::Left(outcome) => {
                let end = EndKeeping::new(self.hold.clone(), None);
                let held = drive(&self.host, end).await;
                // If the work failed, its error is returned, whatever the state of the lock.
                let outcome = outcome?;
                held.map_err(Error::from)?;
                Ok(outcome)
            }
            Either::Right(Either::Left(why)) => Err(self.stopped(why).await.into()),
            Either::Right(Either::Right(())) => {
                let hold = &self.hold;
                let unknown = hold.unknown(self.host.runtime.now());
                let gone = || Fault::gone(false).of_lock(Some(hold.claim.shown()));
                Err(Error::from(unknown.unwrap_or_else(gone)).into())
            }
        }
    }

    /// Renews the lease for as long as this future is awaited. Use it beside work that is not in
    /// one place. As with [`Lease::run`], a resumed lease is renewed first, and `max_hold` bounds
    /// the renewals. Dropping the future releases nothing.
    ///
    /// ```no_run
    /// use edgelock::native::Lease;
    /// use edgelock::Error;
    ///
    /// /// Looks after the lease while others of this process use it.
    /// async fn look_after(lease: &Lease) {
    ///     let Err(why) = lease.keep_alive(None).await;
    ///     eprintln!("the lease is over: {why}");
    /// }
    /// ```
    ///
    /// # Errors
    /// It returns only when there is nothing left to keep, always with the reason:
    ///
    /// - [`Error::Released`] if the lease was given back or handed over; noticed at the next
    ///   renewal at the latest;
    /// - [`Error::Lost`] or [`Error::Expired`] if it was lost;
    /// - [`Error::MaxHoldExceeded`] after `max_hold`; the lock was given back;
    /// - at once, those of [`Lease::renew`] if the lease is over or could not be renewed, and
    ///   [`Error::Busy`] if it is already being kept.
    ///
    /// # Cancel safety
    /// Dropping the future stops the renewals. The lease stays as it was last renewed.
    pub async fn keep_alive(&self, max_hold: Option<Duration>) -> Result<Infallible, Error> {
        let _keeping = self.hold.begin_keeping()?;
        let until = self.begin_keeping(max_hold).await?;
        match self.kept(until).await {
            Why::Released => Err(self.hold.error(Why::Released).into()),
            why => Err(self.stopped(why).await),
        }
    }

    async fn begin_keeping(&self, max_hold: Option<Duration>) -> Result<Instant, Fault> {
        let begin = BeginKeeping::new(self.hold.clone(), max_hold);
        drive(&self.host, begin).await
    }

    async fn kept(&self, until: Instant) -> Why {
        drive(&self.host, Keep::new(self.hold.clone(), until)).await
    }

    async fn lost(&self, until: Instant) -> Why {
        match self.kept(until).await {
            // The work gave the lease back or handed it over, and may have more to do.
            Why::Released => pending().await,
            why => why,
        }
    }

    /// The caller is gone, and no write is under way.
    async fn forsaken(&self) {
        match self.gone() {
            Some(gone) => gone.await,
            None => pending().await,
        }
        let hold = &self.hold;
        hold.watchers.until(|| hold.is_idle()).await;
    }

    /// Gives the lock back after the work was stopped, and returns the error to report.
    async fn stopped(&self, why: Why) -> Error {
        let end = EndKeeping::new(self.hold.clone(), Some(why));
        let told = drive(&self.host, end).await;
        (told.err().unwrap_or_else(|| self.hold.error(why))).into()
    }
}
