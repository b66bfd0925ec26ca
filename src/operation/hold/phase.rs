//! The states of a lease: held, being given back, over. Its writes: one at a time, and what the
//! outcome of each leaves.

use std::time::Duration;

use crate::command::Reply;
use crate::error::{Error, Fault};
use crate::operation::deadline;
use crate::runtime::Instant;
use crate::script::{RECEIPT_LIFE, Renewal, Renewed};

enum Phase {
    /// Held until its deadline.
    Held,
    /// A release or a commit is under way.
    Ending,
    /// A release or a commit was sent, and its outcome is unknown for this reason.
    Unsettled(Fault),
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
    /// That of an error which is about the lease.
    pub(in crate::operation) const fn of(error: &Error) -> Option<Self> {
        match error {
            Error::Busy { .. } => Some(Self::Busy),
            Error::Released { .. } => Some(Self::Released),
            Error::Lost { .. } => Some(Self::Lost),
            Error::Expired { .. } => Some(Self::Expired),
            Error::MaxHoldExceeded { .. } => Some(Self::MaxHoldExceeded),
            _ => None,
        }
    }

    pub(crate) fn about(self, lock: &str) -> Fault {
        let lock = lock.to_owned();
        Fault::from(match self {
            Self::Busy => Error::Busy { lock },
            Self::Released => Error::Released { lock },
            Self::Lost => Error::Lost { lock },
            Self::Expired => Error::Expired { lock },
            Self::MaxHoldExceeded => Error::MaxHoldExceeded { lock },
        })
    }
}

/// What is known of a lease.
pub(super) struct State {
    phase: Phase,
    /// By which the scripts recognise it; 0 as long as it is not known.
    pub(super) fence: u64,
    /// What renewals give it, if that is known.
    pub(super) ttl: Option<Duration>,
    /// It was a writer's, and is a reader's now.
    pub(super) is_downgraded: bool,
    /// `None` for a resumed lease that was not renewed yet.
    deadline: Option<Instant>,
    /// The number of the last write.
    writes: u64,
    /// The numbers of the last renewal, and of the last one that was granted.
    renewals: u64,
    granted: u64,
    /// Since when a write is under way. Numbers tell Redis which write came first, so there is one
    /// at a time.
    writing: Option<Instant>,
    /// Why it is unknown whether the last commands were executed.
    doubt: Option<Fault>,
    /// When the first release or commit of unknown outcome was sent.
    unsettled_since: Option<Instant>,
    /// Observers were told that it is over.
    was_told_lost: bool,
    /// It is renewed for work that runs under it.
    is_kept: bool,
}

impl State {
    pub(super) const fn new(fence: u64, ttl: Option<Duration>, deadline: Option<Instant>) -> Self {
        Self {
            phase: Phase::Held,
            fence,
            ttl,
            is_downgraded: false,
            deadline,
            writes: 0,
            renewals: 0,
            granted: 0,
            writing: None,
            doubt: None,
            unsettled_since: None,
            was_told_lost: false,
            is_kept: false,
        }
    }

