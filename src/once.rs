//! Work that is executed once for a key, and whose result is kept for later calls.

mod forget;
mod outcome;

use std::fmt;
use std::pin::pin;
use std::time::Duration;

#[cfg(not(all(target_family = "wasm", feature = "host-json")))]
use serde::{Serialize, de::DeserializeOwned};

use crate::command::Command;
use crate::drive::drive;
use crate::error::{Error, Fault};
use crate::lease::Lease;
use crate::lock::Lock;
use crate::operation::{Acquire, Taken};
use crate::runtime::Runtime;
use crate::script;
use crate::settings::Settings;
use crate::transport::Transport;
use crate::ttl;

pub use outcome::OnceOutcome;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_FINGERPRINT: usize = 128;
/// A byte can take three on its way here, and an answer has up to 1 MiB.
const MAX_BYTES: usize = 256 * 1024;

/// Work that is executed once for an idempotency key. Made by
/// [`Client::once`](crate::Client::once).
///
/// Queues, webhooks and people send everything twice. The first call does the work, and its result
/// is kept. A later call gets the result in one request, and does nothing. A call that comes
/// meanwhile waits, and gets the result too. The first call needs two requests: the one that
/// releases the lock also stores the result.
///
/// Work that fails stores nothing. If the process that does the work dies, the next call does it,
/// once the [`ttl`](Once::ttl) is over.
///
/// Executed once means *kept* once. A holder that was taken for dead may have done the work too. At
/// most one of the two stores its result, and the other learns that it lost its lease. What the
/// work does elsewhere must allow for that: use commands under the lease ([`Lease::exec`]), or the
/// [fence](Lease::fence).
///
/// As with a [`Lock`], an invalid option is the error of the first call.
///
/// ```no_run
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
/// ```
pub struct Once<T, R> {
    lock: Lock<T, R>,
    keep: Duration,
    max_bytes: usize,
}

impl<T: Transport, R: Runtime> Once<T, R> {
    pub(crate) const fn new(lock: Lock<T, R>) -> Self {
        Self {
            lock,
            keep: DAY,
            max_bytes: 64 * 1024,
        }
    }

