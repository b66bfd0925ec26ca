//! A name that can be locked, and reads where it lives.

mod acquire;
mod options;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive, unless_gone};
use crate::error::{Error, Fault};
use crate::event::{Event, EventKind};
use crate::kind::Kind;
use crate::lease::Lease;
use crate::name::Name;
use crate::operation::{Ask, Claim, Completed, Hold, RunGuess, RunOrLock, TimeLimit};
use crate::runtime::{Runtime, Task};
use crate::script::{self, Call, Guess, Inspection};
use crate::settings::Settings;
use crate::token::{Session, Token};
use crate::topology::{Layout, Topology};
use crate::transport::Transport;

/// A name that one holder may have at a time, and how to ask for it. Semaphores, limits,
/// reservations and locks to read may have several holders.
///
/// Made by [`Client::lock`](crate::Client::lock), [`Client::reentrant`](crate::Client::reentrant),
/// [`Client::semaphore`](crate::Client::semaphore), [`Client::limits`](crate::Client::limits),
/// [`Client::lock_all`](crate::Client::lock_all),
/// [`Client::reservations`](crate::Client::reservations) and [`ReadWrite`](crate::ReadWrite).
///
/// Setting an option never fails. If the name or an option is invalid, the first call that would
/// send something fails, and sends nothing. If several are invalid, the error is about the first.
///
/// ```no_run
/// use std::time::Duration;
/// use edgelock::native::{Client, Lease};
/// use edgelock::Error;
///
/// async fn take(client: &Client) -> Result<Lease, Error> {
///     let (ttl, wait) = (Duration::from_secs(10), Duration::from_secs(3));
///     client.lock("sku:42").ttl(ttl).wait_timeout(wait).acquire().await
/// }
/// ```
pub struct Lock<T, R> {
    pub(crate) host: Arc<Host<T, R>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) wait: Duration,
    max_requests: u32,
    pub(crate) max_hold: Option<Duration>,
    /// Others than the caller depend on what is done under it.
    is_for_others: bool,
}

impl<T: Transport, R: Runtime> Lock<T, R> {
    pub(crate) fn new(host: Arc<Host<T, R>>, settings: Settings) -> Self {
        Self {
            host,
            settings: Arc::new(settings),
            wait: Duration::from_secs(5),
            max_requests: 40,
            max_hold: None,
            is_for_others: false,
        }
    }

    pub(crate) fn runtime(&self) -> &R {
        &self.host.runtime
    }

    pub(crate) fn request_limit(&self) -> Duration {
        self.settings.topology.request_timeout
    }

    /// Reads where the lock lives, without taking it. The reply to a read that failed is its error.
    pub(crate) async fn read(&self, reads: &[Command]) -> Result<Vec<Reply>, Fault> {
        read(&self.host, &self.settings.topology, reads, true).await
    }

    /// Whether the lock is valid, and then whether callers may share its turns.
    pub(crate) fn check_turns(&self) -> Result<(), Fault> {
        self.settings.check()?;
        let checked = self.settings.kind.may(|refusals| refusals.turns);
        checked.map_err(|fault| fault.of_lock(Some(self.key())))
    }

    pub(crate) fn waits_for_replicas(&self) -> bool {
        self.settings.replicas.is_some()
    }

    /// What callers must have in common to share its turns: the name, and how many replicas must
    /// have the lock.
    pub(crate) fn line(&self) -> String {
        let replicas = self.settings.replicas.as_ref().map(|replicas| replicas.wait());
        replicas
            .map_or_else(|| self.key().to_owned(), |wait| [self.key(), &wait.join(" ")].join("\n"))
    }

    /// What errors and events call it.
    pub(crate) fn key(&self) -> &str {
        self.settings.name.shown()
    }

    pub(crate) fn lasts(&self) -> Duration {
        self.settings.lasts()
    }

    pub(crate) fn observe(&self, kind: EventKind<'_>) {
        let name = self.key();
        self.runtime().observe(&Event { lock: name, kind });
    }

