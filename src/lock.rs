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

/// A name that one holder at a time may have, or so many, and how to ask for it. Made by [`Client::lock`](crate::Client::lock),
/// [`Client::reentrant`](crate::Client::reentrant) and [`Client::semaphore`](crate::Client::semaphore).
///
/// Nothing of how it is asked for fails half-way: whatever cannot work, the name or what was set, is the error of the first call, which
/// then sends nothing. Where several cannot, it is the first.
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
    /// The first that was wrong with how it was asked for: whatever would send something says so instead.
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

    /// Whether it can be asked for: the name, and all that was set. Every call checks that before it sends anything, so this is for who
    /// wants to know at once. Sends nothing.
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
    /// [`Error::InvalidArgument`]: the first that cannot work.
    pub fn check(&self) -> Result<(), Error> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// The same with `set`, if that can be. The first that cannot be is what its calls fail with.
    fn with(mut self, set: impl FnOnce(&mut Self) -> Result<(), Error>) -> Self {
        let refused = set(&mut self).err();
        self.refused = self.refused.or(refused);
        self
    }

    /// How long a lease lasts unless it is renewed: 4 ms to 366 days, in whole milliseconds. 10 s by default.
    ///
    /// It is how long the others wait if a holder dies, and what a holder must get done within. The holder counts on 2 ms and 1 %
    /// less, for clocks that differ; a shorter ttl would leave it nothing.
    ///
    /// A [resumed](Lock::resume) lease is renewed for it only if it was set, else for what the lock was acquired for.
    ///
    /// Out of that range, or with a fraction of a millisecond, the lock's calls are [`Error::InvalidArgument`], and send nothing.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.with(|lock| {
            ttl::check(ttl)?;
            lock.ttl = Some(ttl);
            Ok(())
        })
    }

    /// How long [`Lock::acquire`] waits for another holder, or for a bridge or a Redis that is away, at most. 5 s by default. Zero is not
    /// to wait, as [`Lock::try_acquire`] does.
    ///
    /// It bounds when requests leave, not when they are answered: a lock that is free is had however short the wait. So an acquisition
    /// lasts for its wait, or for as long as [`Lock::try_acquire`] may take if that is longer, and one
    /// [`request_timeout`](crate::Client::request_timeout) more.
    /// Whoever cannot listen, and is the first in the queue, is overtaken for 2 s at most: then the lock is kept for it while it counts as alive.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How many requests one acquisition may send before it gives up as when its wait is over; 0 counts as 1. 40 by default: hosts
    /// of the edge count what a handler sends, and the smallest plans allow it 50. Those that get lost and are repeated count, and so
    /// do listening and leaving the queue. With fewer than 4 it does not queue.
    ///
    /// They are spread over the wait. Whoever asks less often than every 10 s, or its ttl if that is shorter, loses its place in
    /// the queue: 40 keep one for 5 minutes at most. A longer wait needs more.
    #[must_use]
    pub const fn max_requests(mut self, requests: u32) -> Self {
        self.max_requests = requests;
        self
    }

    /// Whether acquisitions wait their turn even when the lock is free: who came first has it first. Off by default: then a
    /// newcomer may take a lock that is free for an instant ahead of those who wait, which makes use of that instant.
    ///
    /// Whoever dies while it waits holds the others up for as long as it counts as alive: its ttl, and 10 s at most, but at
    /// least 1 s. It is fair only among those who ask for it.
    #[must_use]
    pub const fn fair(mut self, on: bool) -> Self {
        self.fair = on;
        self
    }

    /// How long [`Lock::run`] keeps the lock by renewing it, at most: a section that is stuck must not keep the others out for
    /// ever. By default 15 minutes, or the ttl if that is longer.
    #[must_use]
    pub const fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// A list that is fed whenever the lock becomes free and is handed to nobody, for another program's waiters that block on
    /// it: those of python-redis-lock, whose lock `sku:42` is the key `lock:sku:42`, block on `lock-signal:sku:42`.
    ///
    /// It is fed by who ends a hold through this `Lock`, by release, commit, or force, not by Redis when a holder dies. `key` is
    /// the list's whole key, without the client's prefix, and whatever is stored there is replaced. On a cluster it must have the
    /// lock's hash tag. It is not called `signal`, since that is an `AbortSignal` in JavaScript.
    ///
    /// The lock's calls are [`Error::InvalidArgument`], and send nothing, if the key is empty, the lock's own, or looks like a companion of
    /// a lock, as `{name}:queue` does; if the lock is reentrant or a semaphore, or lives behind several bridges.
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

    /// How many replicas of Redis must have the lock, `within` what time, before it counts as held: then it survives the loss of the
    /// primary if one of these takes over. Asked for in the same request (`WAIT`), by each acquisition, renewal and
    /// [`exec`](Lease::exec); fewer are [`Error::NotReplicated`]. None by default: Redis replicates behind its answers.
    ///
    /// The request may last for that much longer, and its answer must come within the ttl. Who waits and is handed the lock asks once more. The
    /// bridge must have Upstash's `/pipeline`.
    ///
    /// The lock's calls are [`Error::InvalidArgument`], and send nothing, if `count` is 0, or `within` is not from 1 ms to 60 s; of a
    /// [quorum](crate::Client::quorum), whose servers stand in for each other.
    #[must_use]
    pub fn wait_for_replicas(self, count: u32, within: Duration) -> Self {
        self.with(|lock| {
            lock.kind.check_replicas()?;
            lock.replicas = Some(Replicas::new(count, within)?);
            Ok(())
        })
    }

    /// What others are told of who holds the lock: by [`Lock::inspect`], and by [`Error::Held`] ("held by …"). Up to 128 bytes; empty
    /// for none, as by default. Everybody who may ask for the lock can read it, so it is no place for a secret.
    ///
    /// If it is longer, or the lock is reentrant, which shows its owner, the lock's calls are [`Error::InvalidArgument`], and send nothing.
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

    /// Reads where the lock lives, and without it.
    pub(crate) async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Error> {
        read(&self.host, &self.topology, reads).await
    }

    /// Whether it can be asked for, and then whether callers may share its turns.
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

    /// What has a call executed that belongs to no acquisition.
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

    /// The lease behind a token that was handed over from another handler. Sends nothing: renew it to learn whether it is
    /// still held, and to give it a deadline and its fence; until then [`Lease::remaining`] is zero, and the fence is 0.
    ///
    /// Like any lease it releases when it is dropped: [`Lease::into_token`] hands it on.
    ///
    /// One handler at a time may have the lease. Hand it over only when its calls have been answered: what the other handler sent and
    /// gave up on could be executed between this one's writes, and if it repeats a write behind one of these, it is told that the
    /// outcome is [unknown](Error::is_outcome_unknown).
    ///
    /// # Errors
    /// [`Error::EntropyUnavailable`] where the host gives none; [`Error::InvalidArgument`] as said by [`Lock::check`].
    pub fn resume(&self, token: Token) -> Result<Lease<T, R>, Error> {
        Ok(Lease::new(self.host.clone(), self.resumed(token)?))
    }

    /// Who holds the lock, for how long yet, and the last fence. It may have changed when the answer arrives, so it is for
    /// people and for monitoring; to decide by, acquire.
    ///
    /// Of a [quorum](crate::Client::quorum), what a majority says; where too many of its servers have no say yet,
    /// [`Inspection::quarantine_remaining`] says so.
    ///
    /// # Errors
    /// [`Error::WrongType`] if the key is no lock of this kind; those of the bridge.
    pub async fn inspect(&self) -> Result<Inspection, Error> {
        let outcome = drive(&self.host, self.inspecting()?).await.outcome;
        outcome.map_err(|error| error.of_lock(Some(self.key())))
    }

    /// Frees the lock, whoever holds it; whether anybody did. The holder learns it at its next call.
    ///
    /// For an operator who knows that the holder is gone. It deletes the key, whatever is stored there.
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
