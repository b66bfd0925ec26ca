//! The client: where its bridges are, how to reach them, and how often to try.

mod multi;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bridge::Bridge;
use crate::command::{Command, Reply};
use crate::drive::Host;
#[cfg(doc)]
use crate::error::ReservationError;
use crate::error::{Error, Fault};
use crate::kind::Kind;
#[cfg(doc)]
use crate::lease::Lease;
use crate::lock::{Lock, read};
use crate::name::Name;
use crate::once::{Cached, Once};
use crate::paced::{Debounce, Throttle};
use crate::read_write::ReadWrite;
use crate::runtime::Runtime;
use crate::settings::{Checked, Settings};
use crate::topology::{Layout, Topology};
use crate::transport::Transport;

pub use multi::Limit;

const MAX_OWNER: usize = 512;

/// Makes locks that live behind one bridge, or behind several.
///
/// A client is cheap to clone, and cheap to make anew in each handler. Making a client sends
/// nothing and draws no random bytes, so it may be made outside of a request.
///
/// `T` sends requests and `R` knows the time. On the edge `edgelock::web` has both.
pub struct Client<T, R> {
    pub(crate) host: Arc<Host<T, R>>,
    pub(crate) topology: Arc<Topology>,
    prefix: Arc<str>,
    checked: Checked,
}

impl<T: Transport, R: Runtime> Client<T, R> {
    /// A client of `bridge`, with a time-out of 2 s for each request and up to 3 attempts for each
    /// operation.
    pub fn new(bridge: Bridge, transport: T, runtime: R) -> Self {
        Self::over(vec![bridge], Layout::Single(0), transport, runtime)
    }

    fn over(bridges: Vec<Bridge>, layout: Layout, transport: T, runtime: R) -> Self {
        Self {
            host: Arc::new(Host::new(transport, runtime)),
            topology: Arc::new(Topology::new(bridges, layout)),
            prefix: "".into(),
            checked: Checked::VALID,
        }
    }

    /// The same client on another host.
    #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "worker"))]
    pub(crate) fn on(self, place: impl FnOnce(&Host<T, R>) -> Host<T, R>) -> Self {
        Self { host: Arc::new(place(&self.host)), ..self }
    }

    /// The lock called `name`: 1 to 512 bytes, prefix included. Sends nothing.
    ///
    /// The lock is the Redis key of that name, which other clients lock too. Its companion keys,
    /// such as `{name}:fence`, are in the same slot of a cluster.
    ///
    /// The first call that would send something checks the name, and so does [`Lock::check`]. They
    /// fail with [`Error::InvalidArgument`]
    ///
    /// - if the name is empty or too long;
    /// - if it has a `}` but no hash tag, since no companion key could share its slot;
    /// - if its keys could be those of another lock. That holds for names that look like a
    ///   companion key, such as `{7}:fence`, and for `{7}`, whose companion keys are those of `7`.
    pub fn lock(&self, name: &str) -> Lock<T, R> {
        self.lock_of(name, Kind::mutex(), Ok(()))
    }

    /// `made` is whether the lock can be of such a kind: whether its owner or its permits are
    /// valid.
    fn lock_of(&self, name: &str, kind: Kind, made: Result<(), Fault>) -> Lock<T, R> {
        let (name, checked) = self.named(name);
        self.lock_named(name, kind, made.and(checked))
    }

    fn lock_named(&self, name: Name, kind: Kind, made: Result<(), Fault>) -> Lock<T, R> {
        let (kind, placed) = match self.topology.layout {
            Layout::Quorum => kind.of_majority(),
            Layout::Single(_) | Layout::Sharded(_) => (kind, Ok(())),
        };
        self.of_kind(name, kind, made.and(placed))
    }

    fn of_kind(&self, name: Name, kind: Kind, made: Result<(), Fault>) -> Lock<T, R> {
        let mut checked = self.checked.clone();
        checked.note(made);
        let settings = Settings::new(&self.topology, name, kind, checked);
        Lock::new(self.host.clone(), settings)
    }

    /// The name of a lock, and whether it is valid.
    fn named(&self, name: &str) -> (Name, Result<(), Fault>) {
        match Name::new(&self.prefix, name) {
            Ok(name) => (name, Ok(())),
            Err(error) => (Name::refused(&self.prefix, name), Err(error)),
        }
    }