    /// A call that belongs to no acquisition.
    fn ask(&self, call: Call, session: &Session) -> Ask {
        Ask::new(&self.settings.topology, call.into(), session, TimeLimit::TIMEOUT)
    }

    /// Of a lock that was checked.
    fn claim(&self, token: Token, session: Session) -> Claim {
        Claim {
            lock: self.settings.clone(),
            token,
            session,
            caller: None,
            since: self.runtime().now(),
        }
    }

    /// The lease behind a token that another handler handed over. Sends nothing.
    ///
    /// Renew it to learn whether it is still held, and to give it a deadline and its fence. Until
    /// then [`Lease::remaining`] is zero and the fence is 0. As with any lease, dropping it
    /// releases the lock; [`Lease::into_token`] hands it on.
    ///
    /// Resume it by a lock of the same kind: to a lock of another kind it is lost. A reader that is
    /// resumed as the writer stays a reader.
    ///
    /// Only one handler at a time may use a lease. Hand it over only when all its calls were
    /// answered. Otherwise a request that the other handler sent and gave up on could run between
    /// this handler's writes. If the other handler repeats a write after one of these, the write's
    /// outcome is [unknown](Error::is_outcome_unknown).
    ///
    /// # Errors
    /// [`Error::EntropyUnavailable`] if the host gives no random bytes; [`Error::InvalidArgument`]
    /// as [`Lock::check`] says.
    pub fn resume(&self, token: Token) -> Result<Lease<T, R>, Error> {
        Ok(self.lease(self.resumed(token)?))
    }

    /// Who holds the lock, its time left, and the last fence. All of it may have changed when the
    /// reply arrives, so this is for operators and monitoring. To decide anything, acquire.
    ///
    /// For a [quorum](crate::Client::quorum) it is what a majority says. While too few of its
    /// servers have a say, [`Inspection::quarantine_remaining`] says for how long.
    ///
    /// # Errors
    /// [`Error::WrongType`] if the key holds something else than a lock of this kind; those of the
    /// bridge.
    pub async fn inspect(&self) -> Result<Inspection, Error> {
        let inspected = drive(&self.host, self.inspecting()?).await;
        Ok(inspected.outcome?.inspection()?)
    }

    /// Frees the lock, whoever holds it. Returns whether anybody held it. The holder learns of it
    /// at once if it [listens](Lock::listen), else at its next call or renewal.
    ///
    /// For operators who know that the holder is gone. This deletes the key, whatever is stored
    /// there.
    ///
    /// # Errors
    /// Those of the bridge.
    pub async fn force_release(&self) -> Result<bool, Error> {
        let freed = drive(&self.host, self.operating(Call::force_release)?).await;
        Ok(freed.outcome?.done()?)
    }

    pub(crate) fn resumed(&self, token: Token) -> Result<Hold, Fault> {
        self.settings.check()?;
        let session = Session::random(self.runtime())?;
        Ok(Hold::new(self.claim(token, session), 0, self.settings.ttl, None))
    }

    pub(crate) fn inspecting(&self) -> Result<Ask, Fault> {
        self.settings.check()?;
        let session = Session::random(self.runtime())?;
        let Settings { name, kind, .. } = &*self.settings;
        let call = Call::inspect(name, kind, &session, self.settings.uptime());
        Ok(self.ask(call, &session))
    }

    /// The same lock for work that goes on when its caller is gone.
    pub(crate) fn for_others(self) -> Self {
        Self { is_for_others: true, ..self }
    }

    pub(crate) async fn unless_gone<P>(
        &self,
        asking: impl Future<Output = Result<P, Fault>> + Unpin,
    ) -> Result<P, Fault> {
        let asked = unless_gone(self.gone(), asking).await;
        asked.unwrap_or_else(|| Err(Fault::gone(false).of_lock(Some(self.key()))))
    }

    /// As [`Runtime::gone`], unless that makes no difference.
    pub(crate) fn gone(&self) -> Option<Task> {
        (!self.is_for_others).then(|| self.host.gone())?
    }