    pub(super) const fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held)
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// No write is under way.
    pub(super) const fn is_idle(&self) -> bool {
        self.writing.is_none()
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

    pub(super) const fn number_renewal(&mut self) -> Renewal {
        self.renewals += 1;
        Renewal { number: self.renewals, granted: self.granted }
    }

    /// It was renewed from `renewed_at` on, by what the script said, or for what it was told. The
    /// renewal is `for_once`: it says nothing of the lease's own ttl.
    pub(super) fn renew(
        &mut self,
        renewed: Option<&Renewed>,
        told: Option<Duration>,
        for_once: bool,
        renewed_at: Instant,
    ) {
        // What is known does not change during a hold.
        if let Some(renewed) = renewed.filter(|_| self.fence == 0) {
            self.fence = renewed.fence;
        }
        if let Some(renewed) = renewed.filter(|renewed| !for_once && !renewed.ttl.is_zero()) {
            self.ttl.get_or_insert(renewed.ttl);
        }
        // A failure does not say the ttl. Answers may arrive in another order.
        if let Some(ttl) = renewed.map(|renewed| renewed.ttl).or(told) {
            self.deadline = self.deadline.max(Some(deadline(renewed_at, ttl)));
        }
    }

    pub(super) fn grant(&mut self, renewal: Renewal) {
        self.granted = self.granted.max(renewal.number);
    }

    /// It is over for good, unless it was before.
    pub(super) fn end(&mut self, why: Why) {
        if !self.is_over() {
            self.phase = Phase::Ended(why);
        }
    }

    /// The lease goes on in another handler.
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

    /// Whether to tell them if its last release finds the lock not held.
    pub(super) const fn tells_loss(&self) -> bool {
        self.is_held() && !self.was_told_lost
    }

    /// The reason for a renewal that finds the lock not held: it may be a release or a commit that
    /// was sent meanwhile.
    pub(super) const fn why_not_held(&self) -> Why {
        match &self.phase {
            Phase::Ending | Phase::Unsettled(_) | Phase::Ended(Why::Released) => Why::Released,
            Phase::Held | Phase::Ended(_) => Why::Lost,
        }
    }

    /// Why the outcome of a release or a commit is unknown, if it is.
    pub(super) const fn unsettled(&self) -> Option<&Fault> {
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

    pub(super) fn begin_keeping(&mut self) -> Result<(), Why> {
        self.check_held()?;
        match std::mem::replace(&mut self.is_kept, true) {
            true => Err(Why::Busy),
            false => Ok(()),
        }
    }

    pub(super) const fn end_keeping(&mut self) {
        self.is_kept = false;
    }
}

/// A write that is under way.
pub(in crate::operation) struct Writing {
    pub(in crate::operation) number: u64,
    has_commands: bool,
    /// The phase in which a release or a commit began.
    before: Option<Phase>,
    begun_at: Instant,
}

impl State {
    /// Begins a write, behind [`State::check_held`] or [`State::check_last`].
    pub(super) fn begin(
        &mut self,
        has_commands: bool,
        is_last: bool,
        now: Instant,
    ) -> Result<Writing, Why> {
        if self.writing.is_some() {
            return Err(Why::Busy);
        }
        self.writing = Some(now);
        self.writes += 1;
        Ok(Writing {
            number: self.writes,
            before: is_last.then(|| std::mem::replace(&mut self.phase, Phase::Ending)),
            has_commands,
            begun_at: now,
        })
    }

    /// The outcome for the caller of `writing`.
    pub(super) fn settle(
        &mut self,
        writing: Writing,
        now: Instant,
        told: Result<Vec<Reply>, Fault>,
    ) -> Result<Vec<Reply>, Fault> {
        self.writing = None;
        let is_lost = |error: &Fault| Why::of(error) == Some(Why::Lost);
        if let Err(error) = &told
            && error.is_outcome_unknown()
        {
            self.leave_open(&writing, error);
            return told;
        }
        match (&told, writing.before) {
            // It was refused, so nothing has changed.
            (Err(error), None) if !is_of_script(error) => {}
            (Err(error), Some(before)) if !is_of_script(error) => self.leave_ending(before),
            // An earlier one may have released it.
            (Err(error), Some(Phase::Unsettled(earlier))) if is_lost(error) => {
                self.leave_ending(Phase::Ended(Why::Released));
                self.was_told_lost = true;
                let had_receipt = self.has_receipt(now);
                if let Some(doubt) = self.doubt.take() {
                    return Err(doubt);
                }
                if !had_receipt {
                    return Err(earlier);
                }
            }
            (told, before) => {
                self.doubt = None;
                let why = match told {
                    Err(error) if is_lost(error) => Why::Lost,
                    _ => Why::Released,
                };
                if before.is_some() {
                    self.leave_ending(Phase::Ended(why));
                }
            }
        }
        told
    }

    /// Nobody waits for `writing` any more, so nobody learns its outcome.
    pub(super) fn forsake(&mut self, writing: Writing, now: Instant, lock: &str) {
        self.writing = None;
        let took = now.since(writing.begun_at);
        let unknown = Fault::timed_out(took).of_lock(Some(lock));
        self.leave_open(&writing, &unknown);
    }

    /// The outcome of a write is unknown.
    fn leave_open(&mut self, writing: &Writing, why: &Fault) {
        if writing.has_commands {
            self.doubt = why.again();
        }
        if writing.before.is_some() {
            self.unsettled_since.get_or_insert(writing.begun_at);
            if let Some(why) = why.again() {
                self.leave_ending(Phase::Unsettled(why));
            }
        }
    }

    /// Whether an earlier release or commit, if it was executed, would still have its receipt.
    fn has_receipt(&self, now: Instant) -> bool {
        self.unsettled_since.is_none_or(|since| now < deadline(since, RECEIPT_LIFE))
    }

    /// A release or commit is no longer under way.
    fn leave_ending(&mut self, next: Phase) {
        if matches!(self.phase, Phase::Ending) {
            self.phase = next;
        }
    }

    /// Why the outcome of the last write is unknown, if it is.
    pub(super) fn unknown(&self, now: Instant) -> Option<Fault> {
        match (&self.phase, self.writing) {
            (_, Some(begun_at)) => Some(Fault::timed_out(now.since(begun_at))),
            (Phase::Unsettled(error), None) => error.again(),
            _ => self.doubt.as_ref()?.again(),
        }
    }
}

/// Whether the error came from the script, and not from a refusal of the request.
const fn is_of_script(error: &Error) -> bool {
    matches!(
        error,
        Error::Lost { .. }
            | Error::CommandFailed { .. }
            | Error::NotReplicated { .. }
            | Error::Reservation { .. }
    )
}
