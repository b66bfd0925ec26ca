//! Keeping a lease while work goes on under it.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use crate::error::Error;
use crate::lease::{Lease, Standing, Why};
use crate::operation::drift;
use crate::race::{First, race};
use crate::runtime::{Instant, Runtime};
use crate::transport::Transport;

/// Between a renewal that failed and the next try: a part of the ttl, so that several fit in.
const TRIES_IN_A_TTL: u32 = 10;
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a lock is kept at most, unless that is set.
const LONGEST_HOLD: Duration = Duration::from_secs(15 * 60);

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
        let _keeping = self.begin_keeping()?;
        let until = self.kept_until(max_hold).await?;
        let lost = async {
            match renewing(self, until).await {
                // The work gave it back or handed it over itself, and may still have something to do.
                Why::Released => pending().await,
                why => why,
            }
        };
        match race(work, lost).await {
            First::Left(outcome) => {
                let held = self.ended().await;
                // Work that failed is to be told why it failed, whatever became of the lock.
                let outcome = outcome?;
                held?;
                Ok(outcome)
            }
            First::Right(why) => Err(self.stopped(why).await.into()),
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
    /// use edgelock::{Error, Lease, Runtime, Transport};
    ///
    /// /// Looks after the lease while others of this process use it.
    /// async fn look_after<T: Transport, R: Runtime>(lease: &Lease<T, R>) {
    ///     let Err(why) = lease.keep_alive(None).await;
    ///     eprintln!("the lease is over: {why}");
    /// }
    /// ```
    ///
    /// # Errors
    /// Always, as said: nothing else ends it.
    ///
    /// # Cancel safety
    /// Dropping the future stops the renewals. The lease is as it was last renewed.
    pub async fn keep_alive(&self, max_hold: Option<Duration>) -> Result<Infallible, Error> {
        let _keeping = self.begin_keeping()?;
        let until = self.kept_until(max_hold).await?;
        match renewing(self, until).await {
            Why::Released => Err(self.error(Why::Released)),
            why => Err(self.stopped(why).await),
        }
    }

    /// Until when it is kept at most. One that was resumed is renewed for it.
    async fn kept_until(&self, max_hold: Option<Duration>) -> Result<Instant, Error> {
        let claim = self.claim();
        let mut since = claim.since;
        if self.deadline().is_none() {
            self.renew().await?;
            since = self.runtime().now();
        }
        // Also behind that renewal, whose answer may have been waited for too long.
        self.check_held()?;
        Ok(since + max_hold.unwrap_or_else(|| LONGEST_HOLD.max(self.ttl())))
    }

    /// Gives the lock back after the work ended. Whether that was under the lock.
    async fn ended(&self) -> Result<(), Error> {
        let unknown = self.unknown();
        let runtime = self.runtime();
        if self.deadline().is_some_and(|until| until <= runtime.now()) {
            // Only that it was held yet would make it good.
            let limit = self.claim().topology.request_timeout;
            return match self.expire(limit).await {
                Ok(()) | Err(Error::Released { .. }) => Ok(()),
                Err(why) => Err(unknown.unwrap_or(why)),
            };
        }
        match self.release().await {
            Err(lost @ Error::Lost { .. }) => Err(unknown.unwrap_or(lost)),
            // Whatever else may be, the work was done under the lock.
            _ => Ok(()),
        }
    }

    /// Gives the lock back after the work was stopped. What is said of that.
    async fn stopped(&self, why: Why) -> Error {
        // Nobody is left to be told what became of a write.
        let unknown = self.unknown();
        if why == Why::Expired {
            // As long as Redis may keep others out.
            let _ = self.expire(drift(self.claim().ttl)).await;
        } else {
            // Of a lease that is lost there is nothing to release.
            let _ = self.release().await;
        }
        unknown.unwrap_or_else(|| self.error(why))
    }
}

/// Renews `lease` every third of its ttl, and comes back when it is lost, past its deadline, held for too long, or given back.
async fn renewing<T: Transport, R: Runtime>(lease: &Lease<T, R>, until: Instant) -> Why {
    let runtime = lease.runtime();
    let mut not_before = None;
    loop {
        let now = runtime.now();
        let (deadline, is_held) = match (lease.standing(), lease.deadline()) {
            (Standing::Held, Some(deadline)) => (deadline, true),
            // The work may still ask again what became of its release or commit.
            (Standing::Unsettled, Some(deadline)) => (deadline, false),
            // The work is told what becomes of it. That has an end of its own, unless the transport hangs.
            (Standing::Ending, Some(deadline)) => {
                let limit = (deadline + lease.claim().topology.request_timeout).since(now);
                match race(lease.given_back(), runtime.sleep(limit)).await {
                    First::Left(()) => continue,
                    First::Right(()) => return Why::Expired,
                }
            }
            (Standing::Ended(why), _) => return why,
            // Not one that is kept.
            (_, None) => pending().await,
        };
        if deadline <= now {
            return Why::Expired;
        }
        if until <= now {
            return Why::MaxHoldExceeded;
        }
        let end = deadline.min(until).since(now);
        let due = renewal_due(deadline, lease.ttl()).max(not_before.unwrap_or(now));
        if now < due || !is_held {
            let pause = if is_held { due.since(now) } else { end };
            runtime.sleep(pause.min(end)).await;
            continue;
        }
        // A timer of our own, should the transport hang.
        not_before = match race(lease.renew(), runtime.sleep(end)).await {
            First::Left(Err(Error::Lost { .. })) => return Why::Lost,
            First::Left(Err(Error::Expired { .. })) => return Why::Expired,
            First::Left(Err(error)) => {
                let now = runtime.now();
                Some(now + pause_after(&error, lease.ttl(), deadline.since(now)))
            }
            First::Left(Ok(())) | First::Right(()) => None,
        };
    }
}

/// How long to pause after a renewal that failed. As long as the bridge asks, but half of the time
/// `left` is kept: it may let a renewal in earlier than it said, and later nothing is left to renew.
fn pause_after(error: &Error, ttl: Duration, left: Duration) -> Duration {
    let usual = (ttl / TRIES_IN_A_TTL).min(LONGEST_PAUSE);
    error
        .retry_after()
        .map_or(usual, |asked| usual.max(asked.min(left / 2)))
}

/// A third of the ttl after the last renewal, which lies a ttl less the drift before the deadline.
fn renewal_due(deadline: Instant, ttl: Duration) -> Instant {
    deadline.earlier_by(ttl.saturating_sub(drift(ttl))) + ttl / 3
}
