//! How a lease stands, as far as its own process knows, and who may go on with it.

use std::future::poll_fn;
use std::time::Duration;

use super::phase::Keeping;
use super::{Lease, Standing, Why};
use crate::error::Error;
use crate::operation::Until;
use crate::race::{First, race};
use crate::runtime::{Instant, Runtime};
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Lease<T, R> {
    pub(crate) fn standing(&self) -> Standing {
        self.state().standing()
    }

    /// `None` for a resumed lease that was not renewed yet.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.state().deadline()
    }

    /// Until what is returned is dropped, it is kept.
    pub(crate) fn begin_keeping(&self) -> Result<Keeping<'_>, Error> {
        Keeping::begin(&self.state).map_err(|why| self.error(why))
    }

    /// Completes when no release or commit is under way.
    pub(crate) async fn given_back(&self) {
        poll_fn(|cx| self.state().poll_end(cx.waker())).await;
    }

    /// Why it is not known what became of the last write, if it is not.
    pub(crate) fn unknown(&self) -> Option<Error> {
        self.state().unknown(self.now())
    }

    /// Until when a request under this lease makes sense, or why none does.
    pub(crate) fn check_held(&self) -> Result<Until, Error> {
        let checked = self.state().check_held();
        checked.map_err(|why| self.error(why))?;
        self.check_time()
    }

    pub(super) fn check_last(&self) -> Result<(), Error> {
        let checked = self.state().check_last();
        checked.map_err(|why| self.error(why))
    }

    pub(super) fn check_time(&self) -> Result<Until, Error> {
        let state = self.state();
        match state.deadline() {
            Some(deadline) if deadline <= self.now() => {
                // Of an earlier one that nobody knows the outcome of, this says nothing.
                if let Some(unknown) = state.unsettled() {
                    return Err(unknown.clone());
                }
                drop(state);
                self.tell_loss();
                Err(self.error(Why::Expired))
            }
            Some(deadline) => Ok(Until::Deadline(deadline)),
            None => Ok(Until::Timeout),
        }
    }

    /// Past its deadline: gives back what Redis may still keep, within `limit`, and not again when it is dropped.
    ///
    /// # Errors
    /// As [`Lease::release`]; [`Error::Expired`] if that was not confirmed.
    pub(crate) async fn expire(&self, limit: Duration) -> Result<(), Error> {
        let is_held = self.state().is_held();
        let limit = limit.min(self.claim.topology.request_timeout);
        match race(self.release(), self.host.runtime.sleep(limit)).await {
            First::Left(told @ (Ok(()) | Err(Error::Lost { .. } | Error::Released { .. }))) => told,
            _ => {
                if is_held {
                    self.tell_loss();
                }
                self.state().end(Why::Expired);
                Err(self.error(Why::Expired))
            }
        }
    }
}
