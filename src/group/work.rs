//! A turn under way: what it works with, and what it learns for the next one.

use std::time::Duration;

use super::decide::Turn;
use super::gather::Bound;
use super::known::{Known, may_guess};
use super::reads::{Reads, bytes};
use super::section::Section;
use crate::command::{Command, Reply};
use crate::lock::Lock;
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
    pub(super) fn meets_others(&self, reads: &Reads, expected: &[Reply], found: &[Reply]) {
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
