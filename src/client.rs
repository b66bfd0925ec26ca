//! The client: where its bridges are, how to reach them, and how often to ask.

mod several;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bridge::Bridge;
use crate::command::{Command, Reply};
use crate::drive::Host;
use crate::error::Error;
use crate::kind::Kind;
use crate::lock::Lock;
use crate::name::Name;
use crate::read::read;
use crate::runtime::Runtime;
use crate::topology::{Layout, Topology};
use crate::transport::Transport;

const MAX_OWNER: usize = 512;

/// No answer comes in no time, and hosts count whole milliseconds.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// Hands out locks that live behind a bridge, or behind several.
///
/// Cheap to clone, and to make anew in each handler. Making one sends nothing and draws no random bytes, so it may be made
/// outside of a request.
///
/// `T` sends requests and `R` knows the time: on the edge `edgelock::web` has both.
pub struct Client<T, R> {
    host: Arc<Host<T, R>>,
    topology: Topology,
    prefix: Arc<str>,
    /// What was wrong with how it was asked for: all its calls say so.
    refused: Option<Error>,
}

impl<T: Transport, R: Runtime> Client<T, R> {
    /// A client of `bridge`, with a time-out of 2 s for each request and up to 3 attempts for each operation.
    pub fn new(bridge: Bridge, transport: T, runtime: R) -> Self {
        Self::over(vec![bridge], Layout::Single(0), transport, runtime)
    }

    fn over(bridges: Vec<Bridge>, layout: Layout, transport: T, runtime: R) -> Self {
        Self {
            host: Arc::new(Host { transport, runtime }),
            topology: Topology::new(bridges, layout),
            prefix: "".into(),
            refused: None,
        }
    }

