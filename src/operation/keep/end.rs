//! The end of keeping a hold: gives it back, and decides what its keeper is told.

use std::sync::Arc;

use super::super::hold::{Hold, Why};
use super::super::write::Write;
use super::super::{Cx, Id, Input, Operation, drift};
use crate::error::Error;

/// Gives back a hold that was kept. The outcome is what its keeper is told.
pub(crate) struct EndKeeping {
    hold: Arc<Hold>,
    /// Why the work was stopped, unless it ended.
    stopped: Option<Why>,
    /// Why the outcome of its last write was unknown, if it was.
    unknown: Option<Error>,
    /// For a hold past its deadline.
    expiry: Option<Expiry>,
    release: Option<Write>,
}

/// Past its deadline a hold is given back while Redis may still keep others out, and not again when
/// it is dropped.
struct Expiry {
    timer: Id,
    was_held: bool,
}

impl EndKeeping {
    /// After the work ended.
    pub(crate) const fn behind_work(hold: Arc<Hold>) -> Self {
        Self::new(hold, None)
    }

    /// After it was stopped.
    pub(crate) const fn stopped(hold: Arc<Hold>, why: Why) -> Self {
        Self::new(hold, Some(why))
    }

    const fn new(hold: Arc<Hold>, stopped: Option<Why>) -> Self {
        Self {
            hold,
            stopped,
            unknown: None,
            expiry: None,
            release: None,
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let hold = &self.hold;
        self.unknown = hold.unknown(cx.now);
        let is_over = hold.deadline().is_some_and(|until| until <= cx.now);
        let longest = hold.claim.topology.request_timeout;
        let limit = match self.stopped {
            // The work counts as good only if the lock is found still held.
            None => is_over.then_some(longest),
            Some(Why::Expired) => Some(longest.min(drift(hold.claim.ttl))),
            Some(_) => None,
        };
        self.expiry = limit.map(|limit| Expiry {
            timer: cx.wake_in(limit),
            was_held: hold.is_held(),
        });
        self.release = Some(Write::release(hold.clone()));
    }

    /// What the release of a hold past its deadline means; `None` if there is no answer.
    fn expired(
        &self,
        cx: &Cx<'_>,
        expiry: &Expiry,
        told: Option<Result<(), Error>>,
    ) -> Result<(), Error> {
        match told {
            Some(told @ (Ok(()) | Err(Error::Lost { .. } | Error::Released { .. }))) => told,
            _ => {
                if expiry.was_held {
                    self.hold.tell_loss(cx.host(), cx.now);
                }
                self.hold.end(Why::Expired);
                Err(self.hold.error(Why::Expired))
            }
        }
    }

    fn told(&mut self, cx: &Cx<'_>, released: Option<Result<(), Error>>) -> Result<(), Error> {
        let unknown = self.unknown.take();
        let expired =
            (self.expiry.take()).map(|expiry| self.expired(cx, &expiry, released.clone()));
        if let Some(why) = self.stopped {
            // Nobody is left to learn the outcome of a write.
            return Err(unknown.unwrap_or_else(|| self.hold.error(why)));
        }
        match (expired, released) {
            (Some(Ok(()) | Err(Error::Released { .. })), _) => Ok(()),
            (Some(Err(why)), _) | (None, Some(Err(why @ Error::Lost { .. }))) => {
                Err(unknown.unwrap_or(why))
            }
            // In any case the work was done under the lock.
            (None, _) => Ok(()),
        }
    }
}

impl Operation for EndKeeping {
    type Outcome = Result<(), Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        match (&self.expiry, &input) {
            (_, Input::Started) => self.begin(cx),
            (Some(expiry), Input::Woken(id)) if expiry.timer == *id => {
                self.cancel(cx);
                return Some(self.told(cx, None));
            }
            _ => {}
        }
        let released = self.release.as_mut()?.on(cx, input)?;
        Some(self.told(cx, Some(released.map(drop))))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        if let Some(mut release) = self.release.take() {
            release.cancel(cx);
        }
    }
}
