//! A name that can be locked.

mod acquire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive};
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::kind::Kind;
use crate::label;
use crate::lease::Lease;
use crate::name::{self, Name};
use crate::operation::{Ask, Claim, Hold, Terms, Until, uptime};
use crate::read::read;
use crate::replicas::Replicas;
use crate::runtime::Runtime;
use crate::script::{Call, Inspection};
use crate::token::{Session, Token};
use crate::topology::{Judged, Topology};
use crate::transport::Transport;
use crate::ttl;

/// A name that one holder (or, of a semaphore or for readers, a number of holders) may have at a
/// time, and how to ask for it.
///
/// Made by [`Client::lock`](crate::Client::lock), [`Client::reentrant`](crate::Client::reentrant),
/// [`Client::semaphore`](crate::Client::semaphore) and [`ReadWrite`](crate::ReadWrite).
///
/// No option fails half-way. If the name or an option is invalid, the first call that would send
/// something fails, and sends nothing. If several are invalid, the error is about the first.
///
/// ```
/// # #[cfg(feature = "native-no-tls")]
/// # mod example {
/// use std::time::Duration;
/// use edgelock::native::{Client, Lease};
/// use edgelock::Error;
///
/// async fn take(client: &Client) -> Result<Lease, Error> {
///     let (ttl, wait) = (Duration::from_secs(10), Duration::from_secs(3));
///     client.lock("sku:42").ttl(ttl).wait(wait).acquire().await
/// }
/// # }
/// ```
pub struct Lock<T, R> {
    host: Arc<Host<T, R>>,
    topology: Topology,
    name: Name,
    kind: Kind,
    /// `None` unless it was set.
    ttl: Option<Duration>,
    wait: Duration,
    max_requests: u32,
    fair: bool,
    max_hold: Option<Duration>,
    replicas: Option<Replicas>,
    label: String,
    /// The first invalid option. Every call that would send something fails with it instead.
    refused: Option<Error>,
}

impl<T: Transport, R: Runtime> Lock<T, R> {
    pub(crate) fn new(
        host: Arc<Host<T, R>>,
        topology: Topology,
        name: Name,
        kind: Kind,
        refused: Option<Error>,
    ) -> Self {
        Self {
            topology: topology.for_name(&name),
            host,
            name,
            kind,
            ttl: None,
            wait: Duration::from_secs(5),
            max_requests: 40,
            fair: false,
            max_hold: None,
            replicas: None,
            label: String::new(),
            refused,
        }
    }

