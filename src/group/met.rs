//! Remembers reads that only one item has and that find something: the record of an order that was
//! placed before. A turn guesses that such a read finds nothing. Whoever asks for it again would
//! cost all others of the turn a round trip, each time.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;

use crate::command::Command;
use crate::locked::locked;

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
    pub(super) fn has_any<'a>(&self, reads: impl Iterator<Item = &'a Command>) -> bool {
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
