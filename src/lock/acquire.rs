//! Asking for a lock.

use std::time::Duration;

use super::Lock;
use crate::acquisition::Acquisition;
use crate::command::{Command, Reply};
use crate::drive::{drive, drive_reading};
use crate::error::Error;
use crate::lease::Lease;
use crate::operation::{Acquire, AcquireOptions, Claim, Granted, TryAcquire, check_commands};
use crate::runtime::Runtime;
use crate::script;
use crate::token::Session;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Lock<T, R> {
    /// Takes the lock if it is free. One request, and only one unless requests get lost.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] as said by [`Lock::check`]. [`Error::Held`] if another has it. [`Error::Quarantined`] if too many servers of a quorum have no say yet.
    /// [`Error::Expired`] if the answer took longer than the ttl. Those of the bridge
    /// otherwise; where [`Error::is_outcome_unknown`], the lock is abandoned in the background, and a request that arrives late cannot
    /// take it.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request and abandons the lock in the background.
    pub async fn try_acquire(&self) -> Result<Lease<T, R>, Error> {
        self.acquire_within(None, &[]).await.map(|(lease, _)| lease)
    }

    /// As [`Lock::try_acquire`], and reads in the same request, whether it takes the lock or finds that another has it: then there is no
    /// lease. Which of the two, and what the reads found, are of one instant.
    ///
    /// For who takes the lock only to change what the reads find, and need not wait where they say enough.
    ///
    /// ```
    /// # #[cfg(feature = "native-no-tls")]
    /// # mod example {
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
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Lock::try_acquire`], but none where another has the lock; [`Error::InvalidArgument`] if a command may write, since the
    /// request is sent again when its reply is lost; [`Error::CommandFailed`] if a read failed, with the lock given back if it was had.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`].
    pub async fn try_acquire_and_read(
        &self,
        reads: &[Command],
    ) -> Result<(Option<Lease<T, R>>, Vec<Reply>), Error> {
        Ok(match drive(&self.host, self.trying(reads)?).await? {
            Ok(granted) => {
                let (lease, replies) = self.granted(granted);
                (Some(lease), replies)
            }
            Err(replies) => (None, replies),
        })
    }

    /// Takes the lock as soon as it is free, for up to [`Lock::wait`]. Whoever releases it hands it over to who waits first and
    /// listens; where the bridge or the transport cannot push, or a message gets lost, it is found by asking from time to time.
    ///
    /// # Errors
    /// As [`Lock::try_acquire`]; [`Error::Quarantined`] only if that lasts for longer than the wait, and then at once; [`Error::Held`]
    /// when the wait is over, or [`Lock::max_requests`] are sent. By then the request that
    /// leaves the queue is with the transport. Until it arrives, half a round trip later, a release may still hand over to this
    /// call; then its arrival hands the lock on.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`]; the queue is left in the background too. [`Runtime::spawn`] has the request for that when the
    /// future is dropped.
    pub async fn acquire(&self) -> Result<Lease<T, R>, Error> {
        self.acquire_within(Some(self.wait), &[])
            .await
            .map(|(lease, _)| lease)
    }

    /// As [`Lock::acquire`], and reads what the critical section needs in the same request, under the lock.
    ///
    /// # Errors
    /// As [`Lock::acquire`]; [`Error::InvalidArgument`] if a command may write, since an acquisition is sent again when its
    /// reply is lost; [`Error::CommandFailed`] if a read failed, with the lock given back.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`].
    pub async fn acquire_and_read(
        &self,
        reads: &[Command],
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        self.acquire_within(Some(self.wait), reads).await
    }

    /// As [`Lock::acquire_and_read`], for work that changes while it waits, and that another caller can take over.
    ///
    /// `reads` is asked before each request that may take the lock, and when the lock is handed over. So work that comes in while
    /// the lock is waited for can have its reads in the request that has it; the replies are to the reads that were said last. And
    /// whoever asks for the same `acquisition` after this call goes on with what this one had ([`Acquisition`]).
    ///
    /// ```
    /// # #[cfg(feature = "native-no-tls")]
    /// # mod example {
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
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Lock::acquire_and_read`]. [`Error::Lost`] if another caller has gone on with the acquisition.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`]; nothing is abandoned if another caller has gone on with the acquisition.
    pub async fn acquire_as(
        &self,
        acquisition: &Acquisition,
        reads: impl FnMut() -> Vec<Command>,
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        let acquire = self.acquiring_as(acquisition)?;
        let granted = drive_reading(&self.host, acquire, reads).await?;
        Ok(self.granted(granted))
    }

    /// Runs `work` under the lock, which is renewed every third of its ttl for as long as that takes, and released at the end
    /// whatever happened.
    ///
    /// When the lease is lost the work is stopped, that is, its future is dropped: at the next renewal at the latest, and at the
    /// deadline even if no answer comes any more. What it returns is returned as it is; only if it was done with all well, but the
    /// lock was not its own any more when it was to be released, is that [`Error::Lost`].
    ///
    /// ```
    /// # #[cfg(feature = "native-no-tls")]
    /// # mod example {
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
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the work. As [`Lock::acquire`], with the work not begun. [`Error::Lost`], [`Error::Expired`] if the lease
    /// was lost, [`Error::MaxHoldExceeded`] after [`Lock::max_hold`]: the work was stopped, and what it had written before stands. An
    /// [unknown](Error::is_outcome_unknown) one instead if a write of its own was under way then, or the outcome of its last one is unknown. A
    /// release or a commit is let come to its end before the work is stopped.
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

    /// Whether `reads` can ride on an acquisition of this lock, as [`Lock::acquire_and_read`] asks, and the lock can be asked for
    /// ([`Lock::check`]). Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if they cannot.
    pub fn check_reads(&self, reads: &[Command]) -> Result<(), Error> {
        self.check()?;
        script::check_reads(reads)?;
        check_commands(&self.kind, reads)
    }

    async fn acquire_within(
        &self,
        wait: Option<Duration>,
        reads: &[Command],
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        let acquire = self.acquiring(wait, reads)?;
        let granted = drive(&self.host, acquire).await?;
        Ok(self.granted(granted))
    }

    fn granted(&self, granted: Granted) -> (Lease<T, R>, Vec<Reply>) {
        let (hold, replies) = granted.into_hold();
        (Lease::new(self.host.clone(), hold), replies)
    }

    pub(crate) fn acquiring(
        &self,
        wait: Option<Duration>,
        reads: &[Command],
    ) -> Result<Acquire, Error> {
        self.check_reads(reads)?;
        let patience = self.patience_of(wait)?;
        Ok(Acquire::reading(self.new_claim()?, patience, reads))
    }

    pub(crate) fn trying(&self, reads: &[Command]) -> Result<TryAcquire, Error> {
        self.check_reads(reads)?;
        let patience = AcquireOptions {
            reads_in_any_case: true,
            ..self.patience_of(None)?
        };
        Ok(TryAcquire::reading(self.new_claim()?, patience, reads))
    }

    pub(crate) fn acquiring_as(&self, acquisition: &Acquisition) -> Result<Acquire, Error> {
        self.check()?;
        let patience = self.patience_of(Some(self.wait))?;
        let runtime = self.runtime();
        // Over several bridges each try has a token of its own.
        let claim = if self.kind.is_voted() {
            self.new_claim()?
        } else {
            let caller = acquisition.ask(runtime)?;
            let claim = self.claim(caller.token(), caller.session(runtime)?)?;
            Claim {
                caller: Some(caller),
                ..claim
            }
        };
        Ok(Acquire::inquiring(claim, patience))
    }

    fn patience_of(&self, wait: Option<Duration>) -> Result<AcquireOptions, Error> {
        if self.fair {
            self.kind.check_fair()?;
        }
        Ok(AcquireOptions {
            wait: wait.filter(|wait| !wait.is_zero()),
            max_requests: self.max_requests,
            fair: self.fair,
            reads_in_any_case: false,
        })
    }

    fn new_claim(&self) -> Result<Claim, Error> {
        let (session, token) = Session::with_token(self.runtime())?;
        self.claim(token, session)
    }
}