    pub(crate) fn lease(&self, hold: Hold) -> Lease<T, R> {
        Lease::new(self.host.clone(), hold, !self.is_for_others)
    }

    pub(crate) fn operating(&self, call: fn(&Name, &Kind, &Session) -> Call) -> Result<Ask, Fault> {
        self.settings.check()?;
        let session = Session::random(self.runtime())?;
        Ok(self.ask(call(&self.settings.name, &self.settings.kind, &session), &session))
    }
}

impl<T, R> Clone for Lock<T, R> {
    fn clone(&self) -> Self {
        Self { host: self.host.clone(), settings: self.settings.clone(), ..*self }
    }
}

impl<T, R> fmt::Debug for Lock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.settings.name.shown())
            .field("ttl", &self.settings.lasts())
            .finish_non_exhaustive()
    }
}

/// How many requests a turn leaves to a wait for the lock, which may follow.
const KEPT: u32 = 5;

/// How many requests the turn itself needs: one that is lost is sent again.
const OWN: u32 = 2;

impl<T: Transport, R: Runtime> Lock<T, R> {
    /// Whether it has turns without the lock. Without writes, replicas have nothing to wait for.
    pub(crate) fn has_turns(&self) -> bool {
        let Settings { kind, replicas, .. } = &*self.settings;
        kind.turns().is_some() && replicas.is_none() && self.max_requests >= OWN + KEPT
    }

    /// The same lock, with so many requests less.
    pub(crate) fn without(&self, requests: u32) -> Self {
        Self { max_requests: self.max_requests.saturating_sub(requests).max(1), ..self.clone() }
    }

    /// Asks once with each claim.
    ///
    /// # Cancel safety
    /// Dropping the future gives the lock up in the background. Whether the writes ran is unknown.
    pub(crate) async fn guess(&self, claim: Claim, guess: &Guess<'_>) -> Result<RunOrLock, Fault> {
        match self.guessing(claim, guess) {
            Some(guess) => drive(&self.host, guess).await,
            None => Ok(RunOrLock::Held(0)),
        }
    }

    /// `None` for a kind that has no turns without the lock.
    pub(crate) fn guessing(&self, claim: Claim, guess: &Guess<'_>) -> Option<RunGuess> {
        let call = Call::turn(claim.subject(), claim.ttl(), guess)?;
        let limit = self.max_requests.saturating_sub(KEPT).max(1);
        Some(RunGuess::new(claim, call, guess, limit))
    }
}

/// Runs commands that only read, together. With `tells_each` the reply to one that failed is its
/// error.
///
/// # Errors
/// As [`reading`]; those of the bridge.
pub(crate) async fn read<T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    topology: &Arc<Topology>,
    reads: &[Command],
    tells_each: bool,
) -> Result<Vec<Reply>, Fault> {
    let reading = reading(&host.runtime, topology, reads, tells_each)?;
    replies(drive(host, reading).await)
}

/// What [`reading`] comes to.
pub(crate) fn replies(completed: Completed) -> Result<Vec<Reply>, Fault> {
    let replies = completed.outcome?.replies()?;
    replies.ok_or_else(script::shape)
}

/// The call for [`read`].
///
/// # Errors
/// [`Error::InvalidArgument`] if one may write, or there are several bridges to read from.
pub(crate) fn reading<R: Runtime>(
    runtime: &R,
    topology: &Arc<Topology>,
    reads: &[Command],
    tells_each: bool,
) -> Result<Ask, Fault> {
    script::check_reads(reads)?;
    let Layout::Single(_) = topology.layout else {
        return Err(Fault::invalid(if cfg!(npm) {
            "there are several bridges to read from; name one by a lock behind it, with `shardOf`"
        } else {
            "there are several bridges to read from; name one by a lock behind it, with `shard_of`"
        }));
    };
    let session = Session::random(runtime)?;
    let call = Call::read(reads).telling_each(tells_each).into();
    Ok(Ask::new(topology, call, &session, TimeLimit::TIMEOUT))
}
