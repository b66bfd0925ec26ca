//! A shared connection: it is opened when it is first needed, and again when it was lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use tokio::sync::Mutex;

use crate::no_reply::NoReply;

/// A connection that many can use at once, each through its own clone.
pub(crate) trait Reusable: Clone {
    /// As far as this side knows.
    fn is_open(&self) -> bool;
}

pub(crate) struct Reused<T> {
    current: RwLock<Option<Numbered<T>>>,
    number: AtomicU64,
    /// Locked while a connection is opened. Holds when the last attempt failed, and how.
    opening: Mutex<Option<(Instant, NoReply)>>,
}

#[derive(Clone)]
pub(crate) struct Numbered<T> {
    number: u64,
    pub(crate) value: T,
}

impl<T> Default for Reused<T> {
    fn default() -> Self {
        Self {
            current: RwLock::default(),
            number: AtomicU64::default(),
            opening: Mutex::default(),
        }
    }
}

impl<T: Reusable> Reused<T> {
    /// The open connection, or the one that `open` makes.
    pub(crate) async fn get<F>(&self, open: impl FnOnce() -> F) -> Result<Numbered<T>, NoReply>
    where
        F: Future<Output = Result<T, NoReply>>,
    {
        match self.current() {
            Some(current) => Ok(current),
            // Opening takes more memory than all else that is kept of a request.
            None => Box::pin(self.opened(open)).await,
        }
    }

    async fn opened<F>(&self, open: impl FnOnce() -> F) -> Result<Numbered<T>, NoReply>
    where
        F: Future<Output = Result<T, NoReply>>,
    {
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
        let value = open()
            .await
            .inspect_err(|lost| *failed = Some((Instant::now(), *lost)))?;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let opened = Numbered { number, value };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(opened.clone());
        Ok(opened)
    }

    /// Drops it, unless a newer one has replaced it, and says whether it did. Requests that still
    /// use it may yet be answered.
    pub(crate) fn forget(&self, used: &Numbered<T>) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_current = (current.as_ref()).is_some_and(|current| current.number == used.number);
        if is_current {
            *current = None;
        }
        is_current
    }

    fn current(&self) -> Option<Numbered<T>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current
            .as_ref()
            .filter(|current| current.value.is_open())
            .cloned()
    }
}
