//! Random numbers, all from one seed.

use std::cell::Cell;

/// The generator SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
pub(crate) struct Rng(Cell<u64>);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut bits = self.0.get();
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True in so many of a thousand cases.
    pub(crate) fn chance(&self, per_mille: u64) -> bool {
        self.between(1, 1_000) <= per_mille
    }

    pub(crate) fn pick<T: Copy>(&self, options: &[T]) -> T {
        let last = options.len() as u64 - 1;
        options[self.between(0, last) as usize]
    }
}
