//! Other ways in which a lease ends: while a renewal is under way, or by a release that nobody
//! waits for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use edgelock::Error;

use super::client::{Asked, Client};
use crate::check::Invariant;
use crate::host::{SimLease, within};

impl Client {
    /// Gives the lock back, and then goes on as if it had not.
    pub(super) async fn overdo(&self, asked: &Asked, lease: SimLease) {
        let rng = &self.case.rng;
        let is_unsettled = match rng.between(0, 2) {
            0 => {
                let (renewed, released) = both(lease.renew(), lease.release()).await;
                self.tell(asked, &lease, renewed.as_ref().err(), "a renewal");
                self.ended(asked, &lease, Some(released))
            }
            1 => {
                let patience = self.long(0, 60);
                let released = within(self.sleep(patience), lease.release()).await;
                self.ended(asked, &lease, released)
            }
            _ => {
                let released = lease.release().await;
                self.ended(asked, &lease, Some(released))
            }
        };
        if rng.chance(500) {
            self.sleep(self.long(0, 200)).await;
        }
        let again = lease.release().await;
        if !is_unsettled {
            self.tell(asked, &lease, again.err().as_ref(), "a release");
        }
    }

    /// Whether a release was perhaps sent, and nobody knows whether it was executed.
    fn ended(&self, asked: &Asked, lease: &SimLease, released: Option<Result<(), Error>>) -> bool {
        let error = released.as_ref().and_then(|released| released.as_ref().err());
        self.tell(asked, lease, error, "a release");
        let is_unsettled = released.is_none() || error.is_some_and(Error::is_outcome_unknown);
        if (is_unsettled || error.is_none()) && lease.remaining() > Duration::ZERO {
            let what = format!("a lease of {} goes on behind its release", asked.name.name);
            self.case.check.fail(Invariant::EndsForGood, what);
        }
        is_unsettled
    }

    /// Notes the error with which `call` failed.
    pub(super) fn tell(&self, asked: &Asked, lease: &SimLease, error: Option<&Error>, call: &str) {
        let token = lease.token().expose();
        (self.case.check).told_of_units(asked.name.name, token, error);
        if error.is_some_and(|error| error.code() == "lost") {
            (self.case.check).told_lost(asked.name.name, token, call);
        }
    }
}

/// Polls both at once.
async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        if first.is_none()
            && let Poll::Ready(output) = one.as_mut().poll(context)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = other.as_mut().poll(context)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}
