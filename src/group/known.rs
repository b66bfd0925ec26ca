//! What a process knows of the names of a group: whether their items need turns, what reads find,
//! and which of them find something that nobody would guess.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::decide::Section;
use super::reads::Reads;
use super::seen::Seen;
use crate::command::{Command, Reply};
use crate::lock::Lock;
use crate::resp;
use crate::runtime::Runtime;
use crate::tasks::locked;
use crate::transport::Transport;

/// Whether a turn of this section may do without the lock.
pub(super) fn may_guess<S: Section, T: Transport, R: Runtime>(lock: &Lock<T, R>) -> bool {
    !S::USES_FENCE && lock.has_turns()
}

/// What a process knows of the names.
#[derive(Default)]
pub(super) struct Known {
    pub(super) habits: Habits,
    pub(super) seen: Seen,
    pub(super) met: Met,
}

impl Known {
    /// Reads that failed. Nobody guesses that.
    pub(super) fn meets_failing(&self, reads: &Reads, replies: &[Reply]) {
        let all = reads.commands.iter().zip(replies);
        let failed =
            all.filter(|(_, reply)| matches!(reply, Reply::Error(_)) && !resp::lacks_room(reply));
        self.met.add(failed.map(|(read, _)| read));
    }

    /// Whether one of these would make a turn guess wrong.
    pub(super) fn has_met(&self, name: &str, reads: &[Command]) -> bool {
        let unknown = self.seen.unknown(name, reads.iter().collect());
        self.met.has_any(unknown.into_iter())
    }
}

/// A bit for each name; some names share one. A wrong guess costs only a round trip or a request.
#[derive(Default)]
pub(super) struct Habits(AtomicU64);

impl Habits {
    pub(super) fn takes_turns(&self, name: &str) -> bool {
        self.0.load(Ordering::Relaxed) & bit(name) != 0
    }

    pub(super) fn learn(&self, name: &str, takes_turns: bool) {
        if takes_turns {
            self.0.fetch_or(bit(name), Ordering::Relaxed);
        } else {
            self.0.fetch_and(!bit(name), Ordering::Relaxed);
        }
    }
}

fn bit(name: &str) -> u64 {
    let mix = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    1 << (name.bytes().fold(0, mix) % 64)
}

/// So many are remembered, and up to as many that are older.
const MOST: usize = 4096;

/// By their hashes. Where two are the same, an item costs a request more.
#[derive(Default)]
pub(super) struct Met {
    hasher: RandomState,
    ages: Mutex<Ages>,
}

#[derive(Default)]
struct Ages {
    young: HashSet<u64>,
    old: HashSet<u64>,
}

impl Met {
    fn has_any<'a>(&self, reads: impl Iterator<Item = &'a Command>) -> bool {
        let ages = locked(&self.ages);
        let mut hashes = reads.map(|read| self.hasher.hash_one(read));
        hashes.any(|hash| ages.young.contains(&hash) || ages.old.contains(&hash))
    }

    pub(super) fn add<'a>(&self, reads: impl Iterator<Item = &'a Command>) {
        let mut ages = locked(&self.ages);
        for read in reads {
            if ages.young.len() >= MOST {
                ages.old = std::mem::take(&mut ages.young);
            }
            ages.young.insert(self.hasher.hash_one(read));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_of_one_name_last_counts() {
        let habits = Habits::default();
        assert!(!habits.takes_turns("a"));
        habits.learn("a", true);
        habits.learn("b", false);
        assert!(habits.takes_turns("a") && !habits.takes_turns("b"));
        habits.learn("a", false);
        assert!(!habits.takes_turns("a"));
    }

    fn get(n: usize) -> Command {
        Command::new("GET").key(n.to_string())
    }

    #[test]
    fn the_last_4096_are_remembered_and_no_more_than_twice_as_many() {
        let (met, reads) = (Met::default(), (0..3 * MOST).map(get).collect::<Vec<_>>());
        met.add(reads.iter());
        assert!(
            reads[2 * MOST..].iter().all(|read| met.has_any([&get(usize::MAX), read].into_iter()))
        );
        assert!(!reads[..MOST].iter().any(|read| met.has_any([read].into_iter())));
        let ages = locked(&met.ages);
        assert!(ages.young.len() + ages.old.len() <= 2 * MOST);
    }
}
