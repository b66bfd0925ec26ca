//! A lock that is held, until a deadline.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive, drive_in_background};
use crate::error::Error;
use crate::operation::{Hold, Write};
use crate::runtime::Runtime;
use crate::token::Token;
use crate::transport::Transport;

/// The proof of a held lock, and what may be done under it.
///
/// A lease ends by [`release`](Lease::release) or [`commit`](Lease::commit), by its deadline, or by being lost. Dropping it
/// before releases it in the background, as far as the host lets background work finish: in a Worker it must be given
/// `waitUntil`. To know that it was released, release it.
///
/// Calls on one lease may overlap, except that of [`exec`](Lease::exec), [`commit`](Lease::commit) and
/// [`release`](Lease::release) one at a time runs. Once a release or a commit was sent, only these two may follow, also if its
/// outcome is [unknown](Error::is_outcome_unknown): nothing [remains](Lease::remaining) of the lease then.
#[must_use = "dropping a lease gives the lock back"]
pub struct Lease<T: Transport, R: Runtime> {
    host: Arc<Host<T, R>>,
    hold: Arc<Hold>,
}

impl<T: Transport, R: Runtime> Lease<T, R> {
    pub(crate) fn new(host: Arc<Host<T, R>>, hold: Hold) -> Self {
        let hold = Arc::new(hold);
        Self { host, hold }
    }

    /// A number that is higher than that of every earlier lease of this name, below 2^53. Storage outside of Redis can refuse
    /// a write whose fence is lower than the last it saw, and so be safe from a holder that outlived its lease
    /// (<https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html>).
    ///
    /// A [resumed](crate::Lock::resume) lease learns it by its first renewal or [`exec`](Lease::exec), and has 0 until then.
    pub fn fence(&self) -> u64 {
        self.hold.fence()
    }

    /// The proof of this acquisition.
    pub fn token(&self) -> &Token {
        &self.hold.claim.token
    }

    /// Hands the lease over: to whoever gets the token and [resumes](crate::Lock::resume) it. Sends nothing, and releases nothing.
    /// Where the lease is borrowed, as by the work of [`crate::Lock::run`], there is [`Lease::hand_over`].
    ///
    /// One handler at a time may have it: hand it over when its calls have been answered, and use it here no more.
    pub fn into_token(self) -> Token {
        self.hold.leave();
        self.hold.claim.token.clone()
    }

