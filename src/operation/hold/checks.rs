//! Whether a request under a hold makes sense, and until when.

use std::sync::atomic::Ordering::Relaxed;

use super::{Hold, Why};
use crate::error::Error;
use crate::operation::{Cx, TimeLimit};
use crate::runtime::{Instant, Surroundings};

impl Hold {
    /// For how long a request under it makes sense, or why none does.
    pub(in crate::operation) fn check_held(&self, cx: &Cx<'_>) -> Result<TimeLimit, Error> {
        let checked = self.state().check_held();
        checked.map_err(|why| self.error(why))?;
        self.check_time(cx)
    }

    /// As [`Hold::check_held`], for a commit.
    pub(in crate::operation) fn check_last_write(&self, cx: &Cx<'_>) -> Result<TimeLimit, Error> {
        self.check_last()?;
        self.check_time(cx)
    }

    /// As [`Hold::check_held`], for a writer that is to read.
    pub(in crate::operation) fn check_writer(&self, cx: &Cx<'_>) -> Result<TimeLimit, Error> {
        if self.claim.kind.downgrade().is_none() || self.is_downgraded.load(Relaxed) {
            return Err(self.no_writer());
        }
        let until = self.check_held(cx)?;
        // Who would go on with its acquisition would go on as the writer.
        self.check_own(cx.host(), cx.now)?;
        Ok(until)
    }

    pub(in crate::operation) fn no_writer(&self) -> Error {
        let what = "only the lease of a read/write lock's writer can be downgraded";
        Error::invalid(what)
    }

    pub(in crate::operation) fn check_last(&self) -> Result<(), Error> {
        let checked = self.state().check_last();
        checked.map_err(|why| self.error(why))
    }

    fn check_time(&self, cx: &Cx<'_>) -> Result<TimeLimit, Error> {
        let state = self.state();
        match state.deadline() {
            Some(deadline) if deadline <= cx.now => {
                // Of an earlier one that nobody knows the outcome of, this says nothing.
                if let Some(unknown) = state.unsettled() {
                    return Err(unknown.clone());
                }
                drop(state);
                self.tell_loss(cx.host(), cx.now);
                Err(self.error(Why::Expired))
            }
            Some(deadline) => Ok(TimeLimit::at(deadline)),
            None => Ok(TimeLimit::TIMEOUT),
        }
    }

    /// From now on nobody else can go on with its acquisition.
    ///
    /// # Errors
    /// [`Error::Lost`] if somebody has.
    pub(super) fn check_own(&self, host: &dyn Surroundings, now: Instant) -> Result<(), Error> {
        match self.claim.use_up() {
            true => Ok(()),
            false => Err(self.pass_on(host, now)),
        }
    }
}
