//! Work that is executed once for a key, and whose result is kept for whoever comes again.

use std::fmt;
use std::time::Duration;

#[cfg(not(all(target_family = "wasm", feature = "host-json")))]
use serde::{Serialize, de::DeserializeOwned};

use crate::command::Command;
use crate::drive::drive;
use crate::error::Error;
use crate::lease::Lease;
use crate::lock::Lock;
use crate::operation::{AcquireOnce, Taken};
use crate::runtime::Runtime;
use crate::script;
use crate::transport::Transport;
use crate::ttl;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_FINGERPRINT: usize = 128;
/// On its way here a byte can take three, and an answer has up to 1 MiB.
const MAX_BYTES: usize = 256 * 1024;

/// Work that is executed once for a key: an idempotency key. Queues, webhooks and people send everything twice; the first that comes does
/// the work, and what it comes to is kept. Made by [`Client::once`](crate::Client::once).
///
/// Whoever comes later gets the result in one request, and does nothing. Whoever comes meanwhile waits, and gets it too. The first one
/// needs two requests: the result is stored in the one that gives the lock back. Work that fails stores nothing, and that of a holder that
/// died is done by the next, once its [`ttl`](Once::ttl) is over.
///
/// Executed once is what is *kept* once: of two that do the work, since the first was taken for dead, one stores its result at most, and the
/// other is told that it lost its lease. What the work does elsewhere must stand that: by its own commands under the lease
/// ([`Lease::exec`]), or by the [fence](Lease::fence).
///
/// As with a [`Lock`], what cannot work is the error of the first call.
///
/// ```
/// # #[cfg(feature = "native-no-tls")]
/// # mod example {
/// use edgelock::native::Client;
/// use edgelock::{Error, OnceOutcome};
///
/// /// The id of the charge, however often the shop sends the order.
/// async fn charge(client: &Client, order: &str) -> Result<String, Error> {
///     let once = client.once(&format!("charge:{order}"));
///     let outcome = once.run(async |_| Ok::<_, Error>(format!("ch-{order}"))).await?;
///     if let OnceOutcome::Replayed(charge) = &outcome {
///         println!("{charge} was made before");
///     }
///     Ok(outcome.into_value())
/// }
/// # }
/// ```
pub struct Once<T, R> {
    lock: Lock<T, R>,
    keep: Duration,
    max_bytes: usize,
}

/// What came of work that is executed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnceOutcome<V> {
    /// This call did the work, and its result is kept.
    Executed(V),
    /// Another did it, or an earlier call.
    Replayed(V),
}

impl<V> OnceOutcome<V> {
    /// The result, whoever did the work.
    pub fn into_value(self) -> V {
        match self {
            Self::Executed(value) | Self::Replayed(value) => value,
        }
    }

    /// Whether this call did nothing.
    pub const fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }
}

impl<T: Transport, R: Runtime> Once<T, R> {
    pub(crate) const fn new(lock: Lock<T, R>) -> Self {
        Self {
            lock,
            keep: DAY,
            max_bytes: 64 * 1024,
        }
    }

    fn with(mut self, set: impl FnOnce(&mut Self) -> Result<(), Error>) -> Self {
        let refused = set(&mut self).err();
        self.lock = self.lock.with(|_| refused.map_or(Ok(()), Err));
        self
    }

    /// How long the result is kept: 1 ms to 366 days, in whole milliseconds. 24 h by default. Who comes later does the work again.
    #[must_use]
    pub fn keep(self, keep: Duration) -> Self {
        self.with(|once| {
            let is_whole = keep.subsec_nanos().is_multiple_of(1_000_000);
            if keep.is_zero() || keep > ttl::MAX || !is_whole {
                return Err(Error::InvalidArgument(
                    "a result is kept for 1 ms to 366 days, in whole milliseconds".into(),
                ));
            }
            once.keep = keep;
            Ok(())
        })
    }

    /// What tells one request from another that comes with the same key by mistake: a digest of the payload, of 1 to 128 bytes. A call with
    /// another fingerprint than that of what was executed, or is being, is [`Error::FingerprintMismatch`]. It is looked at where
    /// both have one. It can be read as the [label](Lock::label) of whoever does the work, so it is no place for a secret.
    #[must_use]
    pub fn fingerprint(self, fingerprint: &str) -> Self {
        self.with(|once| {
            if !(1..=MAX_FINGERPRINT).contains(&fingerprint.len()) {
                return Err(Error::InvalidArgument(format!(
                    "a fingerprint has 1 to {MAX_FINGERPRINT} bytes; take a digest of what is longer"
                )));
            }
            once.lock.label = script::mark(fingerprint)?;
            Ok(())
        })
    }

