//! What can go wrong, told apart by what the caller can do about it.

mod bad_response;
mod made;

use std::time::Duration;

use crate::redact::Named;
use crate::transport::TransportError;

pub use bad_response::BadResponse;

/// An operation's failure.
///
/// Three things that other clients mix up are different here: the lock is [held by another](Error::Held), the lease is
/// [lost](Error::Lost), and it [could not be learned](Error::is_outcome_unknown) what happened.
///
/// No message holds a token or a credential; what a bridge or Redis said is quoted up to 200 characters, with both cut out.
/// A `lock` is the Redis key of the lock that the error is about, with the client's prefix, in full. A message shows up to
/// 100 characters of it, without control characters. Where it is an `Option`, it is `None` for a read without a lock.
///
/// What the transport said is the [source](std::error::Error::source) of an error that comes of it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An argument that cannot work: a name that is empty or too long, a ttl out of range, a bad address. Nothing was sent.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),

    /// The host gave no random bytes for a token. Workers give them only inside a request handler.
    #[error("the host gives no random bytes here; acquire inside a request handler")]
    EntropyUnavailable,

    /// Another holder has the lock, and had it for as long as this call was willing to wait.
    #[error("lock {} is held by {} ({})", Named(lock), holder(label.as_deref()), left(*remaining))]
    Held {
        /// Which lock.
        lock: String,
        /// What the holder has left, by Redis's clock, unless it renews; `None` if it holds without end.
        remaining: Option<Duration>,
        /// How many others were waiting before this call when it last asked.
        ahead: u64,
        /// What the holder lets others know of itself, by [`Lock::label`](crate::Lock::label).
        label: Option<String>,
        /// How long to stay away: an estimate of when it would be this call's turn, from how the line moved while it waited, else
        /// what the holder has left.
        retry_after: Duration,
        /// How many requests this call cost, with the one that leaves the queue.
        requests: u32,
    },

    /// So many servers of a [quorum](crate::Client::quorum) were started lately that no majority of the others is left: they may have
    /// forgotten who holds the lock, and have no say for a while. Nobody was granted it; whether anybody holds it, they cannot say.
    #[error(
        "lock {} cannot be granted for {} ms yet: too many servers were started lately, and may have forgotten who holds it",
        Named(lock),
        ms(*retry_after)
    )]
    Quarantined {
        /// Which lock.
        lock: String,
        /// Until a majority may have a say again, at least.
        retry_after: Duration,
    },

    /// Fewer replicas than [`crate::Lock::wait_for_replicas`] asks for have acknowledged in time, so that the lock might not survive a
    /// fail-over. An acquisition is given back. A lease goes on as it was, its deadline not moved; the commands of
    /// [`crate::Lease::exec`] were executed, though not so safely.
    #[error(
        "{acknowledged} of {asked} replicas acknowledged lock {} in time",
        Named(lock)
    )]
    #[non_exhaustive]
    NotReplicated {
        /// Which lock.
        lock: String,
        /// How many must.
        asked: u32,
        /// How many did.
        acknowledged: u32,
    },

    /// The lease is no longer this token's: it ran out, was forced, or Redis lost it. Nothing of this call was executed. Of
    /// [`crate::Lock::run`], the work was stopped.
    #[error(
        "the lease of lock {} is lost: it ran out, was forced, or Redis forgot it",
        Named(lock)
    )]
    Lost {
        /// Which lock.
        lock: String,
    },

    /// The lease's deadline has passed on the local clock, so another may hold the lock by now. Nothing was sent.
    #[error("the lease of lock {} is past its deadline", Named(lock))]
    Expired {
        /// Which lock.
        lock: String,
    },

    /// The work of [`crate::Lock::run`] took longer than [`crate::Lock::max_hold`], and was stopped.
    #[error(
        "the work was stopped: it held lock {} for longer than allowed",
        Named(lock)
    )]
    MaxHoldExceeded {
        /// Which lock.
        lock: String,
    },

    /// The lease was released, committed or handed over before; or a release or a commit of it was sent and nobody knows what
    /// became of it, and only these may follow. Nothing was sent.
    #[error("the lease of lock {} was already released", Named(lock))]
    Released {
        /// Which lock.
        lock: String,
    },

    /// Another `exec`, `commit` or `release` of the same lease has not come back yet, or other work is [kept](crate::Lease::run)
    /// under it. Nothing was sent.
    #[error(
        "another write of the lease of lock {} is still under way",
        Named(lock)
    )]
    Busy {
        /// Which lock.
        lock: String,
    },

    /// A command given with an operation failed. The operation itself was executed, and so were the other commands: as with
    /// `MULTI`, a command that fails does not undo those before it, nor stop those behind it.
    #[error("command {index}, {}, failed{}: {message}", Named(command), under(lock.as_deref()))]
    #[non_exhaustive]
    CommandFailed {
        /// Which lock the operation was about; `None` for a read without one.
        lock: Option<String>,
        /// Which of the given commands, from 0.
        index: usize,
        /// Its name, without its arguments.
        command: String,
        /// Redis's words.
        message: String,
    },

    /// The bridge or Redis does not accept the credential, or it does not allow scripts. Nothing was executed.
    #[error("not authorized: {message}{}", of(lock.as_deref()))]
    Unauthorized {
        /// Which lock.
        lock: Option<String>,
        /// Who said what.
        message: String,
    },

    /// The lock's key holds a value that is no lock of this kind. Nothing was changed.
    #[error(
        "the key of lock {} holds something else: data, or a lock of another kind",
        Named(lock)
    )]
    WrongType {
        /// Which lock.
        lock: String,
    },

    /// The bridge or Redis refused for good: an unknown route, a quota, out of memory. Asking again will not help until someone
    /// mends it.
    #[error("refused: {message}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    Refused {
        /// Which lock.
        lock: Option<String>,
        /// Who said what.
        message: String,
        /// Whether the script may have run before the refusal.
        may_have_run: bool,
    },

    /// The bridge, or the Redis behind it, is away or overloaded, or in a state that passes: it loads its data, a fail-over or
    /// the move of a slot is under way, a script keeps it busy, it misses its replicas.
    #[error("unavailable: {message}{}", of(lock.as_deref()))]
    Unavailable {
        /// Which lock.
        lock: Option<String>,
        /// Who said what.
        message: String,
        /// When to come back, if the bridge said so: after the call came back. A call does as the
        /// bridge asks for [`crate::Client::request_timeout`] in all, and no longer; one that waits
        /// for the lock, to the end of its wait; a write whose outcome is open, to its deadline.
        retry_after: Option<Duration>,
        /// Whether the script may have run all the same.
        may_have_run: bool,
        /// What the transport said, where there was no response.
        source: Option<TransportError>,
    },

    /// No answer within the request's time-out. The request was aborted, but may have been executed.
    #[error("no answer within {} ms{}", ms(*after), of(lock.as_deref()))]
    #[non_exhaustive]
    TimedOut {
        /// Which lock.
        lock: Option<String>,
        /// How long it was waited for.
        after: Duration,
    },

    /// What answered is no bridge, or something on the way spoils its answers.
    #[error("{kind}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    BadResponse {
        /// Which lock.
        lock: Option<String>,
        /// What is wrong with it.
        kind: BadResponse,
        /// What the transport said, where the response did not come whole.
        source: Option<TransportError>,
    },
}

