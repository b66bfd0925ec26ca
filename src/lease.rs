//! A lock that is held, until a deadline.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive, drive_in_background};
use crate::error::{Error, Fault};
use crate::operation::{Hold, Why, Write, Writes};
use crate::runtime::{Runtime, Task};
use crate::tasks::{Either, select};
use crate::token::Token;
use crate::transport::Transport;

/// The proof of a held lock, and what may be done under it.
///
/// A lease ends when it is [released](Lease::release) or [committed](Lease::commit), at its
/// deadline, or when it is lost. Dropping a lease releases the lock in the background, if the host
/// lets background work finish: a Worker needs `waitUntil`. Call `release` to be sure.
///
/// Calls on one lease may overlap, but only one [`exec`](Lease::exec), [`commit`](Lease::commit) or
/// [`release`](Lease::release) may be under way at a time. Once a release or a commit was sent,
/// only another of these two may follow, even if its outcome is
/// [unknown](Error::is_outcome_unknown). The time [left](Lease::remaining) is zero from then on.
#[must_use = "dropping a lease gives the lock back"]
pub struct Lease<T: Transport, R: Runtime> {
    pub(crate) host: Arc<Host<T, R>>,
    pub(crate) hold: Arc<Hold>,
    /// It is given back once the caller is gone.
    is_callers: bool,
    _stay: Option<Arc<dyn Send + Sync>>,
}

impl<T: Transport, R: Runtime> Lease<T, R> {
    pub(crate) fn new(host: Arc<Host<T, R>>, hold: Hold, is_callers: bool) -> Self {
        let lease = Self { _stay: host.runtime.stay(), hold: Arc::new(hold), is_callers, host };
        if let Some(gone) = lease.gone() {
            let watch = give_back_once(gone, lease.host.clone(), lease.hold.clone());
            lease.host.runtime.spawn(Box::pin(watch));
        }
        lease
    }

    /// As [`Runtime::gone`], unless it is others that depend on the lease.
    pub(crate) fn gone(&self) -> Option<Task> {
        self.is_callers.then(|| self.host.gone())?
    }

    /// A number that is higher than that of every earlier lease of this name, and below 2^53.
    ///
    /// Storage outside of Redis can refuse a write whose fence is lower than the last one it saw.
    /// That protects it from a holder that outlived its lease
    /// (<https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html>).
    ///
    /// A [resumed](crate::Lock::resume) lease learns its fence by its first renewal or
    /// [`exec`](Lease::exec) that succeeds. Until then this is 0.
    pub fn fence(&self) -> u64 {
        self.hold.fence()
    }

    /// The token of this acquisition. Anyone who has it can use and release the lock.
    pub fn token(&self) -> &Token {
        &self.hold.claim.token
    }

    /// Hands the lease over to another handler, which [resumes](crate::Lock::resume) the token.
    /// Sends nothing, and releases nothing. If the lease is borrowed, as in the work of
    /// [`crate::Lock::run`], use [`Lease::hand_over`].
    ///
    /// Only one handler at a time may use a lease: hand it over when all its calls were answered.
    pub fn into_token(self) -> Token {
        self.hold.leave();
        self.hold.claim.token.clone()
    }

    /// As [`Lease::into_token`], for a borrowed lease. The lease is over here, and goes on where it
    /// is resumed. Work that runs under it ([`Lease::run`]) may go on, but does not learn if the
    /// lease is lost afterwards.
    ///
    /// ```no_run
    /// use edgelock::native::Lock;
    /// use edgelock::{Error, Token};
    ///
    /// async fn begin(lock: &Lock) -> Result<Token, Error> {
    ///     lock.run(async |lease| {
    ///         lease.exec(&[]).await?;
    ///         // The next handler resumes it.
    ///         lease.hand_over()
    ///     })
    ///     .await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] while an `exec`, `commit` or `release` is under way; hand the lease over
    /// when that was answered. If the lease is over, the reason: [`Error::Released`],
    /// [`Error::Lost`] or [`Error::Expired`].
    pub fn hand_over(&self) -> Result<Token, Error> {
        let runtime = &self.host.runtime;
        Ok(self.hold.hand_over(runtime, runtime.now())?)
    }

    /// How long the lease surely lasts yet, by the local clock. Zero once that time is over, the
    /// lease has ended, or a release or a commit was sent.
    ///
    /// In a deployed Worker the clock stands still between requests, so it misses time spent
    /// computing.
    pub fn remaining(&self) -> Duration {
        self.hold.remaining(self.host.runtime.now())
    }

    /// Gives the lease its full ttl again, from now: the ttl that it was acquired with. A
    /// [resumed](crate::Lock::resume) lease gets [`Lock::ttl`](crate::Lock::ttl) if that was set. A
    /// renewal never shortens the time for which Redis keeps the lock.
    ///
    /// # Errors
    /// - [`Error::Lost`] if the lock is no longer held.
    /// - [`Error::Expired`] past the deadline. Nothing is sent then, since another may have been
    ///   the holder in between.
    /// - [`Error::Busy`] while a release or a commit is under way, [`Error::Released`] once one was
    ///   sent.
    /// - Those of the bridge otherwise. The lease is then unchanged, and may be renewed again.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. The ttl in Redis may have been renewed; the deadline
    /// was not.
    pub async fn renew(&self) -> Result<(), Error> {
        Ok(self.write(Writes::Renew(None)).await.map(drop)?)
    }

