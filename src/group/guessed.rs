//! A turn that was decided by a guess, and what its callers are told of it.

use std::sync::Arc;

use super::decided::Decided;
use super::ending::{fail, observe, undecided};
use super::reads::{Pending, Reads};
use super::section::Section;
use super::work::Work;
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::lease::Lease;
use crate::operation::Granted;
use crate::runtime::{Instant, Runtime};
use crate::transport::Transport;

/// A turn that has the lock.
pub(super) struct Found<S: Section, T: Transport, R: Runtime> {
    pub(super) lease: Lease<T, R>,
    pub(super) items: Vec<Arc<Pending<S::Item>>>,
    pub(super) reads: Reads,
    pub(super) replies: Vec<Reply>,
    pub(super) begun_at: Instant,
}

/// A turn that is decided by a guess.
pub(super) struct Guessed<S: Section> {
    pub(super) items: Vec<Arc<Pending<S::Item>>>,
    pub(super) reads: Reads,
    /// What the reads are expected to find.
    pub(super) expected: Vec<Reply>,
    pub(super) decided: Decided<S::Answer>,
    /// What the next turn will read, behind the writes.
    pub(super) common: Vec<Command>,
    pub(super) begun_at: Instant,
}

impl<S: Section> Guessed<S> {
    /// It was right.
    pub(super) fn ran<T: Transport, R: Runtime>(
        mut self,
        work: &Work<'_, S, T, R>,
        fence: u64,
        mut replies: Vec<Reply>,
    ) {
        let (count, decided) = (self.items.len(), &mut self.decided);
        let found = decided.split_off_found(&mut replies);
        if !decided.writes.is_empty() || !self.common.is_empty() {
            work.meets(&self.reads, self.reads.alone(decided.writers()));
            work.note(fence, self.common.into_iter().zip(found), &self.reads);
        }
        let writers = decided.writers().count();
        work.known.habits.learn(work.lock.key(), 2 * writers >= count);
        let mut answers = std::mem::take(&mut decided.answers);
        let behind = answers.split_off(decided.first_write.min(count));
        answers.extend(decided.committed(behind, replies));
        // Behind a turn that took the lock nobody is waited for: others want it.
        let now = work.lock.runtime().now();
        let took = now.since(self.begun_at);
        (work.known.seen).ends(work.lock.key(), now, took, work.turn.here());
        let waiting = work.turn.end(answers);
        observe(work.lock, count, waiting, self.begun_at);
    }

    /// It was wrong, and the turn has the lock.
    pub(super) fn locked<T: Transport, R: Runtime>(
        self,
        work: &Work<'_, S, T, R>,
        granted: Granted,
    ) -> Found<S, T, R> {
        work.turn.retreat();
        let (lease, replies) = work.lock.granted(granted);
        work.meets_others(&self.reads, &self.expected, &replies);
        work.known.seen.was_in_vain(work.lock.key());
        Found { lease, items: self.items, reads: self.reads, replies, begun_at: self.begun_at }
    }

    /// It was wrong, and is made again.
    pub(super) fn missed<T: Transport, R: Runtime>(
        self,
        work: &Work<'_, S, T, R>,
        redis_us: u64,
        replies: &[Reply],
    ) {
        work.turn.retreat();
        work.meets_others(&self.reads, &self.expected, replies);
        let now = work.lock.runtime().now();
        (work.known.seen).learn(work.lock.key(), redis_us, now, &self.reads, replies);
        for (at, item) in self.items.iter().enumerate() {
            if let Ok(found) = self.reads.replies(at, replies) {
                item.look(found);
            }
            item.reopen();
        }
    }

    /// Nobody knows whether it ran, or Redis refused it.
    pub(super) fn failed<T: Transport, R: Runtime>(self, work: &Work<'_, S, T, R>, error: &Error) {
        let count = self.items.len();
        if !error.is_outcome_unknown() {
            work.turn.retreat();
            return fail(work.turn, count, error);
        }
        work.known.seen.forget(work.lock.key());
        // An answer that depends on no write is not given either: its reads were guessed.
        let told = |place| match place < self.decided.first_write {
            true => undecided(error),
            false => error.clone(),
        };
        work.turn.end((0..count).map(|place| Err(told(place))).collect());
    }
}
