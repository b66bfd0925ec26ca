//! How far a lease has come: it is held, it is being given back, it is over.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::Lease;
use crate::command::Reply;
use crate::error::Error;
use crate::operation::deadline;
use crate::runtime::{Instant, Runtime};
use crate::script::RECEIPT_LIFE;
use crate::transport::Transport;

enum Phase {
    /// Until its deadline.
    Held,
    /// A release or a commit is under way.
    Ending,
    /// A release or a commit was sent, and this is why nobody knows what became of it.
    Unsettled(Error),
    /// It is over for good.
    Ended(Why),
}

/// Why nothing can be done under a lease, now or ever again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Busy,
    Released,
    Lost,
    Expired,
    MaxHoldExceeded,
}

impl Why {
    pub(crate) const fn about(self, lock: String) -> Error {
        match self {
            Self::Busy => Error::Busy { lock },
            Self::Released => Error::Released { lock },
            Self::Lost => Error::Lost { lock },
            Self::Expired => Error::Expired { lock },
            Self::MaxHoldExceeded => Error::MaxHoldExceeded { lock },
        }
    }
}

/// What is known of a lease.
pub(super) struct State {
    phase: Phase,
    /// `None` for a resumed lease that was not renewed yet.
    deadline: Option<Instant>,
    /// The number of the last write.
    writes: u64,
    /// Since when a write is under way. Numbers tell Redis which write came first, so there is one at a time.
    writing: Option<Instant>,
    /// Why nobody knows whether the last commands were executed.
    doubt: Option<Error>,
    /// When the first release or commit was sent of which nobody knows what became.
    unsettled_since: Option<Instant>,
    /// Observers were told that it is over.
    was_told_lost: bool,
    /// Work goes on under it that it is renewed for.
    is_kept: bool,
    /// Of that, if it waits for the end of a release or commit.
    waker: Option<Waker>,
}

/// What there is to keep of a lease.
pub(crate) enum Standing {
    Held,
    Ending,
    Unsettled,
    Ended(Why),
}

impl State {
    pub(super) const fn new(deadline: Option<Instant>) -> Self {
        Self {
            phase: Phase::Held,
            deadline,
            writes: 0,
            writing: None,
            doubt: None,
            unsettled_since: None,
            was_told_lost: false,
            is_kept: false,
            waker: None,
        }
    }

    pub(super) const fn standing(&self) -> Standing {
        match &self.phase {
            Phase::Held => Standing::Held,
            Phase::Ending => Standing::Ending,
            Phase::Unsettled(_) => Standing::Unsettled,
            Phase::Ended(why) => Standing::Ended(*why),
        }
    }

    /// Whether no release or commit is under way; if one is, its end wakes.
    pub(super) fn poll_end(&mut self, waker: &Waker) -> Poll<()> {
        if !matches!(self.phase, Phase::Ending) {
            return Poll::Ready(());
        }
        self.waker = Some(waker.clone());
        Poll::Pending
    }

    pub(super) const fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held)
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn remaining(&self, now: Instant) -> Duration {
        match (&self.phase, self.deadline) {
            (Phase::Held, Some(deadline)) => deadline.since(now),
            _ => Duration::ZERO,
        }
    }

    /// Answers may come out of order.
    pub(super) fn renew_until(&mut self, deadline: Instant) {
        self.deadline = self.deadline.max(Some(deadline));
    }

    /// It is over for good, unless it was before.
    pub(super) fn end(&mut self, why: Why) {
        if !self.is_over() {
            self.phase = Phase::Ended(why);
        }
    }

    /// It goes on elsewhere.
    pub(super) fn hand_over(&mut self) -> Result<(), Why> {
        self.check_held()?;
        if self.writing.is_some() {
            return Err(Why::Busy);
        }
        self.end(Why::Released);
        Ok(())
    }

    /// Whether observers are to be told now that it is lost: once.
    pub(super) const fn tell_lost(&mut self) -> bool {
        !std::mem::replace(&mut self.was_told_lost, true)
    }

    /// Whether they are to be told if its last release finds the lock not held.
    pub(super) const fn tells_loss(&self) -> bool {
        self.is_held() && !self.was_told_lost
    }

    /// What a renewal is told that finds the lock not held: a release or a commit that was sent meanwhile may be why.
    pub(super) const fn why_not_held(&self) -> Why {
        match &self.phase {
            Phase::Ending | Phase::Unsettled(_) | Phase::Ended(Why::Released) => Why::Released,
            Phase::Held | Phase::Ended(_) => Why::Lost,
        }
    }

    /// What became of a release or a commit, if nobody knows.
    pub(super) const fn unsettled(&self) -> Option<&Error> {
        match &self.phase {
            Phase::Unsettled(error) => Some(error),
            _ => None,
        }
    }

    /// # Errors
    /// Why nothing may be sent under it, or nothing but a release or a commit.
    pub(super) const fn check_held(&self) -> Result<(), Why> {
        match &self.phase {
            Phase::Held => Ok(()),
            Phase::Ending => Err(Why::Busy),
            Phase::Unsettled(_) => Err(Why::Released),
            Phase::Ended(why) => Err(*why),
        }
    }

    /// # Errors
    /// Why neither a release nor a commit may be sent.
    pub(super) const fn check_last(&self) -> Result<(), Why> {
        match &self.phase {
            Phase::Unsettled(_) => Ok(()),
            _ => self.check_held(),
        }
    }

    /// Nobody knows what became of a write.
    fn leave_open(&mut self, aim: Aim, why: &Error, begun_at: Instant) {
        if aim.has_commands {
            self.doubt = Some(why.clone());
        }
        if aim.is_last {
            self.unsettled_since.get_or_insert(begun_at);
            self.leave_ending(Phase::Unsettled(why.clone()));
        }
    }

    /// Whether a receipt would still say so, had an earlier release or commit been executed.
    fn has_receipt(&self, now: Instant) -> bool {
        self.unsettled_since
            .is_none_or(|since| now < deadline(since, RECEIPT_LIFE))
    }

    /// A release or commit is no longer under way.
    fn leave_ending(&mut self, next: Phase) {
        if matches!(self.phase, Phase::Ending) {
            self.phase = next;
        }
    }

    /// Why it is not known what became of the last write, if it is not.
    pub(super) fn unknown(&self, now: Instant) -> Option<Error> {
        match (&self.phase, self.writing) {
            (_, Some(begun_at)) => Some(Error::TimedOut(now.since(begun_at))),
            (Phase::Unsettled(error), None) => Some(error.clone()),
            _ => self.doubt.clone(),
        }
    }
}