    /// The lock called `name`, which its `owner` may take again. So may any handler that passes the
    /// same `owner`. The lock is free once it was released as often as it was taken. Sends nothing.
    ///
    /// It is stored as Redisson stores its `RLock`, so both see the same lock; an owner there is
    /// `<client id>:<thread id>`. All leases of one hold have the same fence. Waiters do not queue:
    /// the last release tells all of them, and all ask. So the lock cannot be [fair](Lock::fair).
    ///
    /// Make the `owner` as unique as what it stands for (a request, an order, a saga), and
    /// impossible to guess.
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the name
    /// is invalid, if the owner is empty or over 512 bytes, or if this is a
    /// [quorum](Client::quorum).
    pub fn reentrant(&self, name: &str, owner: &str) -> Lock<T, R> {
        let bytes = owner.len();
        let checked = Fault::unless(
            (1..=MAX_OWNER).contains(&bytes),
            format_args!("an owner has 1 to {MAX_OWNER} bytes, and this one {bytes}"),
        );
        self.lock_of(name, Kind::reentrant(owner), checked)
    }

    /// A semaphore called `name`: up to `permits` holders may have it at once. Each has a token, a
    /// ttl, a fence and a deadline of its own. Sends nothing.
    ///
    /// All calls work as on a lock. A release hands its permit to the first waiter. A permit that
    /// is not renewed ends with its ttl.
    ///
    /// `permits` counts only for the acquisitions of this `Lock`. A caller that passes a lower
    /// number than others takes no permit from them: it waits until fewer than that number are
    /// held.
    ///
    /// The last fence grows with every permit, so each permit has a fence of its own. But a fence
    /// cannot order what is written under several permits at the same time.
    ///
    /// A [`GroupCommit`](crate::GroupCommit) refuses a semaphore, since its turns must follow each
    /// other. [`Lock::inspect`] lists the holders, and says how many permits are free.
    /// [`Lock::force_release`] frees all permits. A semaphore is stored differently from a lock:
    /// each refuses the other's key with [`Error::WrongType`].
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the name
    /// is invalid, if `permits` is 0, or if this is a [quorum](Client::quorum).
    pub fn semaphore(&self, name: &str, permits: u32) -> Lock<T, R> {
        let what = format_args!("a semaphore has 1 permit or more, not 0");
        let checked = Fault::unless(permits > 0, what);
        self.lock_of(name, Kind::semaphore(permits), checked)
    }

    /// So many `units` of something that is sold in two steps: reserved, and then confirmed. A unit
    /// is never confirmed twice. Sends nothing.
    ///
    /// ```no_run
    /// use edgelock::native::Client;
    /// use edgelock::{Command, Error, Token};
    ///
    /// async fn put_in_cart(client: &Client, sku: &str, customer: &str) -> Result<Token, Error> {
    ///     // Two, for ten minutes; at most four for each customer at once. Or `sold_out`.
    ///     let two = client.reservations(sku, 100).weight(2).owner(customer, 4);
    ///     Ok(two.acquire().await?.into_token())
    /// }
    ///
    /// async fn pay(client: &Client, sku: &str, token: Token, order: &str) -> Result<(), Error> {
    ///     // Once. The error is `lost` if the ten minutes are over, and `confirmed` the second time.
    ///     let paid = Command::new("RPUSH").key(format!("{{{sku}}}:orders")).arg(order);
    ///     let reserved = client.reservations(sku, 100).resume(token)?;
    ///     reserved.commit(&[paid]).await.map(drop)
    /// }
    /// ```
    ///
    /// - Acquiring the lock reserves one unit, or [as many](Lock::weight) as the caller wants, for
    ///   the [ttl](Lock::ttl): 10 minutes by default. [`Lease::into_token`] and [`Lock::resume`]
    ///   carry the reservation from one request to the next.
    /// - [`Lease::commit`] confirms the reservation, if that has not ended by Redis's clock: one
    ///   script runs the commands, and takes the units for ever.
    /// - [`Lease::release`] gives the units back. So does the ttl.
    ///
    /// A unit that is neither reserved nor confirmed is free. [`Lock::inspect`] says how many units
    /// are free, and how many are confirmed. `units` counts only for the acquisitions of this
    /// `Lock`, so it can be raised during a sale. The key `{name}:confirmed` counts the confirmed
    /// units, and never expires. Lower it with Redis if something comes back, and delete it after
    /// the sale. [`Lock::force_release`] gives back what is reserved, and leaves what is confirmed.
    /// No [semaphore](Client::semaphore) may have the same name: the bounds of owners would be
    /// wrong.
    ///
    /// While others' reservations leave too few units, an acquisition fails with [`Error::Held`] at
    /// once: by default it [does not wait](Lock::wait_timeout), and nobody queues. A
    /// [`ReservationError`] says that all is sold, that the [owner](Lock::owner) has enough, or,
    /// for a day, that the reservation was confirmed before. A commit that is too late fails with
    /// [`Error::Lost`].
    ///
    /// Each reservation is one request, and needs no lock. So no caller waits for another, and a
    /// [`GroupCommit`](crate::GroupCommit) refuses reservations.
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the name
    /// is invalid, if `units` is 0, or if this is a [quorum](Client::quorum).
    pub fn reservations(&self, name: &str, units: u32) -> Lock<T, R> {
        let what = format_args!("there is 1 unit to reserve or more, not 0");
        let checked = Fault::unless(units > 0, what);
        let lock = self.lock_of(name, Kind::reservations(units), checked);
        lock.wait_timeout(Duration::ZERO)
    }

