//! The writes of a lease: one at a time, and what the outcome of each leaves.

use super::{Phase, State, Why};
use crate::command::Reply;
use crate::error::{Error, Fault};
use crate::operation::deadline;
use crate::runtime::Instant;
use crate::script::RECEIPT_LIFE;

/// What a write is to do.
#[derive(Clone, Copy)]
pub(in crate::operation) struct Aim {
    pub(in crate::operation) has_commands: bool,
    /// It gives the lock back.
    pub(in crate::operation) is_last: bool,
}

/// A write that is under way.
pub(in crate::operation) struct Writing {
    pub(in crate::operation) number: u64,
    aim: Aim,
    /// The phase in which a release or a commit began.
    before: Option<Phase>,
    begun_at: Instant,
}

impl State {
    /// Begins a write, behind [`State::check_held`] or [`State::check_last`].
    pub(in crate::operation::hold) fn begin(
        &mut self,
        aim: Aim,
        now: Instant,
    ) -> Result<Writing, Why> {
        if self.writing.is_some() {
            return Err(Why::Busy);
        }
        self.writing = Some(now);
        self.writes += 1;
        Ok(Writing {
            number: self.writes,
            before: (aim.is_last).then(|| std::mem::replace(&mut self.phase, Phase::Ending)),
            aim,
            begun_at: now,
        })
    }

    /// The outcome for the caller of `writing`.
    pub(in crate::operation::hold) fn settle(
        &mut self,
        writing: Writing,
        now: Instant,
        told: Result<Vec<Reply>, Fault>,
    ) -> Result<Vec<Reply>, Fault> {
        self.writing = None;
        let is_lost = |error: &Fault| Why::of(error) == Some(Why::Lost);
        match (&told, writing.before) {
            (Err(error), _) if error.is_outcome_unknown() => {
                self.leave_open(writing.aim, error, writing.begun_at);
            }
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
    pub(in crate::operation::hold) fn forsake(
        &mut self,
        writing: Writing,
        now: Instant,
        lock: &str,
    ) {
        self.writing = None;
        let took = now.since(writing.begun_at);
        let unknown = Fault::timed_out(took).of_lock(Some(lock));
        self.leave_open(writing.aim, &unknown, writing.begun_at);
    }

    /// The outcome of a write is unknown.
    fn leave_open(&mut self, aim: Aim, why: &Fault, begun_at: Instant) {
        if aim.has_commands {
            self.doubt = why.again();
        }
        if aim.is_last {
            self.unsettled_since.get_or_insert(begun_at);
            if let Some(why) = why.again() {
                self.leave_ending(Phase::Unsettled(why));
            }
        }
    }

    /// Whether an earlier release or commit, if it was executed, would still have its receipt.
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

    /// Why the outcome of the last write is unknown, if it is.
    pub(in crate::operation::hold) fn unknown(&self, now: Instant) -> Option<Fault> {
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
        Error::Lost { .. } | Error::CommandFailed { .. } | Error::NotReplicated { .. }
    )
}