/// Nothing is left half-changed under this mutex, so a panic elsewhere while it was held does not matter.
pub(super) fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That a lease is kept.
pub(crate) struct Keeping<'a>(&'a Mutex<State>);

impl<'a> Keeping<'a> {
    pub(super) fn begin(state: &'a Mutex<State>) -> Result<Self, Why> {
        let mut kept = locked(state);
        kept.check_held()?;
        if std::mem::replace(&mut kept.is_kept, true) {
            return Err(Why::Busy);
        }
        Ok(Self(state))
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        locked(self.0).is_kept = false;
    }
}

/// What a write is to do.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    pub(super) has_commands: bool,
    /// It gives the lock back.
    pub(super) is_last: bool,
}

/// A write that is under way. If it is dropped before it was answered, nobody knows what became of it.
pub(super) struct Writing<'a, T: Transport, R: Runtime> {
    lease: &'a Lease<T, R>,
    pub(super) number: u64,
    aim: Aim,
    /// The phase in which a release or a commit began.
    before: Option<Phase>,
    begun_at: Instant,
    is_settled: bool,
}

impl<'a, T: Transport, R: Runtime> Writing<'a, T, R> {
    /// Behind [`State::check_held`], or [`State::check_last`].
    pub(super) fn begin(lease: &'a Lease<T, R>, aim: Aim) -> Result<Self, Why> {
        let begun_at = lease.now();
        let mut state = lease.state();
        if state.writing.is_some() {
            return Err(Why::Busy);
        }
        state.writing = Some(begun_at);
        state.writes += 1;
        let ending = &mut state.phase;
        Ok(Self {
            lease,
            before: (aim.is_last).then(|| std::mem::replace(ending, Phase::Ending)),
            number: state.writes,
            aim,
            begun_at,
            is_settled: false,
        })
    }

    /// What its caller is told, by what Redis said: `None` is that the lock was not held.
    pub(super) fn settle(
        mut self,
        outcome: Result<Option<Vec<Reply>>, Error>,
    ) -> Result<Vec<Reply>, Error> {
        self.is_settled = true;
        let lost = || self.lease.error(Why::Lost);
        let told = outcome.and_then(|replies| replies.ok_or_else(lost));
        let before = self.before.take();
        let mut state = self.lease.state();
        match (&told, before) {
            (Err(error), _) if error.is_outcome_unknown() => {
                state.leave_open(self.aim, error, self.begun_at);
            }
            // It was turned away, so all is as it was.
            (Err(error), None) if !is_of_script(error) => {}
            (Err(error), Some(before)) if !is_of_script(error) => state.leave_ending(before),
            // An earlier one may have given it back.
            (Err(Error::Lost { .. }), Some(Phase::Unsettled(earlier))) => {
                state.leave_ending(Phase::Ended(Why::Released));
                state.was_told_lost = true;
                let had_receipt = state.has_receipt(self.lease.now());
                if let Some(doubt) = state.doubt.take() {
                    return Err(doubt);
                }
                if !had_receipt {
                    return Err(earlier);
                }
            }
            (told, before) => {
                state.doubt = None;
                let why = match told {
                    Err(Error::Lost { .. }) => Why::Lost,
                    _ => Why::Released,
                };
                if before.is_some() {
                    state.leave_ending(Phase::Ended(why));
                }
            }
        }
        drop(state);
        told
    }
}

/// Whether the script said so, and not who turned the request away.
const fn is_of_script(error: &Error) -> bool {
    matches!(
        error,
        Error::Lost { .. } | Error::CommandFailed { .. } | Error::NotReplicated { .. }
    )
}

impl<T: Transport, R: Runtime> Drop for Writing<'_, T, R> {
    fn drop(&mut self) {
        let took = self.lease.now().since(self.begun_at);
        let mut state = self.lease.state();
        state.writing = None;
        if !self.is_settled {
            state.leave_open(self.aim, &Error::TimedOut(took), self.begun_at);
        }
        let waker = state.waker.take();
        drop(state);
        // Not under the lock: some wakers poll at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
