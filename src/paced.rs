//! Calls that are paced. A throttle lets one call through in a window, and tells the others when
//! the next may go. A debounce lets through the last of several calls that come close together.

use std::fmt;
use std::time::Duration;

use crate::drive::drive;
use crate::error::{Error, Fault};
use crate::lock::Lock;
use crate::operation::{Pass, Settle};
use crate::runtime::Runtime;
use crate::script::LONGEST_DEBOUNCE;
use crate::transport::Transport;
use crate::ttl;

/// Lets the first call through, and no other until the window is over. Made by
/// [`Client::throttle`](crate::Client::throttle).
///
/// A cron job that fires in every region runs once. A mail goes out once in an hour, however often
/// its cause happens. Each call costs one request.
///
/// The window begins when a call passes, by Redis's clock. It is not a lock: nobody holds it, and
/// the work that follows may outlast it.
///
/// ```no_run
/// use std::time::Duration;
/// use edgelock::native::Client;
/// use edgelock::{Error, ThrottleOutcome};
///
/// async fn send_report(client: &Client) -> Result<(), Error> {
///     let throttle = client.throttle("report", Duration::from_secs(3_600));
///     match throttle.try_pass().await? {
///         ThrottleOutcome::Passed => println!("it is sent now"),
///         ThrottleOutcome::Throttled { retry_after } => println!("not for {retry_after:?}"),
///     }
///     Ok(())
/// }
/// ```
pub struct Throttle<T, R> {
    pub(crate) lock: Lock<T, R>,
    window: Duration,
}

/// Whether a call went through.
///
/// ```
/// use std::time::Duration;
/// use edgelock::ThrottleOutcome::{Passed, Throttled};
///
/// assert!(Passed.is_passed());
/// assert!(!Throttled { retry_after: Duration::from_secs(60) }.is_passed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThrottleOutcome {
    /// This call goes through, and its window has begun.
    Passed,
    /// Another call's window still lasts.
    Throttled {
        /// The time left of that window, in whole milliseconds.
        retry_after: Duration,
    },
}

impl ThrottleOutcome {
    /// Whether this call goes through.
    pub const fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}

impl<T: Transport, R: Runtime> Throttle<T, R> {
    pub(crate) fn new(lock: Lock<T, R>, window: Duration) -> Self {
        let what = "the window of a throttle is 1 ms to 366 days";
        let checked = ttl::check_range(what, ttl::SHORTEST..=ttl::MAX, window);
        Self { lock: lock.with(|_| checked), window }
    }

    /// Whether the name and the window are valid. [`Throttle::try_pass`] checks that before it
    /// sends anything; this is for callers that want to know earlier. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], about the first that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        self.lock.check()
    }

    /// Goes through unless an earlier call's window still lasts; then it says when the next may.
    /// The window of the call that passed counts, whatever the others ask for.
    ///
    /// A lost reply does no harm: the request is sent again, and the repeat gets the first one's
    /// answer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the name or the window is invalid, or for a
    /// [quorum](crate::Client::quorum): nothing was sent. [`Error::EntropyUnavailable`]. Those of
    /// the bridge: the call did not go through. If the [outcome is
    /// unknown](Error::is_outcome_unknown), the client undoes in the background what Redis may have
    /// of the call, so that another call may pass. If that fails too, nobody passes until the
    /// window is over.
    ///
    /// # Cancel safety
    /// Dropping the future undoes the call in the background, as above.
    pub async fn try_pass(&self) -> Result<ThrottleOutcome, Error> {
        let closed_for = drive(&self.lock.host, self.passing()?).await?;
        Ok(match closed_for {
            None => ThrottleOutcome::Passed,
            Some(retry_after) => ThrottleOutcome::Throttled { retry_after },
        })
    }

    pub(crate) fn passing(&self) -> Result<Pass, Fault> {
        Ok(Pass::new(self.lock.new_claim()?, self.window))
    }
}

impl<T, R> Clone for Throttle<T, R> {
    fn clone(&self) -> Self {
        Self { lock: self.lock.clone(), window: self.window }
    }
}

impl<T, R> fmt::Debug for Throttle<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttle")
            .field("name", &self.lock.settings.name.key())
            .field("window", &self.window)
            .finish()
    }
}

