//! The options of an acquisition.

use std::sync::Arc;
use std::time::Duration;

use super::Lock;
#[cfg(doc)]
use crate::error::ReservationError;
use crate::error::{Error, Fault};
use crate::name;
use crate::redact::Named;
use crate::replicas::Replicas;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::transport::Transport;
use crate::ttl;

impl<T: Transport, R: Runtime> Lock<T, R> {
    /// Whether the name and all options are valid. Every call checks that before it sends anything;
    /// this is for callers that want to know earlier. Sends nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use edgelock::native::{self, Bridge};
    ///
    /// let client = native::client(Bridge::upstash("https://bridge.example", "credential")?);
    /// let lock = client.lock("sku:42");
    /// lock.clone().ttl(Duration::from_secs(10)).check()?;
    /// let error = lock.ttl(Duration::from_millis(3)).check().unwrap_err();
    /// assert_eq!(error.code(), "invalid_argument");
    /// # Ok::<_, edgelock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], about the first that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.settings.check()?)
    }

    /// Applies `set`. The lock's calls fail with the first error.
    pub(crate) fn with(mut self, set: impl FnOnce(&mut Settings) -> Result<(), Fault>) -> Self {
        let settings = self.settings();
        let checked = set(settings);
        settings.checked.note(checked);
        self
    }

    /// Once, and not in each option.
    #[inline(never)]
    pub(crate) fn settings(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// How long a lease lasts unless it is renewed: 4 ms to 366 days, in whole milliseconds.
    /// Default 10 s.
    ///
    /// If a holder dies, the others wait this long. A holder must finish in this time, or renew. It
    /// counts on 2 ms and 1 % less, for clocks that differ; a ttl below 4 ms would leave it
    /// nothing.
    ///
    /// A [resumed](Lock::resume) lease is renewed for this ttl only if it was set. Otherwise it is
    /// renewed for the ttl that the lock was acquired with.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if the ttl is out
    /// of that range or has a fraction of a millisecond.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.with(|lock| {
            ttl::check(ttl)?;
            lock.ttl = Some(ttl);
            Ok(())
        })
    }

    /// How long [`Lock::acquire`] waits at most: for another holder, or for a bridge or a Redis
    /// that is away. Default 5 s. Zero means try once, as [`Lock::try_acquire`] does.
    ///
    /// It bounds when requests are sent, not when they are answered, so a short wait still gets a
    /// free lock. An acquisition lasts at most one
    /// [`request_timeout`](crate::Client::request_timeout) longer than its wait, or than
    /// [`Lock::try_acquire`] may take if that is longer. In a quorum it is three time-outs, since
    /// one try there may send three requests one after another.
    ///
    /// If 10,000 others wait for the lock, or 10,000 callers of this process wait for any lock, the
    /// call fails with [`crate::Error::Held`] at once.
    ///
    /// Others may overtake a waiter that cannot listen. If it is the first in the queue, they do so
    /// for at most 2 s. Then a release keeps the lock for it, for as long as it counts as alive.
    #[must_use]
    pub const fn wait_timeout(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How many requests one acquisition may send. When they are used up, it gives up as when its
    /// wait is over. Default 40; the smallest edge plans allow a handler 50.
    ///
    /// Repeats of lost requests count, and so do listening, leaving the queue, and giving up what
    /// requests of unknown outcome asked for. With fewer than 4 an acquisition does not queue, and
    /// giving up may take one more. One more is also possible if the acquisition was handed the
    /// lock, asked for it by its last request, and then gave it up. In a quorum the limit holds for
    /// each bridge. A try takes two requests there, so with fewer than 5 an acquisition does not
    /// wait. The limit is not strict there: requests that a majority did not wait for, that raise
    /// the fence, or that give up may exceed it.
    ///
    /// The requests are spread over the wait. A waiter that asks less often than every 10 s (or its
    /// ttl, if that is shorter) loses its place in the queue. So 40 requests keep a place for at
    /// most 5 minutes, and a longer wait needs more.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if it is 0.
    #[must_use]
    pub fn max_requests(mut self, requests: u32) -> Self {
        self.max_requests = requests;
        let what = format_args!("an acquisition has 1 request or more, not 0");
        self.with(|_| Fault::unless(requests > 0, what))
    }

    /// Whether acquisitions are granted in order of arrival, even when the lock is free. Default
    /// off: a newcomer may take a free lock ahead of waiters, which raises throughput.
    ///
    /// A waiter that dies delays the others for as long as it counts as alive. That is its ttl, but
    /// at least 1 s and at most 10 s. The order holds only among callers that set this option.
    ///
    /// For [several names at once](crate::Client::lock_all) it is on by default. Otherwise names
    /// that others keep busy might never be free at the same time.
    ///
    /// For [readers](crate::ReadWrite::read) it is on by default: a reader waits behind a writer
    /// that came before. Otherwise a waiting writer would not get its turn while new readers come.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if `on` is set for
    /// a reentrant lock, [reservations](crate::Client::reservations), [several
    /// limits](crate::Client::limits), a lock behind several bridges, or one that [takes
    /// over](Lock::take_over).
    #[must_use]
    pub fn fair(self, on: bool) -> Self {
        self.with(|lock| {
            if on {
                lock.kind.may(|refusals| refusals.fair)?;
            }
            lock.fair = on;
            Ok(())
        })
    }

    /// Takes the lock over if another has it. That holder's lease ends, Redis refuses its writes
    /// through the lease, and its calls fail with [`Error::Lost`]. Use it if only the latest caller
    /// counts: an agent's turn in one conversation, one editor.
    ///
    /// It goes ahead of all waiters, who keep their places. The old holder learns of it at its next
    /// call or renewal, or at once if it [listens](Lock::listen), and works on until then; a store
    /// outside of Redis must compare [fences](crate::Lease::fence). A lock of another program is
    /// not taken over: the call fails with [`Error::Held`] after its wait, or 30 s if shorter. An
    /// acquisition whose own lock was taken over before its reply came fails with [`Error::Lost`].
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if the lock is
    /// fair, has a signal list, lives behind several bridges, or is of another kind than
    /// [`Client::lock`](crate::Client::lock).
    #[must_use]
    pub fn take_over(self) -> Self {
        self.with(|lock| {
            lock.kind.set_take_over()?;
            if lock.fair {
                lock.kind.may(|refusals| refusals.fair)?;
            }
            Ok(())
        })
    }

    /// Makes a holder listen while its lease is kept: by [`Lock::run`], [`Lease::run`] or
    /// [`Lease::keep_alive`]. If the lock is [taken over](Lock::take_over) or [freed by
    /// force](Lock::force_release), the holder learns so within a round trip, and not at its next
    /// renewal. Default off.
    ///
    /// It costs one more request that lasts as long as the work, and a renewal once it listens,
    /// since the lock may have been lost before. A message only makes the holder renew, so a forged
    /// message does no harm. The client cannot listen over several bridges, with several names, or
    /// with a name that has a comma, a `%` or a control character: then the next renewal tells.
    ///
    /// [`Lease::run`]: crate::Lease::run
    /// [`Lease::keep_alive`]: crate::Lease::keep_alive
    #[must_use]
    pub fn listen(mut self) -> Self {
        self.settings().listens = true;
        self
    }

    /// How long [`Lock::run`] renews the lock at most. So stuck work does not keep others out for
    /// ever. Default 15 minutes, or the ttl if that is longer.
    #[must_use]
    pub const fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// A list that gets an element whenever the lock becomes free and is handed to nobody. Other
    /// programs' waiters can block on it. Those of python-redis-lock do: its lock `sku:42` is the
    /// key `lock:sku:42`, and its waiters block on `lock-signal:sku:42`.
    ///
    /// Each end of a hold through this `Lock` feeds the list: a release, a commit or a forced
    /// release. Redis does not feed it when a holder dies.
    ///
    /// `key` is the list's whole key, without the client's prefix. Whatever is stored there is
    /// replaced. On a cluster it must have the lock's hash tag. The option is not called `signal`,
    /// since that is an `AbortSignal` in JavaScript.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if the key is
    /// empty, is the lock's own, or looks like a companion key of a lock (`{name}:queue`). So they
    /// do for a reentrant lock, a semaphore, a read/write lock, several names at once, and a lock
    /// behind several bridges.
    #[must_use]
    pub fn signal_list(self, key: impl Into<String>) -> Self {
        let list = key.into();
        self.with(|lock| {
            let is_own = !list.is_empty() && list != lock.name.key();
            let why = match is_own {
                true => "a key with this ending belongs to a lock",
                false => "it is a key of its own, neither empty nor the lock's",
            };
            Fault::unless(
                is_own && !name::is_companion(&list),
                format_args!("the signal list cannot be {}: {why}", Named(&list)),
            )?;
            lock.kind.set_signal_list(list)
        })
    }

    /// How many replicas of Redis must have the lock, and `within` what time, before it counts as
    /// held. Such a lock survives the loss of the primary if one of these replicas takes over.
    /// Default none: Redis answers before it replicates.
    ///
    /// Each acquisition, renewal, [`exec`](crate::Lease::exec) and [`commit`](crate::Lease::commit)
    /// waits for the replicas in the same request (`WAIT`). If fewer acknowledge, the call fails
    /// with [`Error::NotReplicated`]. So what was committed without an error survives, too.
    ///
    /// The request may last that much longer, and its reply must come within the ttl. A waiter that
    /// is handed the lock sends one more request. The bridge must support Upstash's `/pipeline`.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if `count` is 0 or
    /// `within` is not from 1 ms to 60 s, in whole milliseconds. So they do for a
    /// [quorum](crate::Client::quorum), whose servers stand in for each other.
    #[must_use]
    pub fn wait_for_replicas(self, count: u32, within: Duration) -> Self {
        self.with(|lock| {
            lock.kind.may(|refusals| refusals.replicas)?;
            lock.replicas = Some(Replicas::new(count, within)?);
            Ok(())
        })
    }

    /// What others learn about the holder, by [`Lock::inspect`] and by [`Error::Held`] ("held by
    /// …"). Up to 128 bytes. The default is no label. Everybody who may ask for the lock can read
    /// it, so put no secret in it.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if it is longer, or
    /// if the lock has an [owner](Lock::owner), as a reentrant one has: it shows that.
    #[must_use]
    pub fn label(self, label: &str) -> Self {
        self.with(|lock| {
            lock.kind.may(|refusals| refusals.label)?;
            lock.label = name::stored_label(label)?;
            let what = format_args!("a reservation with an owner has that as its label");
            Fault::unless(!lock.kind.has_owner(), what)
        })
    }

    /// How many permits of a [semaphore](crate::Client::semaphore), or units of
    /// [reservations](crate::Client::reservations), one lease takes: 1 to as many as there are.
    /// Default 1. The lease gets all or none, and gives them back together.
    ///
    /// While too few are free, callers that want fewer may take those, unless these callers are
    /// [fair](Lock::fair). Released permits go to nobody behind the first in the queue.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if it is out of
    /// range, or if the lock has no permits.
    #[must_use]
    pub fn weight(self, permits: u32) -> Self {
        self.with(|lock| lock.kind.set_weight(permits))
    }

    /// For whom units are reserved, and how many of them `owner` may have reserved at once. A call
    /// that would exceed this fails with [`ReservationError::OwnerLimit`]. Confirmed units do not
    /// count. Default: no owner, and no bound.
    ///
    /// The owner is the reservation's [label](Lock::label), of 1 to 128 bytes, which only
    /// [`Lock::inspect`] shows. The bound is as good as the owner's id: use one that the caller
    /// cannot choose, as that of a checked session.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if the owner is
    /// empty or too long, if the bound is 0, or if these are no reservations.
    #[must_use]
    pub fn owner(self, owner: &str, most: u32) -> Self {
        self.with(|lock| {
            lock.kind.set_most(most)?;
            lock.label = name::stored_label(owner)?;
            let what = format_args!("an owner has 1 byte or more, not 0");
            Fault::unless(!owner.is_empty(), what)
        })
    }
}
