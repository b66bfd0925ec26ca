//! Whether a request under a hold makes sense, and until when.

use std::sync::atomic::Ordering::Relaxed;

use super::{Hold, Why};
use crate::error::Fault;
use crate::operation::{Cx, TimeLimit};
use crate::runtime::{Instant, Runtime};
use crate::script::Renewal;

impl Hold {
    /// For how long a request under it makes sense, or why none does.
    pub(in crate::operation) fn check_held(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        let checked = self.state().check_held();
        checked.map_err(|why| self.refusal(why, cx.now))?;
        self.check_time(cx)
    }

    /// As [`Hold::check_held`], for a commit.
    pub(in crate::operation) fn check_last_write(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        self.check_last(cx.now)?;
        self.check_time(cx)
    }

    /// As [`Hold::check_held`], for a writer that is to read.
    pub(in crate::operation) fn check_writer(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        if self.claim.lock.kind.downgrade().is_none() || self.is_downgraded.load(Relaxed) {
            return Err(self.no_writer());
        }
        let until = self.check_held(cx)?;
        // Who would go on with its acquisition would go on as the writer.
        self.check_own(cx.host(), cx.now)?;
        Ok(until)
    }

    pub(in crate::operation) fn no_writer(&self) -> Fault {
        let what = "only the lease of a read/write lock's writer can be downgraded";
        Fault::invalid(what)
    }

    pub(in crate::operation) fn check_last(&self, now: Instant) -> Result<(), Fault> {
        let checked = self.state().check_last();
        checked.map_err(|why| self.refusal(why, now))
    }

    /// Past the deadline it is over, whoever gives it back at the moment.
    fn refusal(&self, why: Why, now: Instant) -> Fault {
        self.error(match why {
            Why::Busy if self.is_past(now) => Why::Expired,
            _ => why,
        })
    }

    fn is_past(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    fn check_time(&self, cx: &Cx<'_>) -> Result<TimeLimit, Fault> {
        let state = self.state();
        match state.deadline() {
            Some(deadline) if deadline <= cx.now => {
                // Of an earlier one that nobody knows the outcome of, this says nothing.
                if let Some(unknown) = state.unsettled().and_then(Fault::again) {
                    return Err(unknown);
                }
                drop(state);
                Err(self.expire(cx))
            }
            Some(deadline) => Ok(TimeLimit::at(deadline)),
            None => Ok(TimeLimit::TIMEOUT),
        }
    }

    /// Whether the answer to a renewal comes past the deadline, where that says no more than that
    /// a majority votes for it now: others may have had the lock in between.
    pub(in crate::operation) fn answers_too_late(&self, now: Instant) -> bool {
        self.claim.lock.kind.is_voted() && self.is_past(now)
    }

    /// The renewal that begins now.
    pub(in crate::operation) fn number_renewal(&self) -> Renewal {
        self.state().number_renewal()
    }

    /// A majority had voted for it before.
    pub(in crate::operation) fn grant(&self, renewal: Renewal) {
        self.state().grant(renewal);
    }

    /// It is past its deadline.
    pub(in crate::operation) fn expire(&self, cx: &Cx<'_>) -> Fault {
        self.tell_loss(cx.host(), cx.now);
        self.error(Why::Expired)
    }

    /// From now on nobody else can go on with its acquisition.
    ///
    /// # Errors
    /// [`Error::Lost`] if somebody has.
    pub(super) fn check_own(&self, host: &dyn Runtime, now: Instant) -> Result<(), Fault> {
        match self.claim.use_up() {
            true => Ok(()),
            false => Err(self.pass_on(host, now)),
        }
    }
}
