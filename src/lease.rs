//! A lock that is held, until a deadline.

mod phase;
mod standing;
mod terms;
mod write;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::command::{Command, Reply};
use crate::drive::{Host, drive_in_background};
use crate::error::Error;
use crate::event::EventKind;
use crate::operation::{Claim, GiveBack, Until};
use crate::runtime::{Instant, Runtime};
use crate::script::{Call, Write};
use crate::token::Token;
use crate::transport::Transport;
use crate::ttl;
use phase::{Aim, State, Writing, locked};

pub(crate) use phase::{Standing, Why};

pub(crate) use terms::Terms;

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
    claim: Claim,
    terms: Terms,
    state: Mutex<State>,
}

/// Nothing of a lease is written behind its release.
const LAST_WRITE: u64 = (1 << 53) - 1;

impl<T: Transport, R: Runtime> Lease<T, R> {
    /// Without a deadline it is a resumed lease.
    pub(crate) const fn new(
        host: Arc<Host<T, R>>,
        claim: Claim,
        terms: Terms,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            host,
            claim,
            terms,
            state: Mutex::new(State::new(deadline)),
        }
    }

    /// A number that is higher than that of every earlier lease of this name, below 2^53. Storage outside of Redis can refuse
    /// a write whose fence is lower than the last it saw, and so be safe from a holder that outlived its lease
    /// (<https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html>).
    ///
    /// A [resumed](crate::Lock::resume) lease learns it by its first renewal or [`exec`](Lease::exec), and has 0 until then.
    pub fn fence(&self) -> u64 {
        self.terms.fence()
    }

    /// The proof of this acquisition.
    pub const fn token(&self) -> &Token {
        &self.claim.token
    }

    /// Hands the lease over: to whoever gets the token and [resumes](crate::Lock::resume) it. Sends nothing, and releases nothing.
    /// Where the lease is borrowed, as by the work of [`crate::Lock::run`], there is [`Lease::hand_over`].
    ///
    /// One handler at a time may have it: hand it over when its calls have been answered, and use it here no more.
    pub fn into_token(self) -> Token {
        self.claim.use_up();
        self.state().end(Why::Released);
        self.claim.token.clone()
    }

    /// As [`Lease::into_token`]: the lease is over here, and goes on where it is resumed. Work under it that is [kept](Lease::run)
    /// may go on, and is not told if the lease is lost then.
    ///
    /// ```
    /// use edgelock::{Error, Lock, Runtime, Token, Transport};
    ///
    /// async fn begin<T: Transport, R: Runtime>(lock: &Lock<T, R>) -> Result<Token, Error> {
    ///     lock.run(async |lease| {
    ///         lease.exec(&[]).await?;
    ///         // Whoever goes on resumes it.
    ///         lease.hand_over()
    ///     })
    ///     .await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] while an `exec`, `commit` or `release` is under way: hand it over when that has been answered. Why it is
    /// over, if it is: [`Error::Released`], [`Error::Lost`].
    pub fn hand_over(&self) -> Result<Token, Error> {
        self.check_own()?;
        let handed = self.state().hand_over();
        handed.map_err(|why| self.error(why))?;
        Ok(self.claim.token.clone())
    }

    /// How long the lease surely lasts yet, by the local clock; zero once that is over, the lease has ended, or a release or a
    /// commit was sent.
    ///
    /// In a deployed Worker the clock stands still between requests, so time spent computing is not seen.
    pub fn remaining(&self) -> Duration {
        self.state().remaining(self.now())
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
        self.prolong(None).await
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
        ttl::check(ttl)?;
        self.claim.check_renewal(ttl)?;
        self.prolong(Some(ttl)).await
    }

    async fn prolong(&self, ttl: Option<Duration>) -> Result<(), Error> {
        if !self.claim.is_own() {
            return Err(self.pass_on());
        }
        let until = self.check_held()?;
        let write = Write {
            session: &self.claim.session,
            number: 0,
            fence: self.known_fence(),
            commands: &[],
        };
        self.write(&write, ttl, until).await.map(drop)
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
        self.claim.check_commands(commands)?;
        let until = self.check_held()?;
        let aim = Aim {
            has_commands: !commands.is_empty(),
            is_last: false,
        };
        let writing = self.begin(aim)?;
        let write = Write {
            session: &self.claim.session,
            number: writing.number,
            fence: self.known_fence(),
            commands,
        };
        let outcome = self.write(&write, None, until).await;
        writing.settle(outcome.map(Some))
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
        self.check_writes(commands)?;
        let until = self.check_last().and_then(|()| self.check_time())?;
        let aim = Aim {
            has_commands: !commands.is_empty(),
            is_last: true,
        };
        let writing = self.begin(aim)?;
        let number = writing.number;
        self.finish(writing, until, number, commands).await
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
        self.check_last()?;
        let aim = Aim {
            has_commands: false,
            is_last: true,
        };
        let writing = self.begin(aim)?;
        self.finish(writing, Until::Timeout, LAST_WRITE, &[])
            .await
            .map(drop)
    }

    /// Whether these can be sent at all.
    pub(crate) fn check_writes(&self, commands: &[Command]) -> Result<(), Error> {
        self.claim.check_commands(commands)
    }

    pub(crate) fn error(&self, why: Why) -> Error {
        why.about(self.claim.lock())
    }

    fn begin(&self, aim: Aim) -> Result<Writing<'_, T, R>, Error> {
        self.check_own()?;
        Writing::begin(self, aim).map_err(|why| self.error(why))
    }

    /// From now on nobody else can go on with its acquisition.
    ///
    /// # Errors
    /// [`Error::Lost`] if somebody has.
    fn check_own(&self) -> Result<(), Error> {
        match self.claim.use_up() {
            true => Ok(()),
            false => Err(self.pass_on()),
        }
    }

    /// Another goes on with its acquisition.
    fn pass_on(&self) -> Error {
        self.state().end(Why::Lost);
        self.tell_loss();
        self.error(Why::Lost)
    }

    fn now(&self) -> Instant {
        self.host.runtime.now()
    }

    fn lose(&self) {
        self.claim.use_up();
        self.state().end(Why::Lost);
        self.tell_loss();
        // A minority may still keep others out.
        if self.claim.kind.is_voted() {
            let call = Call::abandon(self.claim.subject(), None);
            let abandon = GiveBack::asked_for(self.claim.clone(), call);
            drive_in_background(&self.host, abandon);
        }
    }

    fn tell_loss(&self) {
        let is_news = self.state().tell_lost();
        if is_news {
            let held = self.now().since(self.claim.since);
            self.observe(EventKind::Lost { held });
        }
    }

    fn observe(&self, kind: EventKind<'_>) {
        self.claim.observe(&self.host.runtime, kind);
    }

    /// What renewals give it, as far as that is known.
    pub(crate) fn ttl(&self) -> Duration {
        self.terms.ttl().unwrap_or(self.claim.ttl)
    }

    pub(crate) fn runtime(&self) -> &R {
        &self.host.runtime
    }

    pub(crate) const fn claim(&self) -> &Claim {
        &self.claim
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

impl<T: Transport, R: Runtime> Drop for Lease<T, R> {
    fn drop(&mut self) {
        let state = self.state();
        let (is_over, tells_loss) = (state.is_over(), state.tells_loss());
        drop(state);
        if !is_over && self.claim.is_own() {
            let write = Write {
                session: &self.claim.session,
                number: LAST_WRITE,
                fence: 0,
                commands: &[],
            };
            let call = Call::release(self.claim.subject(), &write);
            let release = GiveBack::lease(self.claim.clone(), call, tells_loss);
            drive_in_background(&self.host, release);
        }
    }
}

/// Without the token.
impl<T: Transport, R: Runtime> fmt::Debug for Lease<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", &self.claim.name.key())
            .field("fence", &self.fence())
            .finish_non_exhaustive()
    }
}
