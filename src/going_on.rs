//! Work that goes on though its caller is gone, since others get what comes of it.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::watchers::Watchers;

/// Such work of one client.
pub(crate) struct GoingOn {
    count: AtomicUsize,
    watchers: Watchers,
}

/// Until this is dropped, nothing of the client's ends because the caller is gone.
pub(crate) struct UnderWay<'a>(&'a GoingOn);

impl GoingOn {
    pub(crate) const fn none() -> Self {
        Self {
            count: AtomicUsize::new(0),
            watchers: Watchers::none(),
        }
    }

    pub(crate) fn begin(&self) -> UnderWay<'_> {
        self.count.fetch_add(1, SeqCst);
        UnderWay(self)
    }

    /// Completes once no such work goes on.
    pub(crate) async fn over(&self) {
        self.watchers.until(|| self.count.load(SeqCst) == 0).await;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, SeqCst);
        self.0.watchers.tell();
    }
}