    fn with(mut self, set: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Self {
        let checked = set(&mut self);
        self.lock = self.lock.with(|_| checked);
        self
    }

    /// The same under another lock.
    pub(crate) fn of(self, set: impl FnOnce(Lock<T, R>) -> Lock<T, R>) -> Self {
        let lock = set(self.lock);
        Self { lock, ..self }
    }

    /// How long the result is kept: 1 ms to 366 days, in whole milliseconds. Default 24 h. A later
    /// call does the work again.
    #[must_use]
    pub fn keep(self, keep: Duration) -> Self {
        self.with(|once| {
            let what = "a result is kept for 1 ms to 366 days";
            ttl::check_range(what, ttl::SHORTEST..=ttl::MAX, keep)?;
            once.keep = keep;
            Ok(())
        })
    }

    /// A digest of the payload, of 1 to 128 bytes. It tells a repeat from another request that has
    /// the same key by mistake. If it differs from that of the work that was executed, or is being
    /// executed, the call fails with [`Error::FingerprintMismatch`]. Calls without one are not
    /// compared. Others can read it as the holder's [label](Lock::label), so it is no place for a
    /// secret.
    #[must_use]
    pub fn fingerprint(self, fingerprint: &str) -> Self {
        self.with(|once| {
            if !(1..=MAX_FINGERPRINT).contains(&fingerprint.len()) {
                return Err(Fault::invalid(format!(
                    "a fingerprint has 1 to {MAX_FINGERPRINT} bytes, and this one {}; take a digest of what is longer",
                    fingerprint.len()
                )));
            }
            let label = script::mark(fingerprint)?;
            once.lock.settings().label = label;
            Ok(())
        })
    }

    /// How large a result may be as it is stored, in bytes: 256 KiB at most. Default 64 KiB.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.with(|once| {
            if !(1..=MAX_BYTES).contains(&bytes) {
                return Err(Fault::invalid(format!(
                    "a result may have 1 to {MAX_BYTES} bytes, and the bound given is {bytes}"
                )));
            }
            once.max_bytes = bytes;
            Ok(())
        })
    }

    /// How long the others wait if the process that does the work dies, as [`Lock::ttl`]. The work
    /// may take longer: its lease is renewed.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.of(|lock| lock.ttl(ttl))
    }

    /// How long to wait while another call does the work, as [`Lock::wait_timeout`]. After that it
    /// is [`Error::Held`]: come back later.
    #[must_use]
    pub fn wait_timeout(self, wait: Duration) -> Self {
        self.of(|lock| lock.wait_timeout(wait))
    }

    /// How many requests a call may send until it has the result, or begins the work, as
    /// [`Lock::max_requests`].
    #[must_use]
    pub fn max_requests(self, requests: u32) -> Self {
        self.of(|lock| lock.max_requests(requests))
    }

    /// How long the work may take, as [`Lock::max_hold`].
    #[must_use]
    pub fn max_hold(self, max_hold: Duration) -> Self {
        self.of(|lock| lock.max_hold(max_hold))
    }

    /// Whether the key and all options are valid, as [`Lock::check`]. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], about the first that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        self.lock.check()
    }

    /// Does `work`, unless it was done before, and returns its result. The result is kept as JSON.
    /// While the work runs, the lease is renewed, and the work may be stopped, as by [`Lock::run`].
    ///
    /// # Errors
    /// Before the work begins:
    ///
    /// - [`Error::FingerprintMismatch`];
    /// - [`Error::Held`] if another call did the work for all of the [`wait`](Once::wait_timeout);
    /// - [`Error::ResultUnreadable`] if the kept result is no `V`.
    ///
    /// Those of the work: nothing is kept then. Those of [`Lock::run`].
    ///
    /// After the work was done, with nothing kept:
    ///
    /// - [`Error::ResultTooLarge`], and [`Error::ResultUnreadable`] if it cannot be written as
    ///   JSON: the next call does the work again. No error has the result, since errors are
    ///   logged. A work that needs it all the same leaves it in a variable of the caller's;
    /// - [`Error::Released`] if the work itself released the lease;
    /// - those of [`Lease::commit`], which stores the result. If the outcome is
    ///   [unknown](Error::is_outcome_unknown), the result may be kept: call again.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and releases the lock in the background. If the result
    /// was just being stored, it may be stored or not.
    #[cfg(not(all(target_family = "wasm", feature = "host-json")))]
    pub async fn run<V, E>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<V, E>,
    ) -> Result<OnceOutcome<V>, E>
    where
        V: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let unreadable =
            |what| move |error: serde_json::Error| Error::unreadable(self.lock.key(), what, &error);
        let not_kept =
            unreadable("the work was done, but it cannot be written as JSON, so it is not kept");
        let other_type = unreadable("what is kept is not of the type that this call asks for");
        let read = |text: String| {
            // The npm package's work may return nothing. It then passes an empty text.
            let json = if text.is_empty() { "null" } else { &text };
            serde_json::from_str(json).map_err(other_type)
        };
        let write = |value: &V| serde_json::to_string(value).map_err(not_kept);
        self.perform(work, write, read).await
    }

    /// As `run`, with a text as the result, which is kept as it is.
    ///
    /// # Errors
    /// As `run`.
    ///
    /// # Cancel safety
    /// As `run`.
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
        let beginning = self.beginning().map_err(Error::from)?;
        let begun = pin!(drive(self.lock.host(), beginning));
        let granted = match self.lock.unless_gone(begun).await.map_err(Error::from)? {
            Taken::Result(text) => return Ok(OnceOutcome::Replayed(read(text)?)),
            taken => taken.lock().map_err(Error::from)?,
        };
        // Whoever repeats the call gets what comes of it, so it goes on when its caller is gone.
        let _goes_on = self.lock.host().going_on.begin();
        let (lease, _) = self.lock.clone().for_others().granted(granted);
        // Boxed, since the work may itself call another `Once`.
        let executing = Box::pin(async {
            let value = work(&lease).await?;
            let store = self.storing(&write(&value)?).map_err(Error::from)?;
            lease.commit(&[store]).await?;
            Ok::<V, E>(value)
        });
        let value = lease.run(self.lock.max_hold, executing).await?;
        Ok(OnceOutcome::Executed(value))
    }

    /// The acquisition: its outcome is the kept result, or the lock under which to do the work.
    pub(crate) fn beginning(&self) -> Result<Acquire, Fault> {
        self.lock.acquiring(Some(self.lock.longest_wait()), &[])
    }

    /// The command that stores `result`, in the commit of the lease of the work.
    pub(crate) fn storing(&self, result: &str) -> Result<Command, Fault> {
        let bytes = result.len();
        if bytes > self.max_bytes {
            return Err(Fault::from(Error::ResultTooLarge {
                lock: self.lock.key().to_owned(),
                bytes,
                most: self.max_bytes,
            }));
        }
        let Settings { name, label, .. } = &*self.lock.settings;
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