    /// A lock called `name` that many can have to read, or one to write. [`ReadWrite::read`] and
    /// [`ReadWrite::write`] are locks, with everything that locks have. Sends nothing.
    ///
    /// The writer holds the [lock](Client::lock) of that name. So a caller of the plain lock waits
    /// for the writer and for readers, and both wait for the plain lock's holder.
    pub fn read_write(&self, name: &str) -> ReadWrite<T, R> {
        let read = self.lock_of(name, Kind::reader(), Ok(())).fair(true);
        ReadWrite::new(read, self.lock_of(name, Kind::writer(), Ok(())))
    }

    /// Work that is executed once for `key`, an idempotency key, and whose result is kept. Sends
    /// nothing.
    ///
    /// Whoever does the work holds the mutex that is named by the key. So give no other
    /// [lock](Client::lock) that name: if the work took that lock, it would wait for itself. The
    /// result is kept beside the mutex, in `{key}:result`.
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the key
    /// cannot be a name, or this is a [quorum](Client::quorum).
    pub fn once(&self, key: &str) -> Once<T, R> {
        Once::new(self.lock_of(key, Kind::once(), Ok(())))
    }

    /// A copy of something that is expensive to make: fresh for a time, and then stale. Each time
    /// is 1 ms to 366 days, in whole milliseconds, and so is their sum. Sends nothing.
    ///
    /// `key` is as in [`Client::once`].
    pub fn cached(&self, key: &str, fresh: Duration, stale: Duration) -> Cached<T, R> {
        Cached::new(self.lock_of(key, Kind::once(), Ok(())), fresh, stale)
    }

    /// Lets one call through in each `window` of 1 ms to 366 days, in whole milliseconds. Sends
    /// nothing.
    ///
    /// It stores its state beside the name, in `{name}:throttle`. So a [lock](Client::lock) or a
    /// [debounce](Client::debounce) of the same name does not affect it.
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the name
    /// is invalid, if the window is out of range, or if this is a [quorum](Client::quorum).
    pub fn throttle(&self, name: &str, window: Duration) -> Throttle<T, R> {
        let refusal = "a throttle lives behind one bridge, not several: they would have to agree on which call comes first";
        Throttle::new(self.paced(name, refusal), window)
    }

    /// Lets through the last of several calls that come less than `wait` apart: 1 ms to 24 hours,
    /// in whole milliseconds. Sends nothing.
    ///
    /// It stores its state beside the name, in `{name}:debounce`. So a [lock](Client::lock) or a
    /// [throttle](Client::throttle) of the same name does not affect it.
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the name
    /// is invalid, if the wait is out of range, or if this is a [quorum](Client::quorum).
    pub fn debounce(&self, name: &str, wait: Duration) -> Debounce<T, R> {
        let refusal = "a debounce lives behind one bridge, not several: they would have to agree on which call comes last";
        Debounce::new(self.paced(name, refusal), wait)
    }

    /// What has a name and makes claims, as a lock does, although nobody holds it. `refusal` is why
    /// several bridges cannot have it together.
    fn paced(&self, name: &str, refusal: &str) -> Lock<T, R> {
        let (name, named) = self.named(name);
        let placed = match self.topology.layout {
            Layout::Quorum => Err(Fault::invalid(refusal)),
            Layout::Single(_) | Layout::Sharded(_) => Ok(()),
        };
        self.of_kind(name, Kind::mutex(), named.and(placed))
    }

    /// Runs commands that only read, without a lock, in one request. The replies may be out of date
    /// when they arrive.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a command may write, if there are several bridges to read from
    /// (see [`Client::shard_of`]), or if the name that `shard_of` was given is invalid.
    /// [`Error::CommandFailed`] if a command failed; those of the bridge.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request.
    pub async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Error> {
        self.check()?;
        Ok(read(&self.host, &self.topology, reads, false).await?)
    }

    /// What is wrong with its options, if anything is.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.checked.of(None)
    }

    /// The host that the client was made for: clock, timers, background work.
    pub fn runtime(&self) -> &R {
        &self.host.runtime
    }
}

impl<T, R> Clone for Client<T, R> {
    fn clone(&self) -> Self {
        Self {
            host: self.host.clone(),
            topology: self.topology.clone(),
            prefix: self.prefix.clone(),
            checked: self.checked.clone(),
        }
    }
}

impl<T, R> fmt::Debug for Client<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bridges: Vec<_> =
            self.topology.endpoints().iter().map(|endpoint| &endpoint.bridge).collect();
        f.debug_struct("Client")
            .field("bridges", &bridges)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

// Here, so that rustdoc lists `new` first.
mod options;
