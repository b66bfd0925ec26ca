//! A turn under way: what it works with, what it learns for the next one, and what its callers are
//! told of a guess, or of a turn in vain.

use std::sync::Arc;
use std::time::Duration;

use super::decide::{Decided, Section, Turn};
use super::driver::Driver;
use super::gather::Bound;
use super::known::{Known, may_guess};
use super::lines::Callers;
use super::reads::{Pending, Reads, bytes};
use super::seen::Expected;
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::event::EventKind;
use crate::lease::Lease;
use crate::lock::Lock;
use crate::operation::Granted;
use crate::runtime::{Instant, Runtime};
use crate::transport::Transport;

pub(super) struct Work<'a, S: Section, T: Transport, R: Runtime> {
    pub(super) section: &'a S,
    pub(super) turn: &'a Turn<S>,
    pub(super) lock: &'a Lock<T, R>,
    pub(super) bound: Bound,
    pub(super) known: &'a Known,
    pub(super) begun_at: Instant,
}

impl<S: Section, T: Transport, R: Runtime> Work<'_, S, T, R> {
    pub(super) fn may_guess(&self) -> bool {
        may_guess::<S, _, _>(self.lock)
    }

    /// How long it may wait yet for the lock: guesses take time, too.
    pub(super) fn left(&self) -> Duration {
        let waited = self.lock.runtime().now().since(self.begun_at);
        self.lock.wait.saturating_sub(waited)
    }

    /// As [`Seen::in_common`](super::seen::Seen::in_common), if that is used, and has room behind
    /// `writes`.
    pub(super) fn in_common(&self, reads: &Reads, writes: &[Command]) -> Vec<Command> {
        if !self.may_guess() {
            return Vec::new();
        }
        let mut common = self.known.seen.in_common(self.lock.key(), reads);
        if bytes(writes) + bytes(&common) > self.bound.bytes {
            common.clear();
        }
        common
    }

    /// What the reads at `places` find is not nothing, or will not be. Call this before `note`.
    pub(super) fn meets(&self, reads: &Reads, places: Vec<usize>) {
        let Known { seen, met, .. } = self.known;
        if seen.knows_shared(self.lock.key()) {
            let reads = places.iter().map(|place| &reads.commands[*place]);
            let of_one = seen.unknown(self.lock.key(), reads.collect());
            met.add(of_one.into_iter());
        }
    }

    /// Of one item each, those of `reads` that found something else than was expected.
    fn meets_others(&self, reads: &Reads, expected: &[Reply], found: &[Reply]) {
        let mut wrong = reads.alone(0..reads.items());
        wrong.retain(|place| expected.get(*place) != found.get(*place));
        self.meets(reads, wrong);
    }

    /// At this time of Redis's these reads found that, as the next turn will read them, too.
    pub(super) fn note(
        &self,
        redis_us: u64,
        found: impl Iterator<Item = (Command, Reply)>,
        reads: &Reads,
    ) {
        if self.may_guess() {
            let now = self.lock.runtime().now();
            (self.known.seen).note(self.lock.key(), redis_us, now, found, reads);
        }
    }
}

/// A turn that has the lock.
pub(super) struct Found<S: Section, T: Transport, R: Runtime> {
    pub(super) lease: Lease<T, R>,
    pub(super) items: Vec<Arc<Pending<S::Item>>>,
    pub(super) reads: Reads,
    pub(super) replies: Vec<Reply>,
    pub(super) begun_at: Instant,
}

/// A turn that is decided by a guess, or that only reads.
pub(super) struct Guessed<S: Section> {
    pub(super) items: Vec<Arc<Pending<S::Item>>>,
    pub(super) reads: Reads,
    /// What the reads are expected to find.
    pub(super) expected: Expected,
    /// The same, as it travels.
    pub(super) text: String,
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
        work.meets_others(&self.reads, &self.expected.found, &replies);
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
        work.meets_others(&self.reads, &self.expected.found, replies);
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

/// Nothing could be read.
///
/// - Each item that the turn began with gets the reason.
/// - If the driver's wait is over, only the driver gets it: the others have waits of their own.
/// - If the replies are too large together, the items have smaller turns.
pub(super) fn fail<I, A>(turn: &Driver<Pending<I>, A>, asked: usize, error: &Error) {
    if let Error::Held { .. } = error {
        turn.with(Callers::put_back_others);
    }
    if error.code() == "too_large"
        && turn.with(|line, number| line.shrink(number, asked)) == Some(true)
    {
        turn.end(Vec::new());
        return;
    }
    turn.fail(&undecided(error));
}

/// The same error, of items for which nothing was done or was to be done. An unknown outcome is
/// about the lock, or about the writes of others.
fn undecided(error: &Error) -> Error {
    if !error.is_outcome_unknown() {
        return error.clone();
    }
    let message = error.clone().of_lock(None).to_string();
    let told = if error.is_passing() {
        Fault::unavailable(message, false)
    } else {
        Fault::refused(message, false)
    };
    told.of_lock(error.lock()).into()
}

pub(super) fn observe<T: Transport, R: Runtime>(
    lock: &Lock<T, R>,
    items: usize,
    waiting: usize,
    begun_at: Instant,
) {
    let took = lock.runtime().now().since(begun_at);
    lock.observe(EventKind::Grouped { items: items as u64, waiting: waiting as u64, took });
}
