//! A shared connection: it is opened when it is first needed, and again when it was lost.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync;

use crate::no_reply::NoReply;

/// A connection that many can use at once.
pub(crate) trait Reusable {
    /// As far as this side knows.
    fn is_open(&self) -> bool;
}

pub(crate) struct Reused<T> {
    current: Mutex<Option<Arc<T>>>,
    /// Locked while a connection is opened. Holds when the last attempt failed, and how.
    opening: sync::Mutex<Option<(Instant, NoReply)>>,
}

impl<T> Default for Reused<T> {
    fn default() -> Self {
        Self { current: Mutex::default(), opening: sync::Mutex::default() }
    }
}

impl<T: Reusable> Reused<T> {
    /// The open connection, or the one that `open` makes.
    pub(crate) async fn get<F: Future<Output = Result<T, NoReply>>>(
        &self,
        open: impl FnOnce() -> F,
    ) -> Result<Arc<T>, NoReply> {
        match self.current() {
            Some(current) => Ok(current),
            // Opening takes more memory than all else that is kept of a request.
            None => Box::pin(self.opened(open())).await,
        }
    }

    async fn opened(
        &self,
        open: impl Future<Output = Result<T, NoReply>>,
    ) -> Result<Arc<T>, NoReply> {
        let asked = Instant::now();
        let mut failed = self.opening.lock().await;
        if let Some(current) = self.current() {
            return Ok(current);
        }
        // Requests that waited for an attempt share its outcome: a thousand requests must not dial
        // one after the other.
        if let Some((_, lost)) = failed.filter(|(at, _)| *at > asked) {
            return Err(lost);
        }
        let opened = open.await;
        let opened = Arc::new(opened.inspect_err(|lost| *failed = Some((Instant::now(), *lost)))?);
        *self.current.lock() = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Drops it, unless a newer one has replaced it, and says whether it did. Requests that still
    /// use it may yet be answered.
    pub(crate) fn forget(&self, used: &Arc<T>) -> bool {
        let mut current = self.current.lock();
        current.take_if(|current| Arc::ptr_eq(current, used)).is_some()
    }

    fn current(&self) -> Option<Arc<T>> {
        let current = self.current.lock();
        current.as_ref().filter(|current| current.is_open()).cloned()
    }
}
