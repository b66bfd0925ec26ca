//! Whether and when an operation is sent again.

use std::time::Duration;

use super::TimeLimit;
use super::backoff::Backoff;
use super::deadline;
use crate::error::{Error, Fault};
use crate::runtime::{Instant, Surroundings};
use crate::script::{Answer, Call, RECEIPT_LIFE};

/// The requests of one operation.
pub(super) struct Repeats {
    limit: TimeLimit,
    leaves_receipt: bool,
    backoff: Backoff,
    /// When the first request left that may have been executed, and how the last such request got
    /// lost.
    lost: Option<(Instant, Fault)>,
}

impl Repeats {
    /// `patience` is for a caller that did not say how long it waits.
    pub(super) fn new(call: &Call, limit: TimeLimit, attempts: u32, patience: Duration) -> Self {
        Self {
            limit,
            leaves_receipt: call.leaves_receipt(),
            backoff: Backoff::new(limit.attempts_of(attempts), patience),
            lost: None,
        }
    }

    /// How long an answer is useful.
    pub(super) fn limit(&self, now: Instant) -> Duration {
        let of_receipt = self.receipt_end().map(|end| end.since(now));
        self.limit
            .left(now)
            .min(of_receipt.unwrap_or(Duration::MAX))
    }

    /// Until when Redis surely recognises a repeat. `None` if no request was lost, or a repeat does
    /// no harm.
    fn receipt_end(&self) -> Option<Instant> {
        let (first, _) = self.lost.as_ref().filter(|_| self.leaves_receipt)?;
        Some(deadline(*first, RECEIPT_LIFE))
    }

    /// Checks an answer that came `now`. That is past [`Repeats::limit`] if the host stood still.
    /// By then the first request may be why the lock was not held.
    pub(super) fn check(&self, is_yes: bool, now: Instant) -> Result<(), Fault> {
        match (&self.lost, self.receipt_end()) {
            (Some((_, error)), Some(end)) if end <= now && !is_yes => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Whether two more requests may be sent after `sent`: one that names a script, and one with
    /// its text.
    pub(super) const fn may_name_script(&self, sent: u32) -> bool {
        self.limit.requests_left(sent) >= 2
    }

    /// How long to pause after a request that was sent at `asked_at`, the last of `sent`, failed;
    /// `None` not to send it again.
    pub(super) fn pause(
        &mut self,
        random: &dyn Surroundings,
        now: Instant,
        asked_at: Instant,
        sent: u32,
        error: &Fault,
    ) -> Option<Duration> {
        if !error.is_passing() {
            return None;
        }
        if error.is_outcome_unknown() {
            let first = self.lost.take().map_or(asked_at, |(first, _)| first);
            self.lost = Some((first, error.clone()));
        }
        if self.is_worth_any_pause() {
            self.backoff.lose_no_patience();
        }
        let pause = self.backoff.pause(random, error)?;
        let may_send = self.limit.requests_left(sent) > 0 && pause < self.limit(now);
        may_send.then_some(pause)
    }

    /// Whether the caller has a deadline, and only a repeat can tell the outcome of its write.
    const fn is_worth_any_pause(&self) -> bool {
        // A wait for the lock has pauses of its own.
        self.limit.is_at_instant() && self.leaves_receipt && self.lost.is_some()
    }

    /// Whether a request before the last one was executed, or may still be.
    pub(super) const fn may_have_run(&self) -> bool {
        self.lost.is_some()
    }

    /// The outcome of all requests, from that of the last one.
    pub(super) fn settle(&mut self, outcome: Result<Answer, Fault>) -> Result<Answer, Fault> {
        match (outcome, self.lost.take()) {
            (Err(mut refusal), Some((_, lost))) => {
                // A key of another type may be what the commands of an earlier request stored.
                if let Error::WrongType { may_have_run, .. } = &mut *refusal {
                    *may_have_run |= self.leaves_receipt;
                }
                Err(refusal.behind(lost))
            }
            (outcome, _) => outcome,
        }
    }
}
