//! How many may wait at once in one process.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// As many as may wait for one lock. Each takes memory for as long as it waits.
const MOST: usize = 10_000;

/// In an isolate all requests share it, though each has a client of its own.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The place of one that waits. Whoever drops it makes room for another.
pub(super) struct Place(&'static AtomicUsize);

impl Place {
    /// A place, if one is free.
    pub(super) fn take() -> Option<Self> {
        Self::of(&TAKEN, MOST)
    }

    fn of(taken: &'static AtomicUsize, most: usize) -> Option<Self> {
        let more = |taken| (taken < most).then_some(taken + 1);
        taken.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Self(taken))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_places_and_each_is_free_again_once_it_is_dropped() {
        static TWO: AtomicUsize = AtomicUsize::new(0);
        let take = || Place::of(&TWO, 2);
        let (first, second) = (take(), take());
        assert!(first.is_some() && second.is_some() && take().is_none());
        drop(first);
        let third = take();
        assert!(third.is_some() && take().is_none());
    }
}
