//! How many connections there may be, and how many of them may be streams.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

pub(crate) struct Places {
    most: usize,
    free: Arc<Semaphore>,
    /// Each request that waits for one has a clone.
    waiting: Arc<()>,
}

/// One of them, until it is dropped.
pub(crate) type Place = OwnedSemaphorePermit;

impl Places {
    pub(crate) fn of(most: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(most));
        Arc::new(Self { most, free, waiting: Arc::default() })
    }

    pub(crate) fn take(&self) -> Option<Place> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// One that comes free soon enough.
    pub(crate) async fn take_within(&self, limit: Duration) -> Option<Place> {
        let _waits = Arc::clone(&self.waiting);
        let taking = Arc::clone(&self.free).acquire_owned();
        timeout(limit, taking).await.ok()?.ok()
    }

    /// Half of them, for streams: whoever holds a lock for which others wait needs a connection to
    /// give it back.
    pub(crate) fn for_streams(&self) -> Arc<Self> {
        Self::of(self.most.div_ceil(2))
    }

    /// How many are taken.
    pub(crate) fn in_use(&self) -> usize {
        self.most - self.free.available_permits()
    }

    /// Whether a request waits for one.
    pub(crate) fn are_wanted(&self) -> bool {
        Arc::strong_count(&self.waiting) > 1
    }
}
