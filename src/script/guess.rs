//! Commands that were decided by what reads are expected to find.

use std::time::Duration;

use super::call::{Call, Verb};
use super::lock::Subject;
use crate::command::Command;

/// Commands that were decided by what reads are expected to find.
pub(crate) struct Guess<'a> {
    pub(crate) reads: &'a [Command],
    /// What the reads are expected to find, as their replies travel.
    pub(crate) found: &'a str,
    pub(crate) writes: &'a [Command],
    /// Until when the writes may run, by Redis's clock.
    pub(crate) until_us: u64,
    /// Whether it takes the lock if the reads find something else.
    pub(crate) takes: bool,
}

impl Call {
    /// Runs commands as if under the lock, or tells what the reads found, and may take the lock for
    /// `ttl`. `None` for other kinds than the mutex.
    #[inline(never)]
    pub(crate) fn turn(subject: Subject<'_>, ttl: Duration, guess: &Guess<'_>) -> Option<Self> {
        /// The place of the first read in the script's arguments.
        const FIRST: usize = 10;
        let words = guess.reads.iter().map(|read| 1 + read.args().len());
        let behind = FIRST + words.sum::<usize>();
        let mut call = Self::about(subject.kind.turn()?, Verb::Turn, subject);
        call.millis(ttl)
            .arg(guess.found)
            .number(behind as u64)
            .number(guess.until_us)
            .arg(subject.label)
            .arg(if guess.takes { "takes" } else { "" })
            .millis(subject.fence_life);
        let mut call = call.commands(&[guess.reads, guess.writes].concat());
        call.leaves_receipt = true;
        call.adds_up = !guess.writes.is_empty();
        Some(call.telling_each(true))
    }
}
