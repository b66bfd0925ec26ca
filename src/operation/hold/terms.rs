//! What a lease knows of its hold: the fence, and the ttl that renewals give.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::script::Renewed;

/// A resumed lease learns them from its first renewal, unless it was given a ttl.
pub(crate) struct Terms {
    /// 0 while it is not known.
    fence: AtomicU64,
    /// In whole milliseconds; 0 while it is not known.
    ttl_ms: AtomicU64,
}

impl Terms {
    pub(crate) const fn new(fence: u64, ttl: Option<Duration>) -> Self {
        let ttl_ms = match ttl {
            Some(ttl) => ttl.as_millis() as u64,
            None => 0,
        };
        Self {
            fence: AtomicU64::new(fence),
            ttl_ms: AtomicU64::new(ttl_ms),
        }
    }

    pub(super) fn fence(&self) -> u64 {
        self.fence.load(Relaxed)
    }

    pub(super) fn ttl(&self) -> Option<Duration> {
        let ms = self.ttl_ms.load(Relaxed);
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    /// What is known does not change during a hold. A renewal that `asked` for a ttl says nothing
    /// of the lease's own.
    pub(super) fn learn(&self, renewed: &Renewed, asked: bool) {
        let ms = if asked {
            0
        } else {
            renewed.ttl.as_millis() as u64
        };
        for (known, news) in [(&self.fence, renewed.fence), (&self.ttl_ms, ms)] {
            // It fails if the value is known already.
            let _ = known.compare_exchange(0, news, Relaxed, Relaxed);
        }
    }
}