/// Lets through the last of several calls that come close together. Made by
/// [`Client::debounce`](crate::Client::debounce).
///
/// Every edit of a page asks for a new index, and one index after the last edit is enough. Each
/// call waits until it was quiet for `wait`. If another call comes meanwhile, from any process, the
/// earlier one is [superseded](DebounceOutcome::Superseded), and does nothing. Each call costs two
/// requests.
///
/// If calls never cease, one goes through [`max_wait`](Debounce::max_wait) after the first one at
/// the latest.
///
/// It is not a lock: if the work takes long, the next burst's work may begin meanwhile. Take a
/// [lock](crate::Client::lock) in the work if the two must not run together.
///
/// The last call does the work of those before it. If its process dies while it waits, or its
/// future is dropped, nobody does that work until the next call comes.
///
/// ```no_run
/// use std::time::Duration;
/// use edgelock::native::Client;
/// use edgelock::{DebounceOutcome, Error};
///
/// async fn edited(client: &Client, page: &str) -> Result<(), Error> {
///     let debounce = client.debounce(page, Duration::from_secs(2));
///     match debounce.run(async || Ok::<_, Error>("index 7")).await? {
///         DebounceOutcome::Executed(index) => println!("{index} has all edits so far"),
///         DebounceOutcome::Superseded => println!("a later edit sees to it"),
///     }
///     Ok(())
/// }
/// ```
pub struct Debounce<T, R> {
    pub(crate) lock: Lock<T, R>,
    wait: Duration,
    max_wait: Duration,
}

/// What became of a call.
///
/// ```
/// use edgelock::DebounceOutcome;
///
/// assert_eq!(DebounceOutcome::Executed(7).executed(), Some(7));
/// assert_eq!(DebounceOutcome::<u8>::Superseded.executed(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DebounceOutcome<V> {
    /// The call was the last, and did the work.
    Executed(V),
    /// Another call came after it, and waits in its place. The work was not begun.
    Superseded,
}

impl<V> DebounceOutcome<V> {
    /// The work's result, if this call did the work.
    pub fn executed(self) -> Option<V> {
        match self {
            Self::Executed(value) => Some(value),
            Self::Superseded => None,
        }
    }
}

impl<T: Transport, R: Runtime> Debounce<T, R> {
    pub(crate) fn new(lock: Lock<T, R>, wait: Duration) -> Self {
        let what = "the wait of a debounce is 1 ms to 24 hours";
        let checked = ttl::check_range(what, ttl::SHORTEST..=LONGEST_DEBOUNCE, wait);
        Self {
            lock: lock.with(|_| checked),
            wait,
            max_wait: wait.saturating_mul(10).min(LONGEST_DEBOUNCE),
        }
    }

    /// How long a call waits at most, however many come after it: from the wait to 24 hours, in
    /// whole milliseconds. Default ten times the wait, and 24 hours at most. The first call's bound
    /// counts for the whole burst, unless a later call's is over before.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        let shortest = ttl::Shown(self.wait);
        let what =
            format!("the longest wait of a debounce is from its wait ({shortest}) to 24 hours");
        let checked = ttl::check_range(&what, self.wait..=LONGEST_DEBOUNCE, max_wait);
        Self { lock: self.lock.with(|_| checked), max_wait, ..self }
    }

    /// Whether the name and both waits are valid. [`Debounce::run`] checks that before it sends
    /// anything; this is for callers that want to know earlier. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], about the first that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        self.lock.check()
    }

    /// Waits until it was quiet, and does `work` if no other call came meanwhile.
    ///
    /// A lost reply does no harm: the request is sent again, and the repeat gets the first one's
    /// answer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the name or a wait is invalid, or for a
    /// [quorum](crate::Client::quorum): nothing was sent. [`Error::EntropyUnavailable`]. Those of
    /// the bridge: the work was not begun. If the [outcome is unknown](Error::is_outcome_unknown),
    /// this call may have overtaken others, and nobody does the work: call again. The same holds if
    /// the process stood still for a minute longer than it should wait, or if Redis lost its data
    /// ([`Error::Refused`]). Those of the work.
    ///
    /// # Cancel safety
    /// Dropping the future while it waits prevents the work; dropping it while the work runs stops
    /// the work. The calls that it overtook do not do the work either.
    pub async fn run<V, E: From<Error>>(
        &self,
        work: impl AsyncFnOnce() -> Result<V, E>,
    ) -> Result<DebounceOutcome<V>, E> {
        // It may have overtaken others, and then nobody else does their work.
        let _stay = self.lock.host.runtime.stay();
        let settling = self.settling().map_err(Error::from)?;
        if !drive(&self.lock.host, settling).await.map_err(Error::from)? {
            return Ok(DebounceOutcome::Superseded);
        }
        let _goes_on = self.lock.host.going_on.begin();
        work().await.map(DebounceOutcome::Executed)
    }

    pub(crate) fn settling(&self) -> Result<Settle, Fault> {
        let call = self.lock.new_claim()?;
        Ok(Settle::new(call, self.wait, self.max_wait))
    }
}

impl<T, R> Clone for Debounce<T, R> {
    fn clone(&self) -> Self {
        Self { lock: self.lock.clone(), ..*self }
    }
}

impl<T, R> fmt::Debug for Debounce<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debounce")
            .field("name", &self.lock.settings.name.key())
            .field("wait", &self.wait)
            .field("max_wait", &self.max_wait)
            .finish()
    }
}