impl Error {
    /// A name for this kind of error that does not change between versions, for logs and for other languages.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument(_) => "invalid_argument",
            Self::EntropyUnavailable => "entropy_unavailable",
            Self::Held { .. } => "held",
            Self::Quarantined { .. } => "quarantined",
            Self::NotReplicated { .. } => "not_replicated",
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

    /// The Redis key of the lock whose call failed; `None` where no lock was called, or nothing was sent for one.
    ///
    /// ```
    /// use edgelock::Error;
    ///
    /// let error = Error::Lost { lock: "sku:42".into() };
    /// assert_eq!(error.lock(), Some("sku:42"));
    /// assert_eq!(error.to_string(), r#"the lease of lock "sku:42" is lost: it ran out, was forced, or Redis forgot it"#);
    /// ```
    pub fn lock(&self) -> Option<&str> {
        match self {
            Self::Held { lock, .. }
            | Self::Quarantined { lock, .. }
            | Self::NotReplicated { lock, .. }
            | Self::Lost { lock }
            | Self::Expired { lock }
            | Self::MaxHoldExceeded { lock }
            | Self::Released { lock }
            | Self::Busy { lock }
            | Self::WrongType { lock } => Some(lock),
            Self::CommandFailed { lock, .. }
            | Self::Unauthorized { lock, .. }
            | Self::Refused { lock, .. }
            | Self::Unavailable { lock, .. }
            | Self::TimedOut { lock, .. }
            | Self::BadResponse { lock, .. } => lock.as_deref(),
            Self::InvalidArgument(_) | Self::EntropyUnavailable => None,
        }
    }

    /// Whether the operation may have been executed although it failed here: unknown is not no.
    ///
    /// ```
    /// use edgelock::{BadResponse, Error};
    ///
    /// assert!(Error::from(BadResponse::Truncated).is_outcome_unknown());
    /// assert!(!Error::Lost { lock: "sku:42".into() }.is_outcome_unknown());
    /// ```
    pub const fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            Self::BadResponse { kind, .. } => !matches!(kind, BadResponse::Redirected { .. }),
            Self::Refused { may_have_run, .. } | Self::Unavailable { may_have_run, .. } => {
                *may_have_run
            }
            _ => false,
        }
    }

    /// When to come back, where that is known: the bridge said so, another holds the lock, or servers have no say yet.
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

fn holder(label: Option<&str>) -> String {
    label.map_or_else(
        || "another owner".to_owned(),
        |label| Named(label).to_string(),
    )
}

fn left(remaining: Option<Duration>) -> String {
    remaining.map_or_else(
        || "never expires: is it data?".to_owned(),
        |left| format!("expires in {} ms", ms(left)),
    )
}

fn of(lock: Option<&str>) -> String {
    lock.map_or_else(String::new, |lock| format!(" (lock {})", Named(lock)))
}

fn under(lock: Option<&str>) -> String {
    lock.map_or_else(String::new, |lock| format!(" under lock {}", Named(lock)))
}

/// 64 bits hold any that Redis tells of, and take less code to print than 128.
const fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
