//! The end of keeping a hold: gives it back, and decides what its keeper is told.

use std::sync::Arc;

use super::super::hold::{Hold, Why};
use super::super::write::{Write, Writes};
use super::super::{Cx, Id, Input, Operation, drift};
use crate::error::Fault;
use crate::nanos::Nanos;

/// Gives back a hold that was kept. The outcome is what its keeper is told.
pub(crate) struct EndKeeping {
    hold: Arc<Hold>,
    /// Why the work was stopped, unless it ended.
    stopped: Option<Why>,
    /// Why the outcome of its last write was unknown, if it was.
    unknown: Option<Fault>,
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
    /// Behind the work, which ended, or was stopped.
    pub(crate) const fn new(hold: Arc<Hold>, stopped: Option<Why>) -> Self {
        Self { hold, stopped, unknown: None, expiry: None, release: None }
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let hold = &self.hold;
        self.unknown = hold.unknown(cx.now);
        let is_over = hold.deadline().is_some_and(|until| until <= cx.now);
        let longest = Nanos::of(hold.claim.lock.topology.request_timeout);
        let limit = match self.stopped {
            // The work counts as good only if the lock is found still held.
            None => is_over.then_some(longest),
            Some(Why::Expired) => Some(longest.min(drift(Nanos::of(hold.claim.ttl())))),
            Some(_) => None,
        };
        self.expiry =
            limit.map(|limit| Expiry { timer: cx.wake_in(limit), was_held: hold.is_held() });
        self.release = Some(Write::new(hold.clone(), Writes::Release));
    }

    /// What the keeper is told, after the release came to this; `None` if there is no answer.
    fn told(&mut self, cx: &Cx<'_>, released: Option<Result<(), Fault>>) -> Result<(), Fault> {
        let unknown = self.unknown.take();
        let found = released.and_then(|released| match released {
            Ok(()) => Some(Why::Released),
            Err(error) => Why::of(&error),
        });
        let lost = match (self.expiry.take(), found) {
            (_, Some(Why::Lost)) => Some(Why::Lost),
            // The work was done under the lock.
            (None, _) | (Some(_), Some(Why::Released)) => None,
            (Some(expiry), _) => {
                if expiry.was_held {
                    self.hold.tell_loss(cx.host(), cx.now);
                }
                self.hold.end(Why::Expired);
                Some(Why::Expired)
            }
        };
        // Once it was stopped, nobody is left to learn the outcome of a write.
        match self.stopped.or(lost) {
            Some(why) => Err(unknown.unwrap_or_else(|| self.hold.error(why))),
            None => Ok(()),
        }
    }
}

impl Operation for EndKeeping {
    type Outcome = Result<(), Fault>;

    #[inline(never)]
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
