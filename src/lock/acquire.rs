//! Acquires a lock.

use std::pin::pin;
use std::time::Duration;

use super::Lock;
use crate::acquisition::Acquisition;
use crate::command::{Command, Reply};
use crate::drive::{drive, drive_reading};
use crate::error::{Error, Fault};
use crate::lease::Lease;
use crate::operation::{Acquire, AcquireOptions, Claim, Granted, OfTurn, Taken};
use crate::runtime::Runtime;
use crate::token::Session;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Lock<T, R> {
    /// Takes the lock if it is free. Sends one request; more only if requests get lost.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] as [`Lock::check`] says. [`Error::Held`] if another holder has
    /// the lock. [`Error::Quarantined`] if too many servers of a quorum have no say yet.
    /// [`Error::Expired`] if the reply took longer than the ttl. Those of the bridge otherwise. If
    /// [`Error::is_outcome_unknown`], the client gives the lock up in the background. A request
    /// that arrives later cannot take the lock.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request, and gives the lock up in the background.
    pub async fn try_acquire(&self) -> Result<Lease<T, R>, Error> {
        Ok(self.acquire_within(None, &[]).await?.0)
    }

    /// As [`Lock::try_acquire`], and reads in the same request. The reads run in either case. If
    /// another holder has the lock, there is no lease. The outcome and the replies are of the same
    /// instant.
    ///
    /// Use it if the lock is needed only to change what the reads find, and the replies may be
    /// enough.
    ///
    /// ```no_run
    /// use edgelock::native::Lock;
    /// use edgelock::{Command, Error};
    ///
    /// /// Begins a report, unless somebody is at it. How many pages are done.
    /// async fn begin(lock: &Lock) -> Result<Option<i64>, Error> {
    ///     let pages = "{report}:pages";
    ///     let (lease, replies) = lock.try_acquire_and_read(&[Command::new("GET").key(pages)]).await?;
    ///     if let Some(lease) = lease {
    ///         lease.commit(&[Command::new("SET").key(pages).arg(0)]).await?;
    ///     }
    ///     Ok(replies[0].as_i64())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Lock::try_acquire`], except that a held lock is no error. [`Error::InvalidArgument`] if
    /// a command may write, since the request is sent again when its reply is lost.
    /// [`Error::CommandFailed`] if a read failed; the lock is then given back if it was taken.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`].
    pub async fn try_acquire_and_read(
        &self,
        reads: &[Command],
    ) -> Result<(Option<Lease<T, R>>, Vec<Reply>), Error> {
        Ok(match drive(&self.host, self.trying(reads)?).await? {
            Taken::Held(replies) => (None, replies),
            taken => {
                let (lease, replies) = self.granted(taken.lock()?);
                (Some(lease), replies)
            }
        })
    }

    /// Takes the lock as soon as it is free, and waits up to [`Lock::wait_timeout`] for that.
    ///
    /// A release hands the lock to the first waiter that listens. If the bridge or the transport
    /// cannot push, or a message gets lost, the waiter finds the lock by asking from time to time.
    ///
    /// # Errors
    /// As [`Lock::try_acquire`], except: [`Error::Held`] when the wait is over or
    /// [`Lock::max_requests`] were sent; [`Error::Quarantined`] only if the quarantine outlasts the
    /// wait, and then at once.
    ///
    /// When the error is returned, the transport has the request that leaves the queue. Until that
    /// request arrives, half a round trip later, a release may still hand the lock to this call.
    /// The request then hands the lock on.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`]. The waiter also leaves the queue in the background: the request
    /// for that goes to [`Runtime::spawn`] when the future is dropped.
    pub async fn acquire(&self) -> Result<Lease<T, R>, Error> {
        Ok(self.acquire_within(Some(self.wait), &[]).await?.0)
    }

    /// As [`Lock::acquire`], and reads what the critical section needs in the same request, under
    /// the lock.
    ///
    /// # Errors
    /// As [`Lock::acquire`]. [`Error::InvalidArgument`] if a command may write, since an
    /// acquisition is sent again when its reply is lost. [`Error::CommandFailed`] if a read failed;
    /// the lock is then given back.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`].
    pub async fn acquire_and_read(
        &self,
        reads: &[Command],
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        Ok(self.acquire_within(Some(self.wait), reads).await?)
    }

    /// As [`Lock::acquire_and_read`], for work that changes while it waits, and that another caller
    /// can take over.
    ///
    /// `reads` is called before each request that may take the lock, and when the lock is handed
    /// over. So work that arrives during the wait can still have its reads in the request that
    /// takes the lock. The replies belong to the last commands that `reads` returned.
    ///
    /// A later call with the same `acquisition` takes over what this call had ([`Acquisition`]).
    ///
    /// ```no_run
    /// use edgelock::native::Lock;
    /// use edgelock::{Acquisition, Command, Error};
    ///
    /// async fn count(lock: &Lock) -> Result<(), Error> {
    ///     let counters = std::sync::Mutex::new(vec!["{page}:visits"]); // Others add to them meanwhile.
    ///     let read = |key: &&str| Command::new("GET").key(key);
    ///     let reads = || counters.lock().unwrap().iter().map(read).collect();
    ///     let (lease, _) = lock.acquire_as(&Acquisition::new(), reads).await?;
    ///     lease.release().await
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Lock::acquire_and_read`]. [`Error::Lost`] if another caller has taken the acquisition
    /// over.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`]. Nothing is given up if another caller has taken the acquisition
    /// over.
    pub async fn acquire_as(
        &self,
        acquisition: &Acquisition,
        reads: impl FnMut() -> Vec<Command>,
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        let acquire = self.acquiring_as(acquisition, None)?;
        let asking = pin!(drive_reading(&self.host, acquire, reads));
        Ok(self.granted(self.unless_gone(asking).await?.lock()?))
    }

    /// As [`Lock::acquire_as`], for a shared turn.
    pub(crate) async fn acquire_for_turn(
        &self,
        acquisition: &Acquisition,
        turn: OfTurn,
        reads: impl FnMut() -> Vec<Command>,
    ) -> Result<Granted, Fault> {
        let acquire = self.acquiring_as(acquisition, Some(turn))?;
        drive_reading(&self.host, acquire, reads).await?.lock()
    }

    /// Runs `work` under the lock. Renews the lock every third of its ttl while the work runs, and
    /// releases it at the end, whatever happened.
    ///
    /// If the lease is lost, this drops the work's future: at the next renewal at the latest, and
    /// at the deadline even if no reply comes. Otherwise this returns what the work returns, with
    /// one exception. If the work succeeds, but the release finds the lock lost, or gets no answer
    /// past the deadline, the result is [`Error::Lost`] or [`Error::Expired`].
    ///
    /// ```no_run
    /// use edgelock::native::Lock;
    /// use edgelock::{Command, Error};
    ///
    /// async fn rebuild(lock: &Lock) -> Result<u32, Error> {
    ///     lock.run(async |lease| {
    ///         let pages = 3; // However long that takes.
    ///         lease.exec(&[Command::new("SET").key("{report}:pages").arg(pages)]).await?;
    ///         Ok(pages)
    ///     })
    ///     .await
    /// }
    /// ```
    ///
    /// # Errors
    /// - Those of the work.
    /// - As [`Lock::acquire`]; the work was not begun.
    /// - [`Error::Lost`] or [`Error::Expired`] if the lease was lost, [`Error::MaxHoldExceeded`]
    ///   after [`Lock::max_hold`]. The work was stopped, and what it had written before stands.
    /// - An [unknown](Error::is_outcome_unknown) one in place of these, if a write of the work was
    ///   under way when the work was stopped, or if the outcome of its last write is unknown.
    ///
    /// A release or a commit may finish before the work is stopped.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and releases the lock in the background.
    pub async fn run<O, E: From<Error>>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<O, E>,
    ) -> Result<O, E> {
        let lease = self.acquire().await?;
        lease.run(self.max_hold, work(&lease)).await
    }

    /// Whether the lock is valid ([`Lock::check`]), and whether `reads` can be sent with an
    /// acquisition of it, as [`Lock::acquire_and_read`] does. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if not.
    pub fn check_reads(&self, reads: &[Command]) -> Result<(), Error> {
        Ok(self.settings.check_reads(reads)?)
    }

    async fn acquire_within(
        &self,
        wait: Option<Duration>,
        reads: &[Command],
    ) -> Result<(Lease<T, R>, Vec<Reply>), Fault> {
        let asking = pin!(drive(&self.host, self.acquiring(wait, reads)?));
        Ok(self.granted(self.unless_gone(asking).await?.lock()?))
    }

    pub(crate) fn granted(&self, granted: Granted) -> (Lease<T, R>, Vec<Reply>) {
        let (hold, replies) = granted.into_hold();
        (self.lease(hold), replies)
    }

    pub(crate) fn acquiring(
        &self,
        wait: Option<Duration>,
        reads: &[Command],
    ) -> Result<Acquire, Fault> {
        self.settings.check_reads(reads)?;
        let options = self.options_of(wait);
        Ok(Acquire::new(self.new_claim()?, options, Some(reads)))
    }

    pub(crate) fn trying(&self, reads: &[Command]) -> Result<Acquire, Fault> {
        self.settings.check_reads(reads)?;
        let options = AcquireOptions { reads_in_any_case: true, ..self.options_of(None) };
        Ok(Acquire::new(self.new_claim()?, options, Some(reads)))
    }

    pub(crate) fn acquiring_as(
        &self,
        acquisition: &Acquisition,
        turn: Option<OfTurn>,
    ) -> Result<Acquire, Fault> {
        self.settings.check()?;
        let options = AcquireOptions { turn, ..self.options_of(Some(self.wait)) };
        let runtime = self.runtime();
        // Over several bridges each try has a new token.
        let kind = &self.settings.kind;
        let claim = if kind.is_voted() {
            self.new_claim()?
        } else {
            let caller = acquisition.ask(runtime, kind.wants());
            let caller = caller.map_err(|error| error.of_lock(Some(self.key())))?;
            let claim = self.claim(caller.token(), caller.session(runtime)?);
            Claim { caller: Some(caller), ..claim }
        };
        Ok(Acquire::new(claim, options, None))
    }

    fn options_of(&self, wait: Option<Duration>) -> AcquireOptions {
        AcquireOptions {
            wait: wait.filter(|wait| !wait.is_zero()),
            max_requests: self.max_requests,
            fair: self.settings.fair,
            reads_in_any_case: false,
            turn: None,
        }
    }

    pub(crate) fn new_claim(&self) -> Result<Claim, Fault> {
        self.settings.check()?;
        let (session, token) = Session::with_token(self.runtime())?;
        Ok(self.claim(token, session))
    }
}