    /// Whether the name and all options are valid. Every call checks that before it sends anything;
    /// this is for callers that want to know earlier. Sends nothing.
    ///
    /// ```
    /// # #[cfg(feature = "native-no-tls")]
    /// # mod example {
    /// use std::time::Duration;
    /// use edgelock::native::Client;
    /// use edgelock::Error;
    ///
    /// fn check(client: &Client) -> Result<(), Error> {
    ///     client.lock("sku:42").ttl(Duration::from_secs(10)).check()
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], about the first that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Applies `set`. The first failure is what the lock's calls then fail with.
    fn with(mut self, set: impl FnOnce(&mut Self) -> Result<(), Error>) -> Self {
        let refused = set(&mut self).err();
        self.refused = self.refused.or(refused);
        self
    }

    /// How long a lease lasts unless it is renewed: 4 ms to 366 days, in whole milliseconds.
    /// Default 10 s.
    ///
    /// If a holder dies, the others wait this long. A holder must finish within it, or renew. The
    /// holder counts on 2 ms and 1 % less, for clocks that differ; a ttl below 4 ms would leave it
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
    /// free lock. An acquisition lasts at most as long as its wait, or as [`Lock::try_acquire`] may
    /// take if that is longer, and one [`request_timeout`](crate::Client::request_timeout) more.
    ///
    /// Others may overtake a waiter that cannot listen. If it is the first in the queue, they do so
    /// for 2 s at most; then a release keeps the lock for it, for as long as it counts as alive.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How many requests one acquisition may send. When they are used up, it gives up as when its
    /// wait is over. Default 40; the smallest edge plans allow a handler 50. 0 counts as 1.
    ///
    /// Repeats of lost requests count, and so do listening and leaving the queue. With fewer than 4
    /// an acquisition does not queue.
    ///
    /// The requests are spread over the wait. A waiter that asks less often than every 10 s (or its
    /// ttl, if that is shorter) loses its place in the queue. So 40 requests keep a place for 5
    /// minutes at most, and a longer wait needs more.
    #[must_use]
    pub const fn max_requests(mut self, requests: u32) -> Self {
        self.max_requests = requests;
        self
    }

    /// Whether acquisitions are granted in order of arrival, even when the lock is free. Default
    /// off: a newcomer may take a lock that is free for an instant ahead of waiters, which raises
    /// throughput.
    ///
    /// A waiter that dies delays the others for as long as it counts as alive. That is its ttl, but
    /// at least 1 s and at most 10 s. The order holds only among callers that set this option.
    ///
    /// For [readers](crate::ReadWrite::read) it is on by default, and means: not ahead of a writer
    /// that came before. Otherwise a waiting writer would not get its turn while new readers come.
    #[must_use]
    pub const fn fair(mut self, on: bool) -> Self {
        self.fair = on;
        self
    }

    /// For how long [`Lock::run`] renews the lock at most, so that stuck work does not keep others
    /// out for ever. Default 15 minutes, or the ttl if that is longer.
    #[must_use]
    pub const fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// A list that gets an element whenever the lock becomes free and is handed to nobody. Other
    /// programs' waiters can block on it. Those of python-redis-lock do: its lock `sku:42` is the
    /// key `lock:sku:42`, and its waiters block on `lock-signal:sku:42`.
    ///
    /// Whoever ends a hold through this `Lock` feeds the list: by a release, a commit or a forced
    /// release. Redis does not feed it when a holder dies.
    ///
    /// `key` is the list's whole key, without the client's prefix. Whatever is stored there is
    /// replaced. On a cluster it must have the lock's hash tag. The option is not called `signal`,
    /// since that is an `AbortSignal` in JavaScript.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if the key is
    /// empty, is the lock's own, or looks like a companion key of a lock (`{name}:queue`). They
    /// also do for a reentrant lock, a semaphore, a read/write lock, and a lock behind several
    /// bridges.
    #[must_use]
    pub fn signal_list(self, key: impl Into<String>) -> Self {
        let list = key.into();
        self.with(|lock| {
            if list.is_empty() || list == lock.name.key() {
                return Err(Error::InvalidArgument(
                    "a signal list is a key of its own".into(),
                ));
            }
            if name::is_companion(&list) {
                return Err(Error::InvalidArgument(
                    "a signal list is no companion key of a lock".into(),
                ));
            }
            lock.kind.set_signal_list(list)
        })
    }

    /// How many replicas of Redis must have the lock, and `within` what time, before it counts as
    /// held. Such a lock survives the loss of the primary if one of these replicas takes over.
    /// Default none: Redis answers before it replicates.
    ///
    /// Each acquisition, renewal and [`exec`](Lease::exec) waits for the replicas in the same
    /// request (`WAIT`). If fewer acknowledge, it fails with [`Error::NotReplicated`].
    ///
    /// The request may last that much longer, and its reply must come within the ttl. A waiter that
    /// is handed the lock sends one more request. The bridge must support Upstash's `/pipeline`.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if `count` is 0 or
    /// `within` is not from 1 ms to 60 s. They also do for a [quorum](crate::Client::quorum), whose
    /// servers stand in for each other.
    #[must_use]
    pub fn wait_for_replicas(self, count: u32, within: Duration) -> Self {
        self.with(|lock| {
            lock.kind.check_replicas()?;
            lock.replicas = Some(Replicas::new(count, within)?);
            Ok(())
        })
    }

    /// What others learn about the holder, by [`Lock::inspect`] and by [`Error::Held`] ("held by
    /// …"). Up to 128 bytes. Default empty, which means none. Everybody who may ask for the lock
    /// can read it, so put no secret in it.
    ///
    /// The lock's calls fail with [`Error::InvalidArgument`], and send nothing, if it is longer, or
    /// if the lock is reentrant: that one shows its owner.
    #[must_use]
    pub fn label(self, label: &str) -> Self {
        self.with(|lock| {
            lock.kind.check_label()?;
            lock.label = label::stored(label)?;
            Ok(())
        })
    }

    pub(crate) fn runtime(&self) -> &R {
        &self.host.runtime
    }

    #[cfg(all(target_family = "wasm", feature = "host-json"))]
    pub(crate) const fn host(&self) -> &Arc<Host<T, R>> {
        &self.host
    }

    pub(crate) const fn request_limit(&self) -> Duration {
        self.topology.request_timeout
    }

    /// Reads where the lock lives, without taking it.
    pub(crate) async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Error> {
        read(&self.host, &self.topology, reads).await
    }

    /// Whether the lock is valid, and then whether callers may share its turns.
    pub(crate) fn check_turns(&self) -> Result<(), Error> {
        self.check()?;
        self.kind.check_turns()
    }

    pub(crate) fn key(&self) -> &str {
        self.name.key()
    }

    pub(crate) fn lasts(&self) -> Duration {
        self.ttl.unwrap_or(ttl::DEFAULT)
    }

    pub(crate) const fn patience(&self) -> Duration {
        self.wait
    }

    pub(crate) fn observe(&self, kind: EventKind<'_>) {
        let name = self.name.key();
        self.runtime().observe(&Event { lock: name, kind });
    }

    /// A call that belongs to no acquisition.
    fn ask<O: Judged>(&self, call: Call, session: &Session) -> Ask<O> {
        Ask::new(&self.topology, call.into(), session, Until::Timeout)
    }

    fn claim(&self, token: Token, session: Session) -> Result<Claim, Error> {
        self.check()?;
        Ok(Claim {
            topology: self.topology.clone(),
            name: self.name.clone(),
            kind: self.kind.clone(),
            ttl: self.lasts(),
            replicas: self.replicas.clone(),
            token,
            session,
            caller: None,
            label: self.label.clone(),
            since: self.runtime().now(),
        })
    }

    /// The lease behind a token that another handler handed over. Sends nothing.
    ///
    /// Renew it to learn whether it is still held, and to give it a deadline and its fence. Until
    /// then [`Lease::remaining`] is zero and the fence is 0. As with any lease, dropping it
    /// releases the lock; [`Lease::into_token`] hands it on.
    ///
    /// Only one handler at a time may use a lease. Hand it over only when all its calls were
    /// answered. Otherwise a request that the other handler sent and gave up on could run between
    /// this handler's writes. If that handler repeats a write after one of these, it is told that
    /// the outcome is [unknown](Error::is_outcome_unknown).
    ///
    /// # Errors
    /// [`Error::EntropyUnavailable`] if the host gives no random bytes; [`Error::InvalidArgument`]
    /// as [`Lock::check`] says.
    pub fn resume(&self, token: Token) -> Result<Lease<T, R>, Error> {
        Ok(Lease::new(self.host.clone(), self.resumed(token)?))
    }

    /// Who holds the lock, its time left, and the last fence. All of it may have changed when the
    /// reply arrives, so this is for operators and monitoring. To decide anything, acquire.
    ///
    /// For a [quorum](crate::Client::quorum) it is what a majority says. If too many of its servers
    /// have no say yet, [`Inspection::quarantine_remaining`] says so.
    ///
    /// # Errors
    /// [`Error::WrongType`] if the key holds something else than a lock of this kind; those of the
    /// bridge.
    pub async fn inspect(&self) -> Result<Inspection, Error> {
        let outcome = drive(&self.host, self.inspecting()?).await.outcome;
        outcome.map_err(|error| error.of_lock(Some(self.key())))
    }

    /// Frees the lock, whoever holds it. Returns whether anybody did. The holder learns of it at
    /// its next call.
    ///
    /// For operators who know that the holder is gone. It deletes the key, whatever is stored
    /// there.
    ///
    /// # Errors
    /// Those of the bridge.
    pub async fn force_release(&self) -> Result<bool, Error> {
        let outcome = drive(&self.host, self.forcing()?).await.outcome;
        outcome.map_err(|error| error.of_lock(Some(self.key())))
    }

    pub(crate) fn resumed(&self, token: Token) -> Result<Hold, Error> {
        self.check()?;
        let session = Session::random(self.runtime())?;
        let terms = Terms::new(0, self.ttl);
        Ok(Hold::new(self.claim(token, session)?, terms, None))
    }

    pub(crate) fn inspecting(&self) -> Result<Ask<Inspection>, Error> {
        self.check()?;
        let session = Session::random(self.runtime())?;
        let uptime = uptime(&self.kind, &self.topology, self.lasts());
        let call = Call::inspect(&self.name, &self.kind, &session, uptime);
        Ok(self.ask(call, &session))
    }

    pub(crate) fn forcing(&self) -> Result<Ask<bool>, Error> {
        self.check()?;
        let session = Session::random(self.runtime())?;
        let call = Call::force_release(&self.name, &self.kind, &session);
        Ok(self.ask(call, &session))
    }
}

impl<T, R> Clone for Lock<T, R> {
    fn clone(&self) -> Self {
        Self {
            host: self.host.clone(),
            topology: self.topology.clone(),
            name: self.name.clone(),
            kind: self.kind.clone(),
            ttl: self.ttl,
            wait: self.wait,
            max_requests: self.max_requests,
            fair: self.fair,
            max_hold: self.max_hold,
            replicas: self.replicas.clone(),
            label: self.label.clone(),
            refused: self.refused.clone(),
        }
    }
}

impl<T, R> fmt::Debug for Lock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.name.key())
            .field("ttl", &self.ttl.unwrap_or(ttl::DEFAULT))
            .finish_non_exhaustive()
    }
}