    /// How large a result may be as it is stored, in bytes: up to 256 KiB, and 64 KiB by default.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.with(|once| {
            if !(1..=MAX_BYTES).contains(&bytes) {
                return Err(Error::InvalidArgument(format!(
                    "a result may have 1 to {MAX_BYTES} bytes"
                )));
            }
            once.max_bytes = bytes;
            Ok(())
        })
    }

    /// For how long the others wait if whoever does the work dies, as [`Lock::ttl`]. The work may last longer: the lease is kept for it.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.lock = self.lock.ttl(ttl);
        self
    }

    /// How long to wait for another that is at it, as [`Lock::wait`]. Then it is [`Error::Held`]: come back later.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.lock = self.lock.wait(wait);
        self
    }

    /// How many requests a call may send until it has the result or may do the work, as [`Lock::max_requests`].
    #[must_use]
    pub fn max_requests(mut self, requests: u32) -> Self {
        self.lock = self.lock.max_requests(requests);
        self
    }

    /// How long the work may last, as [`Lock::max_hold`].
    #[must_use]
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.lock = self.lock.max_hold(max_hold);
        self
    }

    /// Whether it can be asked for, as [`Lock::check`]. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the first that cannot work.
    pub fn check(&self) -> Result<(), Error> {
        self.lock.check()
    }

    /// Does `work` unless it was done before; its result, which is kept as JSON. The lease is kept while the work lasts, and stopped as by
    /// [`Lock::run`].
    ///
    /// # Errors
    /// Those of the work: nothing is kept then. [`Error::FingerprintMismatch`]. [`Error::Held`] if another was at it for all of the
    /// [`wait`](Once::wait); those of [`Lock::run`] otherwise. Where the work was done, and nothing is kept: [`Error::ResultTooLarge`],
    /// [`Error::ResultUnreadable`], which is also said of a result that is kept and is no `V`; [`Error::Released`] if the work gave the lease
    /// back itself; those of [`Lease::commit`], by which it is stored. Where such an error [`Error::is_outcome_unknown`], it may be kept: ask again.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and gives the lock back in the background. While the result is being stored, it may be stored or
    /// not.
    #[cfg(not(all(target_family = "wasm", feature = "host-json")))]
    pub async fn run<V, E>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<V, E>,
    ) -> Result<OnceOutcome<V>, E>
    where
        V: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let unreadable = |error: serde_json::Error| Error::ResultUnreadable {
            lock: self.lock.key().to_owned(),
            message: error.to_string(),
        };
        let read = |text: String| {
            // As the npm package has it, whose work may come to nothing.
            let json = if text.is_empty() { "null" } else { &text };
            serde_json::from_str(json).map_err(unreadable)
        };
        let write = |value: &V| serde_json::to_string(value).map_err(unreadable);
        self.perform(work, write, read).await
    }

    /// As [`Once::run`], with a result that is kept as the text that it is.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    pub async fn run_text<E: From<Error>>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<String, E>,
    ) -> Result<OnceOutcome<String>, E> {
        self.perform(work, |text| Ok(text.clone()), Ok).await
    }

    async fn perform<V, E: From<Error>>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<V, E>,
        write: impl FnOnce(&V) -> Result<String, Error>,
        read: impl FnOnce(String) -> Result<V, Error>,
    ) -> Result<OnceOutcome<V>, E> {
        let granted = match drive(self.lock.host(), self.beginning()?).await? {
            Taken::Result(text) => return Ok(OnceOutcome::Replayed(read(text)?)),
            Taken::Lock(granted) => granted,
        };
        let (lease, _) = self.lock.granted(*granted);
        // Boxed, since work may have other work executed once.
        let executing = Box::pin(async {
            let value = work(&lease).await?;
            let store = self.storing(&write(&value)?)?;
            lease.commit(&[store]).await?;
            Ok::<V, E>(value)
        });
        let value = lease.run(self.lock.max_hold, executing).await?;
        Ok(OnceOutcome::Executed(value))
    }

    /// What comes to the result that is kept, or to the lock under which the work is to be done.
    pub(crate) fn beginning(&self) -> Result<AcquireOnce, Error> {
        let acquire = self.lock.acquiring(Some(self.lock.patience()), &[])?;
        Ok(AcquireOnce(acquire))
    }

    /// What stores `result`, in the commit of the lease under which it came about.
    pub(crate) fn storing(&self, result: &str) -> Result<Command, Error> {
        let bytes = result.len();
        if bytes > self.max_bytes {
            return Err(Error::ResultTooLarge {
                lock: self.lock.key().to_owned(),
                bytes,
                most: self.max_bytes,
            });
        }
        let Lock { name, label, .. } = &self.lock;
        Ok(script::keeping(name, label, result, self.keep))
    }

    #[cfg(all(target_family = "wasm", feature = "host-json"))]
    pub(crate) const fn lock(&self) -> &Lock<T, R> {
        &self.lock
    }
}

impl<T, R> Clone for Once<T, R> {
    fn clone(&self) -> Self {
        Self {
            lock: self.lock.clone(),
            ..*self
        }
    }
}

impl<T, R> fmt::Debug for Once<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once")
            .field("lock", &self.lock)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}
