//! Work that is executed once for a key, and whose result is kept for later calls. A copy of
//! something that is expensive to make, renewed by one caller at a time.

mod run;

use std::fmt;
use std::time::Duration;

#[cfg(not(npm))]
use serde::{Serialize, de::DeserializeOwned};

use crate::command::Command;
use crate::drive::drive;
use crate::error::{Error, Fault};
use crate::lock::Lock;
use crate::operation::Acquire;
use crate::runtime::Runtime;
use crate::script::{self, Call};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::ttl;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_FINGERPRINT: usize = 128;
/// A byte can take three on its way here, and an answer has up to 1 MiB.
const MAX_BYTES: usize = 256 * 1024;

/// Work that is executed once for an idempotency key. Made by
/// [`Client::once`](crate::Client::once).
///
/// Queues, webhooks and people send everything twice. The first call does the work, and its result
/// is kept. A later call gets the result in one request, and does nothing. A call that comes while
/// the work runs waits, and gets the result too. The first call needs two requests: the one that
/// releases the lock also stores the result.
///
/// Work that fails stores nothing. If the process that does the work dies, the next call does it,
/// once the [`ttl`](Once::ttl) is over.
///
/// Executed once means *kept* once. A holder that was taken for dead may have done the work too. At
/// most one of the two stores its result, and the other learns that it lost its lease. What the
/// work does elsewhere must allow for that: use commands under the lease
/// ([`exec`](crate::Lease::exec)), or the [fence](crate::Lease::fence).
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
    pub(crate) lock: Lock<T, R>,
    keep: Duration,
    max_bytes: usize,
}

impl<T: Transport, R: Runtime> Once<T, R> {
    pub(crate) const fn new(lock: Lock<T, R>) -> Self {
        Self { lock, keep: DAY, max_bytes: 64 * 1024 }
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

    /// Keeps a result that is fresh for a time, and then stale.
    fn renewed(self, fresh: Duration, stale: Duration) -> Self {
        let once = self.with(|once| {
            for time in [fresh, stale] {
                let what = "a copy is fresh, and then stale, for 1 ms to 366 days";
                ttl::check_range(what, ttl::SHORTEST..=ttl::MAX, time)?;
            }
            once.lock.settings().kind.set_stale(stale);
            Ok(())
        });
        once.keep(fresh.saturating_add(stale))
    }

    /// A digest of the payload, of 1 to 128 bytes. Another request that has the same key by mistake
    /// has another digest, and fails with [`Error::FingerprintMismatch`], also while the work runs.
    /// Calls without a digest are not compared. Others can read it as the holder's
    /// [label](Lock::label), so put no secret in it.
    #[must_use]
    pub fn fingerprint(self, fingerprint: &str) -> Self {
        self.with(|once| {
            let bytes = fingerprint.len();
            Fault::unless(
                (1..=MAX_FINGERPRINT).contains(&bytes),
                format_args!(
                    "a fingerprint has 1 to {MAX_FINGERPRINT} bytes, and this one {bytes}; take a digest of what is longer"
                ),
            )?;
            let label = script::mark(fingerprint)?;
            once.lock.settings().label = label;
            Ok(())
        })
    }

    /// How large a result may be as it is stored, in bytes: 256 KiB at most. Default 64 KiB.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.with(|once| {
            Fault::unless(
                (1..=MAX_BYTES).contains(&bytes),
                format_args!(
                    "a result may have 1 to {MAX_BYTES} bytes, and the bound given is {bytes}"
                ),
            )?;
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

    /// How long to wait while another call does the work, as [`Lock::wait_timeout`]. After that the
    /// call fails with [`Error::Held`]: come back later.
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

    /// The acquisition: its outcome is the kept result, or the lock under which to do the work.
    pub(crate) fn beginning(&self) -> Result<Acquire, Fault> {
        let Settings { name, kind, .. } = &*self.lock.settings;
        let copy = kind.can_be_stale().then(|| script::copy_of(name));
        let wait = Some(self.lock.wait);
        self.lock.acquiring(wait, copy.as_slice())
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
}

impl<T, R> Clone for Once<T, R> {
    fn clone(&self) -> Self {
        Self { lock: self.lock.clone(), ..*self }
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

impl<T: Transport, R: Runtime> Once<T, R> {
    /// Forgets what is kept, so that the next call does the work again. Returns whether a result
    /// was kept, of whichever [fingerprint](Once::fingerprint). Sends one request.
    ///
    /// While the work runs, this fails with [`Error::Held`], which says when to come back: the work
    /// would store its result afterwards.
    ///
    /// # Errors
    /// [`Error::Held`]; those of the bridge. If the outcome is
    /// [unknown](Error::is_outcome_unknown), the result may be forgotten or not. A later call
    /// returns `false` if it was.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. The result may be forgotten or not.
    pub async fn forget(&self) -> Result<bool, Error> {
        let forgotten = drive(&self.lock.host, self.lock.operating(Call::forget)?).await;
        Ok(forgotten.outcome?.done()?)
    }
}

/// The outcome of work that is executed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnceOutcome<V> {
    /// This call did the work, and its result is kept.
    Executed(V),
    /// Another call did the work.
    Replayed(V),
    /// Only of `Once::run_anyway`: this call did the work, and perhaps its result is not kept. A
    /// repeat may do the work again.
    NotKept(V),
}

impl<V> OnceOutcome<V> {
    /// The result, of this execution or of an earlier one.
    pub fn into_value(self) -> V {
        match self {
            Self::Executed(value) | Self::Replayed(value) | Self::NotKept(value) => value,
        }
    }

    /// Whether another call did the work.
    pub const fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// Whether a repeat gets this result.
    pub const fn is_kept(&self) -> bool {
        !matches!(self, Self::NotKept(_))
    }
}

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
    #[cfg(not(npm))]
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
