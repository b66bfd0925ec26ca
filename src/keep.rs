//! Keeping a lease while work goes on under it.

use std::future::pending;
use std::time::Duration;

use crate::error::Error;
use crate::lease::{self, Lease};
use crate::race::{First, race};
use crate::runtime::{Moment, Runtime};
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
    /// # Errors
    /// As [`crate::Lock::run`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work. The lease is as it was last renewed.
    pub async fn keep<O, E: From<Error>>(
        &self,
        max_hold: Option<Duration>,
        work: impl Future<Output = Result<O, E>>,
    ) -> Result<O, E> {
        let claim = self.claim();
        let until = claim.since + max_hold.unwrap_or_else(|| LONGEST_HOLD.max(claim.ttl));
        match race(work, renewing(self, until)).await {
            First::Left(outcome) => {
                let released = self.release().await;
                // Work that failed is to be told why it failed, whatever became of the lock.
                let outcome = outcome?;
                match released {
                    Err(lost @ Error::Lost { .. }) => Err(lost.into()),
                    // Whatever else may be, the work was done under the lock.
                    _ => Ok(outcome),
                }
            }
            First::Right(expired @ Error::Expired { .. }) => {
                self.expire().await;
                Err(expired.into())
            }
            First::Right(error) => {
                // Of a lease that is lost there is nothing to release, and the error is the same.
                let _ = self.release().await;
                Err(error.into())
            }
        }
    }
}

/// Renews `lease` every third of its ttl, and comes back when it is lost, past its deadline, or held for too long.
async fn renewing<T: Transport, R: Runtime>(lease: &Lease<T, R>, until: Moment) -> Error {
    let ttl = lease.claim().ttl;
    let runtime = lease.claim().client.runtime();
    let mut not_before = None;
    loop {
        let deadline = match lease.deadline() {
            Ok(Some(deadline)) => deadline,
            // The work gave it back itself, and may still have something to do.
            Ok(None) | Err(Error::Released { .. }) => pending().await,
            Err(error) => return error,
        };
        let now = runtime.now();
        if deadline <= now {
            return lease.expired();
        }
        if until <= now {
            let lock = lease.claim().lock();
            return Error::HeldTooLong { lock };
        }
        let end = deadline.min(until).since(now);
        let due = renewal_due(deadline, ttl).max(not_before.unwrap_or(now));
        if now < due {
            runtime.sleep(due.since(now).min(end)).await;
            continue;
        }
        // A timer of our own, should the transport hang.
        not_before = match race(lease.renew(), runtime.sleep(end)).await {
            First::Left(Err(error @ (Error::Lost { .. } | Error::Expired { .. }))) => return error,
            First::Left(Err(_)) => Some(runtime.now() + (ttl / TRIES_IN_A_TTL).min(LONGEST_PAUSE)),
            First::Left(Ok(())) | First::Right(()) => None,
        };
    }
}

/// A third of the ttl after the last renewal, which lies a ttl less the drift before the deadline.
fn renewal_due(deadline: Moment, ttl: Duration) -> Moment {
    deadline.earlier_by(ttl.saturating_sub(lease::drift(ttl))) + ttl / 3
}
