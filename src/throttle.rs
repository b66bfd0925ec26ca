//! Lets one call through in a window, and tells the others when the next may go.

use std::fmt;
use std::time::Duration;

use crate::drive::drive;
use crate::error::{Error, Fault};
use crate::lock::Lock;
use crate::operation::Pass;
use crate::runtime::Runtime;
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
    lock: Lock<T, R>,
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
    /// Another call did.
    Throttled {
        /// How long its window lasts yet, in whole milliseconds.
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
        Self {
            lock: lock.with(|_| checked),
            window,
        }
    }

    /// Whether the name and the window are valid. [`Throttle::try_pass`] checks that before it
    /// sends anything; this is for callers that want to know earlier. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], about the first that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        self.lock.check()
    }

    /// Goes through if no call did for as long as its window, or says when the next may. The window
    /// of the call that passes counts, whatever the others ask for.
    ///
    /// A lost reply does no harm: the request is sent again, and the repeat is told what the first
    /// was told.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the name or the window is invalid, or for a
    /// [quorum](crate::Client::quorum): nothing was sent. [`Error::EntropyUnavailable`]. Those of
    /// the bridge: the call did not go through. If the [outcome is
    /// unknown](Error::is_outcome_unknown), what Redis may have of it is given back in the
    /// background, so that another call may pass. If that fails too, nobody passes until the window
    /// is over.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call back in the background, as above.
    pub async fn try_pass(&self) -> Result<ThrottleOutcome, Error> {
        let closed_for = drive(self.lock.host(), self.passing()?).await?;
        Ok(match closed_for {
            None => ThrottleOutcome::Passed,
            Some(retry_after) => ThrottleOutcome::Throttled { retry_after },
        })
    }

    pub(crate) fn passing(&self) -> Result<Pass, Fault> {
        Ok(Pass::new(self.lock.new_claim()?, self.window))
    }

    #[cfg(all(target_family = "wasm", feature = "host-json"))]
    pub(crate) const fn lock(&self) -> &Lock<T, R> {
        &self.lock
    }
}

impl<T, R> Clone for Throttle<T, R> {
    fn clone(&self) -> Self {
        Self {
            lock: self.lock.clone(),
            window: self.window,
        }
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
