//! A turn that was decided by a guess, and what its callers are told of it.

use std::sync::Arc;

use super::decide::Turn;
use super::decided::Decided;
use super::ending::{fail, observe, undecided};
use super::known::Known;
use super::reads::{Pending, Reads};
use super::section::Section;
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::lease::Lease;
use crate::lock::Lock;
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
        turn: &Turn<S>,
        lock: &Lock<T, R>,
        known: Known<'_>,
        fence: u64,
        mut replies: Vec<Reply>,
    ) {
        let (count, decided) = (self.items.len(), &mut self.decided);
        let found = decided.split_off_found(&mut replies);
        if !decided.writes.is_empty() || !self.common.is_empty() {
            known.meets(lock, &self.reads, self.reads.alone(decided.writers()));
            known.note::<S, _, _>(lock, fence, self.common.into_iter().zip(found), &self.reads);
        }
        let writers = decided.writers().count();
        known.habits.learn(lock.key(), 2 * writers >= count);
        let mut answers = std::mem::take(&mut decided.answers);
        let behind = answers.split_off(decided.first_write.min(count));
        answers.extend(decided.committed(behind, replies));
        // Behind a turn that took the lock nobody is waited for: others want it.
        (known.seen).ends(lock.key(), lock.runtime().now(), turn.here());
        let waiting = turn.end(answers);
        observe(lock, count, waiting, self.begun_at);
    }

    /// It was wrong, and the turn has the lock.
    pub(super) fn locked<T: Transport, R: Runtime>(
        self,
        turn: &Turn<S>,
        lock: &Lock<T, R>,
        known: Known<'_>,
        granted: Granted,
    ) -> Found<S, T, R> {
        turn.retreat();
        let (lease, replies) = lock.granted(granted);
        known.meets_others(lock, &self.reads, &self.expected, &replies);
        known.seen.was_in_vain(lock.key());
        Found {
            lease,
            items: self.items,
            reads: self.reads,
            replies,
            begun_at: self.begun_at,
        }
    }

    /// It was wrong, and is made again.
    pub(super) fn missed<T: Transport, R: Runtime>(
        self,
        turn: &Turn<S>,
        lock: &Lock<T, R>,
        known: Known<'_>,
        redis_us: u64,
        replies: &[Reply],
    ) {
        turn.retreat();
        known.meets_others(lock, &self.reads, &self.expected, replies);
        let now = lock.runtime().now();
        (known.seen).learn(lock.key(), redis_us, now, &self.reads, replies);
        for (at, item) in self.items.iter().enumerate() {
            if let Ok(found) = self.reads.replies(at, replies) {
                item.look(found);
            }
            item.reopen();
        }
    }

    /// Nobody knows whether it ran, or Redis refused it.
    pub(super) fn failed<T: Transport, R: Runtime>(
        self,
        turn: &Turn<S>,
        lock: &Lock<T, R>,
        known: Known<'_>,
        error: &Error,
    ) {
        let count = self.items.len();
        if !error.is_outcome_unknown() {
            turn.retreat();
            return fail(turn, count, error);
        }
        known.seen.forget(lock.key());
        // An answer that depends on no write is not given either: its reads were guessed.
        let told = |place| match place < self.decided.first_write {
            true => undecided(error),
            false => error.clone(),
        };
        turn.end((0..count).map(|place| Err(told(place))).collect());
    }
}
