//! Commands that were decided by what reads are expected to find, and what becomes of them.

use std::time::Duration;

use super::call::{Call, millis};
use super::lock::Subject;
use super::outcome::{Outcome, SHAPE, ScriptReply, number};
use crate::command::{Command, Reply};
use crate::error::Error;

/// Commands that were decided by what reads are expected to find.
pub(crate) struct Guess<'a> {
    pub(crate) reads: &'a [Command],
    /// What the reads are expected to find, as their replies travel.
    pub(crate) found: &'a str,
    pub(crate) writes: &'a [Command],
    /// Until when the writes may run, by Redis's clock.
    pub(crate) until_us: u64,
}

impl Call {
    /// Runs commands as if under the lock, or takes it for `ttl`. `None` for other kinds than the
    /// mutex.
    pub(crate) fn turn(subject: Subject<'_>, ttl: Duration, guess: &Guess<'_>) -> Option<Self> {
        /// The place of the first read in the script's arguments.
        const FIRST: usize = 10;
        let words = guess.reads.iter().map(|read| 1 + read.args().len());
        let behind = FIRST + words.sum::<usize>();
        let args = [
            millis(ttl),
            guess.found.to_owned(),
            behind.to_string(),
            guess.until_us.to_string(),
            subject.label.to_owned(),
            String::new(),
            millis(subject.fence_life),
        ];
        let call = Self::about(subject.kind.turn()?, subject).args(args);
        let mut call = call.commands(&[guess.reads, guess.writes].concat());
        call.leaves_receipt = true;
        call.adds_up = !guess.writes.is_empty();
        Some(call.telling_each(true))
    }
}

/// What became of commands that were decided by a guess.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Guessed {
    /// They ran, under this fence. Without commands, this was Redis's time in microseconds.
    Ran { fence: u64, replies: Vec<Reply> },
    /// They did not run. The lock was granted, and the reads found that.
    Granted { fence: u64, found: Vec<Reply> },
    /// They did not run: another has the lock, or waits for it.
    Held,
}

impl Outcome for Guessed {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        let fence = |of: &Reply| number(of).ok_or(SHAPE);
        match reply.parts() {
            (2, [of, results]) => Ok(Self::Ran {
                fence: fence(of)?,
                replies: reply.results(results)?,
            }),
            (1, [of, found]) => Ok(Self::Granted {
                fence: fence(of)?,
                found: reply.results(found)?,
            }),
            // A repeat of a request that found it held is a straggler.
            (0 | -1, []) => Ok(Self::Held),
            _ => Err(SHAPE),
        }
    }
}