    /// Puts `prefix` before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long to wait for the answer to one request before it is aborted, at most; less than 1 ms counts as that. No answer is
    /// awaited past the lease's deadline, whatever is set here.
    ///
    /// Also how long a call that does not wait for the lock leaves a bridge alone that asks for it
    /// (`Retry-After`), in all. What is more is said by [`Error::retry_after`].
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        let is_too_short = timeout.as_nanos() < SHORTEST_TIMEOUT.as_nanos();
        self.topology.request_timeout = if is_too_short {
            SHORTEST_TIMEOUT
        } else {
            timeout
        };
        self
    }

    /// How often an operation is sent when its requests get lost; 0 counts as 1. Sending again is safe: all attempts carry the
    /// same token, and a write its number. A write is not sent again later than half a minute after
    /// the first time: Redis knows no longer that it is the same.
    #[must_use]
    pub const fn max_attempts(mut self, attempts: u32) -> Self {
        self.topology.attempts = attempts;
        self
    }

    /// The lock called `name`, 1 to 512 bytes with the prefix. Sends nothing.
    ///
    /// The lock is the Redis key of that name, as other clients lock it too. Its companions, such as `{name}:fence`, lie in
    /// the same slot of a cluster.
    ///
    /// What is wrong with the name is said by the first call that would send something, before it does, and by [`Lock::check`]: then it is
    /// [`Error::InvalidArgument`] if the name is empty or too long, or has a `}` but no hash tag: nothing could share its slot. If its keys
    /// could be those of another lock: `{7}:fence` and all else that looks like a companion, and `{7}`, whose companions are those of `7`.
    pub fn lock(&self, name: &str) -> Lock<T, R> {
        self.lock_of(name, Kind::mutex(), Ok(()))
    }

    /// `made` is whether it can be such a kind: its owner, its permits.
    fn lock_of(&self, name: &str, kind: Kind, made: Result<(), Error>) -> Lock<T, R> {
        let (name, checked) = self.named(name);
        let (kind, placed) = match self.topology.layout {
            Layout::Quorum => kind.of_majority(),
            Layout::Single(_) | Layout::Sharded(_) => (kind, Ok(())),
        };
        let checked = self.check().and(made).and(checked).and(placed);
        let (host, topology) = (self.host.clone(), self.topology.clone());
        Lock::new(host, topology, name, kind, checked.err())
    }

    /// The name of a lock, and whether it can be one.
    fn named(&self, name: &str) -> (Name, Result<(), Error>) {
        match Name::new(&self.prefix, name) {
            Ok(name) => (name, Ok(())),
            Err(error) => (Name::refused(&self.prefix, name), Err(error)),
        }
    }

    /// The lock called `name` as `owner` may take it: again and again while it has it, from any handler that says the same
    /// `owner`, and free once it was released as often. Sends nothing.
    ///
    /// It is stored as Redisson stores its `RLock`, so both see the same lock; there an owner is `<client id>:<thread id>`. All
    /// leases of one hold have the same fence. Others that wait are told of the last release, and all ask: nobody queues, so it
    /// cannot be [fair](Lock::fair).
    ///
    /// Whoever says `owner` has what `owner` has, so it should be as unique as what it stands for: a request, an order, a saga.
    ///
    /// As with [`Client::lock`], the first call is [`Error::InvalidArgument`] if the name cannot be one, or the owner is empty or over
    /// 512 bytes, or this is a [quorum](Client::quorum).
    pub fn reentrant(&self, name: &str, owner: &str) -> Lock<T, R> {
        let is_owner = (1..=MAX_OWNER).contains(&owner.len());
        let what = || {
            Error::InvalidArgument(format!(
                "an owner has 1 to {MAX_OWNER} bytes, and this one {}",
                owner.len()
            ))
        };
        let checked = is_owner.then_some(()).ok_or_else(what);
        self.lock_of(name, Kind::reentrant(owner), checked)
    }

    /// A semaphore called `name`: up to `permits` may hold it at once, each with a token, a ttl, a fence and a deadline of its own. Sends
    /// nothing.
    ///
    /// It is acquired, waited for, kept, committed under and released as a lock is; a release hands its permit to the first who waits. A permit
    /// that is not renewed ends with its ttl. `permits` counts for the acquisitions of this `Lock` alone: who counts fewer than others takes
    /// none from them, and waits until no more than that are held. The last fence grows with every permit, so that each has one
    /// of its own; but what is written under several permits at once has no order that a fence could tell.
    ///
    /// It is no lock for a [`GroupCommit`](crate::GroupCommit), whose turns follow each other. [`Lock::inspect`] lists the holders, and says
    /// how many permits are free; [`Lock::force_release`] frees all. It is stored otherwise than a lock, and neither sees the other: one of
    /// the same name is [`Error::WrongType`].
    ///
    /// As with [`Client::lock`], the first call is [`Error::InvalidArgument`] if the name cannot be one, or there are no permits, or this is a
    /// [quorum](Client::quorum).
    pub fn semaphore(&self, name: &str, permits: u32) -> Lock<T, R> {
        let what = || Error::InvalidArgument("a semaphore has 1 permit or more".into());
        let checked = (permits > 0).then_some(()).ok_or_else(what);
        self.lock_of(name, Kind::semaphore(permits), checked)
    }

    /// Runs commands that only read, together and without a lock: what they say may be out of date on arrival. One request.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a command may write, or there are several bridges to read from: see [`Client::shard_of`], and if
    /// what that was given is no name.
    /// [`Error::CommandFailed`] if one failed; those of the bridge.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request.
    pub async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Error> {
        self.check()?;
        read(&self.host, &self.topology, reads).await
    }

    #[cfg(all(target_family = "wasm", feature = "host-json"))]
    pub(crate) const fn host(&self) -> &Arc<Host<T, R>> {
        &self.host
    }

    #[cfg(all(target_family = "wasm", feature = "host-json"))]
    pub(crate) const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Why nothing can be asked of it, if it was made wrong.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// The host that it was made for: its clock, its timers, its background.
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
            refused: self.refused.clone(),
        }
    }
}

impl<T, R> fmt::Debug for Client<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bridges: Vec<_> = self
            .topology
            .nodes()
            .iter()
            .map(|node| &node.bridge)
            .collect();
        f.debug_struct("Client")
            .field("bridges", &bridges)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