    /// As [`Lease::renew`], but for `ttl` from now: 4 ms to 366 days, in whole milliseconds. This
    /// ttl counts once: later renewals, and those of [`Lease::run`], give the lease its own ttl
    /// again. The call never shortens the time that is left.
    ///
    /// # Errors
    /// As [`Lease::renew`]. [`Error::InvalidArgument`] if `ttl` is out of that range. Over several
    /// bridges it may be at most the lock's ttl, or
    /// [`Client::restart_quarantine`](crate::Client::restart_quarantine) if longer: otherwise a
    /// server that came back empty would have a say too early.
    ///
    /// # Cancel safety
    /// As [`Lease::renew`].
    pub async fn renew_for(&self, ttl: Duration) -> Result<(), Error> {
        Ok(self.write(Writes::Renew(Some(ttl))).await.map(drop)?)
    }

    /// Makes a reader of a [read/write lock](crate::Client::read_write)'s writer. No other writer
    /// gets the lock in between, and readers may join from then on. The lease keeps its token and
    /// its fence, and is renewed. One request; a repeat does no harm.
    ///
    /// A reader cannot become a writer: two readers that waited for each other to leave would wait
    /// for ever. Release, and acquire to write; another may have written in between.
    ///
    /// # Errors
    /// As [`Lease::renew`]. [`Error::InvalidArgument`] if the lease is not, or no longer, a
    /// writer's: nothing is sent, and the lease goes on as it was. If the outcome is
    /// [unknown](Error::is_outcome_unknown), the lease may be a reader's by now, and after
    /// [`Error::NotReplicated`] it is: call again.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. Then the lease may be a writer's or a reader's, as
    /// above.
    pub async fn downgrade(&self) -> Result<(), Error> {
        Ok(self.write(Writes::Downgrade).await.map(drop)?)
    }

    /// Runs `commands` if the lease is still held, and renews it, in one request. The commands are
    /// applied exactly once, or not at all:
    ///
    /// - after success, [`Error::CommandFailed`] or [`Error::NotReplicated`] they were applied;
    /// - after an error that is [unknown](Error::is_outcome_unknown), they may have been;
    /// - after any other error they were not.
    ///
    /// # Errors
    /// Those of [`Lease::renew`]; after [`Error::Lost`] or [`Error::Expired`] nothing was executed.
    /// [`Error::CommandFailed`] if a command failed; the others were executed. [`Error::Busy`]
    /// while another write of this lease is under way. [`Error::InvalidArgument`] for a command of
    /// over 1,000 words.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. Whether the commands ran is then unknown, but they
    /// do not run after a later write.
    pub async fn exec(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        Ok(self.write(Writes::Exec(commands.to_vec())).await?)
    }

    /// Runs `commands` if the lease is still held, and releases it, in one request. The commands
    /// are applied exactly once or not at all, as with [`Lease::exec`].
    ///
    /// # Errors
    /// As [`Lease::exec`]. After [`Error::CommandFailed`] and [`Error::NotReplicated`] the lease is
    /// released nevertheless. If the outcome is [unknown](Error::is_outcome_unknown), only a
    /// release or another commit may follow. If that call finds the lock not held, the outcome
    /// stays unknown, since the first commit may have run.
    ///
    /// # Cancel safety
    /// As [`Lease::exec`].
    pub async fn commit(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        Ok(self.write(Writes::Commit(commands.to_vec())).await?)
    }

    /// As [`Lease::commit`]. A command that failed does not fail the others: its reply is the
    /// error. The next holder is told what the last `told` commands find, which only read.
    pub(crate) async fn commit_each(
        &self,
        commands: &[Command],
        told: usize,
    ) -> Result<Vec<Reply>, Fault> {
        self.write(Writes::CommitEach(commands.to_vec(), told)).await
    }

    /// Gives the lock back, past the deadline too, since Redis may still keep others out.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lock was no longer held, [`Error::Released`] the second time,
    /// [`Error::Busy`] while another write of this lease is under way. Those of the bridge
    /// otherwise: then try again, which is safe.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. The lock may or may not be released.
    pub async fn release(&self) -> Result<(), Error> {
        Ok(self.write(Writes::Release).await.map(drop)?)
    }

    async fn write(&self, writes: Writes) -> Result<Vec<Reply>, Fault> {
        let write = Write::new(self.hold.clone(), writes);
        drive(&self.host, write).await
    }
}

impl<T: Transport, R: Runtime> Drop for Lease<T, R> {
    fn drop(&mut self) {
        let release = self.hold.give_back();
        self.hold.end(Why::Released);
        if let Some(release) = release {
            drive_in_background(&self.host, release);
        }
    }
}

/// Gives the lease back once the caller is gone and no write is under way, if it is not over
/// before.
async fn give_back_once<T: Transport, R: Runtime>(
    gone: Task,
    host: Arc<Host<T, R>>,
    hold: Arc<Hold>,
) {
    let over = hold.watchers.until(|| hold.is_over());
    if let Either::Left(()) = select(over, gone).await {
        return;
    }
    hold.watchers.until(|| hold.is_idle()).await;
    if let Some(release) = hold.give_back() {
        hold.end(Why::Released);
        drive(&host, release).await;
    }
}

/// Without the token.
impl<T: Transport, R: Runtime> fmt::Debug for Lease<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", &self.hold.claim.shown())
            .field("fence", &self.fence())
            .finish_non_exhaustive()
    }
}
