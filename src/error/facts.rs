//! What an error tells: its code, its lock, whether the outcome is known, and when to come back.

use std::time::Duration;

use super::{BadResponse, Error};

impl Error {
    /// A name for this kind of error, for logs and for other languages. It does not change between
    /// versions.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::EntropyUnavailable => "entropy_unavailable",
            Self::Held { .. } => "held",
            Self::Quarantined { .. } => "quarantined",
            Self::NotReplicated { .. } => "not_replicated",
            Self::FingerprintMismatch { .. } => "fingerprint_mismatch",
            Self::ResultTooLarge { .. } => "result_too_large",
            Self::ResultUnreadable { .. } => "result_unreadable",
            Self::Reservation { kind, .. } => kind.code(),
            Self::Lost { .. } => "lost",
            Self::Expired { .. } => "expired",
            Self::MaxHoldExceeded { .. } => "max_hold_exceeded",
            Self::Released { .. } => "released",
            Self::Busy { .. } => "busy",
            Self::CommandFailed { .. } => "command_failed",
            Self::Unauthorized { .. } => "unauthorized",
            Self::WrongType { .. } => "wrong_type",
            Self::Refused { .. } => "refused",
            Self::Unavailable { .. } => "unavailable",
            Self::TimedOut { .. } => "timed_out",
            Self::BadResponse { kind, .. } => kind.code(),
        }
    }

    /// The Redis key of the lock that the failed call was about, with the client's prefix. Of
    /// [several names at once](crate::Client::lock_all) it is all keys, with commas between them,
    /// but for [`Error::Held`] the one that is held. Of a throttle or a debounce it is the name,
    /// with the prefix. `None` if the call was about none of these, as a read without a lock; if
    /// the host gave no random bytes; and if what was invalid was made before there was a lock, as
    /// a bridge.
    ///
    /// ```
    /// use edgelock::Error;
    ///
    /// let error = Error::example("lost", "sku:42").expect("a code");
    /// assert_eq!(error.lock(), Some("sku:42"));
    /// assert_eq!(error.to_string(), r#"the lease of lock "sku:42" is lost: it ran out, was taken or forced, or Redis forgot it"#);
    /// ```
    pub fn lock(&self) -> Option<&str> {
        match self {
            Self::Held { lock, .. }
            | Self::Quarantined { lock, .. }
            | Self::NotReplicated { lock, .. }
            | Self::FingerprintMismatch { lock }
            | Self::ResultTooLarge { lock, .. }
            | Self::ResultUnreadable { lock, .. }
            | Self::Reservation { lock, .. }
            | Self::Lost { lock }
            | Self::Expired { lock }
            | Self::MaxHoldExceeded { lock }
            | Self::Released { lock }
            | Self::Busy { lock }
            | Self::WrongType { lock, .. } => Some(lock),
            Self::InvalidArgument { lock, .. }
            | Self::CommandFailed { lock, .. }
            | Self::Unauthorized { lock, .. }
            | Self::Refused { lock, .. }
            | Self::Unavailable { lock, .. }
            | Self::TimedOut { lock, .. }
            | Self::BadResponse { lock, .. } => lock.as_deref(),
            Self::EntropyUnavailable => None,
        }
    }

    /// Whether the operation may have been executed although the call failed: unknown is not "no".
    /// For a call that only reads this does not matter, since it changes nothing.
    ///
    /// ```
    /// use edgelock::{BadResponse, Error};
    ///
    /// assert!(Error::from(BadResponse::Truncated).is_outcome_unknown());
    /// let lost = Error::example("lost", "sku:42").expect("a code");
    /// assert!(!lost.is_outcome_unknown());
    /// ```
    pub const fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            Self::BadResponse { kind, .. } => !matches!(kind, BadResponse::Redirected { .. }),
            Self::WrongType { may_have_run, .. }
            | Self::Refused { may_have_run, .. }
            | Self::Unavailable { may_have_run, .. } => *may_have_run,
            _ => false,
        }
    }

    /// Whether the same call may be made again, with a chance: nothing was done, or what was done
    /// is not done twice. Come back after [`Error::retry_after`] if that is known.
    ///
    /// An [`exec`](crate::Lease::exec) or a [`commit`](crate::Lease::commit) of
    /// [unknown](Error::is_outcome_unknown) outcome is not retryable, whatever failed: read what it
    /// changes first. An acquisition, a renewal, a release or a read of unknown outcome is.
    ///
    /// ```
    /// use edgelock::Error;
    ///
    /// let held = Error::example("held", "sku:42").expect("a code");
    /// assert!(held.is_retryable());
    /// let lost = Error::example("lost", "sku:42").expect("a code");
    /// assert!(!lost.is_retryable());
    /// ```
    pub const fn is_retryable(&self) -> bool {
        if self.why().is_some() {
            return false;
        }
        match self {
            Self::Held { .. } | Self::Quarantined { .. } | Self::Busy { .. } => true,
            Self::NotReplicated { can_repeat, .. } => *can_repeat,
            Self::Unavailable { can_repeat, .. }
            | Self::TimedOut { can_repeat, .. }
            | Self::BadResponse { can_repeat, .. } => {
                self.is_passing() && (*can_repeat || !self.is_outcome_unknown())
            }
            _ => false,
        }
    }

    /// When to come back, if that is known: the bridge said so, another holder has the lock, or
    /// servers of a quorum have no say yet.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Held { retry_after, .. } | Self::Quarantined { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
