//! The bound on all requests and answers that the bridge holds at once.

use std::sync::Arc;

use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Anything smaller does not count. So small requests are served whatever others do. There is at
/// most one for each connection.
pub(crate) const SMALL: usize = 64 * 1024;

/// How much the bridge holds at once, in bytes.
const MOST: usize = 128 * 1024 * 1024;

/// A bound that all requests and answers share.
#[derive(Clone)]
pub(crate) struct Budget {
    left: Arc<Semaphore>,
}

/// A part of the bound. Dropping it gives the part back.
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
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
        let left = Arc::new(Semaphore::new(MOST));
        Self { left }
    }
}

impl Budget {
    /// How many bytes count now.
    pub(crate) fn in_use(&self) -> usize {
        MOST - self.left.available_permits()
    }

    /// A share of no bytes yet.
    pub(crate) const fn share(self) -> Share {
        Share {
            budget: self,
            bytes: 0,
            permit: None,
        }
    }

    /// The same bytes, which keep their share until they have left.
    pub(crate) fn carry(&self, bytes: Vec<u8>) -> Result<Bytes, Full> {
        if bytes.len() <= SMALL {
            return Ok(bytes.into());
        }
        let mut share = self.clone().share();
        share.grow(bytes.len())?;
        Ok(Bytes::from_owner(Carried {
            bytes,
            _share: share,
        }))
    }
}

impl Share {
    /// Grows the share to that many bytes.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        if bytes <= SMALL || bytes <= self.bytes {
            return Ok(());
        }
        let more = u32::try_from(bytes - self.bytes).map_err(|_| Full)?;
        let places = Arc::clone(&self.budget.left);
        let more = places.try_acquire_many_owned(more).map_err(|_| Full)?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl AsRef<[u8]> for Carried {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
