//! The bounds of requests and answers, of one and of all that the bridge holds at once.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Anything smaller does not count. So small requests are served whatever others do. There is at
/// most one for each connection.
pub(crate) const SMALL: usize = 64 * 1024;

/// How much the bridge holds at once, in bytes.
const MOST: usize = 128 * 1024 * 1024;

#[derive(Clone)]
pub(crate) struct Limits {
    /// Bounds the wait for a body, for Redis and for replicas.
    pub(crate) timeout: Duration,
    /// Of an answer, in bytes, as Redis sends it, and as JSON.
    pub(crate) max_reply: usize,
    pub(crate) budget: Budget,
}

/// A bound that all messages, requests and answers share.
#[derive(Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

/// A part of the bound. Dropping it gives the part back.
pub(crate) struct Share {
    left: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

/// The bound is reached.
pub(crate) struct Full;

struct Carried {
    bytes: Vec<u8>,
    _share: Share,
}

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl Budget {
    /// How many bytes count now.
    pub(crate) fn in_use(&self) -> usize {
        MOST - self.0.available_permits()
    }

    /// A share of no bytes yet.
    pub(crate) fn share(&self) -> Share {
        let left = Arc::clone(&self.0);
        Share { left, permit: None }
    }

    /// The same bytes, which keep their share until they have left.
    pub(crate) fn carry(&self, bytes: Vec<u8>) -> Result<Bytes, Full> {
        if bytes.len() <= SMALL {
            return Ok(bytes.into());
        }
        let mut _share = self.share();
        _share.grow(bytes.len())?;
        Ok(Bytes::from_owner(Carried { bytes, _share }))
    }
}

impl Share {
    /// Grows the share to that many bytes.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let has = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if bytes <= SMALL || bytes <= has {
            return Ok(());
        }
        let more = u32::try_from(bytes - has).map_err(|_| Full)?;
        let more = Arc::clone(&self.left).try_acquire_many_owned(more);
        let more = more.map_err(|_| Full)?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        Ok(())
    }
}

impl AsRef<[u8]> for Carried {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