    /// As [`Lease::into_token`]: the lease is over here, and goes on where it is resumed. Work under it that is [kept](Lease::run)
    /// may go on, and is not told if the lease is lost then.
    ///
    /// ```
    /// # #[cfg(feature = "native-no-tls")]
    /// # mod example {
    /// use edgelock::native::Lock;
    /// use edgelock::{Error, Token};
    ///
    /// async fn begin(lock: &Lock) -> Result<Token, Error> {
    ///     lock.run(async |lease| {
    ///         lease.exec(&[]).await?;
    ///         // Whoever goes on resumes it.
    ///         lease.hand_over()
    ///     })
    ///     .await
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] while an `exec`, `commit` or `release` is under way: hand it over when that has been answered. Why it is
    /// over, if it is: [`Error::Released`], [`Error::Lost`].
    pub fn hand_over(&self) -> Result<Token, Error> {
        let runtime = &self.host.runtime;
        self.hold.hand_over(runtime, runtime.now())
    }

    /// How long the lease surely lasts yet, by the local clock; zero once that is over, the lease has ended, or a release or a
    /// commit was sent.
    ///
    /// In a deployed Worker the clock stands still between requests, so time spent computing is not seen.
    pub fn remaining(&self) -> Duration {
        self.hold.remaining(self.host.runtime.now())
    }

    /// Gives the lease its ttl again, from now: that of its acquisition. A [resumed](crate::Lock::resume) lease is given
    /// [`Lock::ttl`](crate::Lock::ttl) if that was set. Where Redis keeps the lock for longer, that is not cut short.
    ///
    /// # Errors
    /// [`Error::Lost`] if it is no longer held, [`Error::Expired`] past the deadline: then it is not tried, since another may
    /// have been the holder in between. [`Error::Busy`] while a release or a commit is under way, [`Error::Released`] once one
    /// was sent. Those of the bridge otherwise; the lease is then as it was, and may be renewed again.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. The ttl in Redis may have been renewed; the deadline was not.
    pub async fn renew(&self) -> Result<(), Error> {
        self.write(Write::renew(self.hold.clone())).await.map(drop)
    }

    /// As [`Lease::renew`], for `ttl` from now in place of its own: 4 ms to 366 days, in whole milliseconds. That is once; later renewals,
    /// and those of [`Lease::run`], give the lease its own ttl again. What it has longer is not cut short.
    ///
    /// # Errors
    /// As [`Lease::renew`]. [`Error::InvalidArgument`] out of that range; over several bridges, also for longer than both the lock's ttl
    /// and [`Client::restart_quarantine`](crate::Client::restart_quarantine): a server that came back empty would have a say too early.
    ///
    /// # Cancel safety
    /// As [`Lease::renew`].
    pub async fn renew_for(&self, ttl: Duration) -> Result<(), Error> {
        let renewal = Write::renew_for(self.hold.clone(), ttl);
        self.write(renewal).await.map(drop)
    }

    /// Runs `commands` if the lease is still held, and renews it, in one request. They are applied exactly once, or, with an
    /// error other than [`Error::CommandFailed`] and [`Error::NotReplicated`] that is not [unknown](Error::is_outcome_unknown), not at all.
    ///
    /// # Errors
    /// Those of [`Lease::renew`], with nothing executed if it is [`Error::Lost`] or [`Error::Expired`]. [`Error::CommandFailed`]
    /// if a command failed; the others were executed. [`Error::Busy`] while another write of this lease is under way.
    /// [`Error::InvalidArgument`] for a command of over 1,000 words.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request, and whether the commands ran is unknown. They do not run after a later write.
    pub async fn exec(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        let exec = Write::exec(self.hold.clone(), commands.to_vec());
        self.write(exec).await
    }

    /// Runs `commands` if the lease is still held, and releases it, in one request. They are applied exactly once, or not at
    /// all, as with [`Lease::exec`].
    ///
    /// # Errors
    /// As [`Lease::exec`]. After [`Error::CommandFailed`] the lease is released all the same. If the outcome is
    /// [unknown](Error::is_outcome_unknown), only a release or another commit may follow. Should that one find the lock not held, the
    /// outcome stays unknown: the first may have been executed.
    ///
    /// # Cancel safety
    /// As [`Lease::exec`].
    pub async fn commit(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        let commit = Write::commit(self.hold.clone(), commands.to_vec());
        self.write(commit).await
    }

    /// Gives the lock back. Past the deadline it is tried too, since Redis may still keep others out.
    ///
    /// # Errors
    /// [`Error::Lost`] if it was no longer held, [`Error::Released`] the second time, [`Error::Busy`] while another write of this
    /// lease is under way. Those of the bridge otherwise; releasing again is then safe, and worth trying.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request; the lock may or may not be released.
    pub async fn release(&self) -> Result<(), Error> {
        let release = Write::release(self.hold.clone());
        self.write(release).await.map(drop)
    }

    /// Whether these can be sent at all.
    pub(crate) fn check_writes(&self, commands: &[Command]) -> Result<(), Error> {
        self.hold.claim.check_commands(commands)
    }

    async fn write(&self, write: Write) -> Result<Vec<Reply>, Error> {
        drive(&self.host, write).await
    }

    pub(crate) const fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    pub(crate) const fn host(&self) -> &Arc<Host<T, R>> {
        &self.host
    }
}

impl<T: Transport, R: Runtime> Drop for Lease<T, R> {
    fn drop(&mut self) {
        if let Some(release) = self.hold.give_back() {
            drive_in_background(&self.host, release);
        }
    }
}

/// Without the token.
impl<T: Transport, R: Runtime> fmt::Debug for Lease<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", &self.hold.claim.name.key())
            .field("fence", &self.fence())
            .finish_non_exhaustive()
    }
}
