//! A copy of something that is expensive to make, renewed by one caller at a time.

use std::fmt;
use std::time::Duration;

#[cfg(not(all(target_family = "wasm", feature = "host-json")))]
use serde::{Serialize, de::DeserializeOwned};

use super::Once;
use crate::error::Error;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// A copy of something that is expensive to make. Made by
/// [`Client::cached`](crate::Client::cached).
///
/// While the copy is fresh, all get it, in one request. Once it is stale, one caller makes it anew,
/// in two requests, and all others get the stale copy meanwhile, in one. If there is none, one
/// caller makes it, and the others wait for it, as for work that is [executed once](Once).
///
/// ```no_run
/// use std::time::Duration;
/// use edgelock::native::Client;
/// use edgelock::Error;
///
/// /// The prices of a partner who can be asked but seldom.
/// async fn prices(client: &Client) -> Result<Vec<u64>, Error> {
///     let (fresh, stale) = (Duration::from_secs(60), Duration::from_secs(3_600));
///     client.cached("prices", fresh, stale).get(async || Ok(vec![995, 1_295])).await
/// }
/// ```
pub struct Cached<T, R>(pub(crate) Once<T, R>);

impl<T: Transport, R: Runtime> Cached<T, R> {
    pub(crate) fn new(lock: Lock<T, R>, fresh: Duration, stale: Duration) -> Self {
        Self(Once::new(lock).renewed(fresh, stale))
    }

    /// How long the others have only the stale copy if the process that makes a new one dies, as
    /// [`Once::ttl`].
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        Self(self.0.ttl(ttl))
    }

    /// How long to wait while there is no copy and another call makes one, as
    /// [`Once::wait_timeout`]; and for a Redis that is away.
    #[must_use]
    pub fn wait_timeout(self, wait: Duration) -> Self {
        Self(self.0.wait_timeout(wait))
    }

    /// How large a copy may be, as [`Once::max_bytes`].
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        Self(self.0.max_bytes(bytes))
    }

    /// The copy, or what `refill` makes, which is kept as JSON.
    ///
    /// If `refill` fails, a stale copy is returned if there is one: let `refill` report its error.
    /// The next call tries again. If Redis is away for all of the wait, each call refills for
    /// itself.
    ///
    /// # Errors
    /// Those of `refill`, if there is no copy. As [`Once::run_anyway`].
    ///
    /// # Cancel safety
    /// As [`Once::run`].
    #[cfg(not(all(target_family = "wasm", feature = "host-json")))]
    pub async fn get<V, E>(&self, refill: impl AsyncFnOnce() -> Result<V, E>) -> Result<V, E>
    where
        V: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let outcome = self.0.run_anyway(async |_| refill().await).await?;
        Ok(outcome.into_value())
    }

    /// Forgets the copy, as [`Once::forget`]: the next call makes a new one.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    pub async fn forget(&self) -> Result<bool, Error> {
        self.0.forget().await
    }
}

impl<T, R> Clone for Cached<T, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, R> fmt::Debug for Cached<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
