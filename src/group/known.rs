//! What a process knows of the names of a group, and how turns use it.

use super::gather::Bound;
use super::habits::Habits;
use super::met::Met;
use super::reads::{Reads, bytes};
use super::section::Section;
use super::seen::Seen;
use crate::command::{Command, Reply};
use crate::lock::Lock;
use crate::resp;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// Whether a turn of this section may do without the lock.
pub(super) fn may_guess<S: Section, T: Transport, R: Runtime>(lock: &Lock<T, R>) -> bool {
    !S::USES_FENCE && lock.has_turns()
}

/// What a process knows of the names.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) habits: &'a Habits,
    pub(super) seen: &'a Seen,
    pub(super) met: &'a Met,
}

impl Known<'_> {
    /// As [`Seen::in_common`], if that is used, and has room behind `writes`.
    pub(super) fn in_common<S: Section, T: Transport, R: Runtime>(
        self,
        lock: &Lock<T, R>,
        reads: &Reads,
        writes: &[Command],
        bound: Bound,
    ) -> Vec<Command> {
        if !may_guess::<S, _, _>(lock) {
            return Vec::new();
        }
        let mut common = self.seen.in_common(lock.key(), reads);
        if bytes(writes) + bytes(&common) > bound.bytes {
            common.clear();
        }
        common
    }

    /// What the reads at `places` find is not nothing, or will not be. Call this before `note`.
    pub(super) fn meets<T: Transport, R: Runtime>(
        self,
        lock: &Lock<T, R>,
        reads: &Reads,
        places: Vec<usize>,
    ) {
        if self.seen.knows_shared(lock.key()) {
            let reads = places.iter().map(|place| &reads.commands[*place]);
            let of_one = self.seen.unknown(lock.key(), reads.collect());
            self.met.add(of_one.into_iter());
        }
    }

    /// Of one item each, those of `reads` that found something else than was expected.
    pub(super) fn meets_others<T: Transport, R: Runtime>(
        self,
        lock: &Lock<T, R>,
        reads: &Reads,
        expected: &[Reply],
        found: &[Reply],
    ) {
        let mut wrong = reads.alone(0..reads.items());
        wrong.retain(|place| expected.get(*place) != found.get(*place));
        self.meets(lock, reads, wrong);
    }

    /// Reads that failed. Nobody guesses that.
    pub(super) fn meets_failing(self, reads: &Reads, replies: &[Reply]) {
        let all = reads.commands.iter().zip(replies);
        let failed =
            all.filter(|(_, reply)| matches!(reply, Reply::Error(_)) && !resp::lacks_room(reply));
        self.met.add(failed.map(|(read, _)| read));
    }

    /// Whether one of these would make a turn guess wrong.
    pub(super) fn has_met(self, name: &str, reads: &[Command]) -> bool {
        let unknown = self.seen.unknown(name, reads.iter().collect());
        self.met.has_any(unknown.into_iter())
    }

    /// At this time of Redis's these reads found that, as the next turn will read them, too.
    pub(super) fn note<S: Section, T: Transport, R: Runtime>(
        self,
        lock: &Lock<T, R>,
        redis_us: u64,
        found: impl Iterator<Item = (Command, Reply)>,
        reads: &Reads,
    ) {
        if !may_guess::<S, _, _>(lock) {
            return;
        }
        let now = lock.runtime().now();
        (self.seen).note(lock.key(), redis_us, now, found, reads);
    }
}
