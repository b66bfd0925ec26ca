//! What an error tells: its code, its lock, whether the outcome is known, when to come back, and
//! what else its caller can do. `npm/ts/advice.ts` says the last with JavaScript's names; a test
//! compares the two. For tests of those who handle errors, one of each code.

use std::time::Duration;

use super::{BadResponse, Error, Fault, Reason, ReservationError};

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
        if let Some(why) = self.why() {
            return matches!(why, Reason::Forgotten);
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

const COME_AGAIN: &str = "Try again later.";

const LOOK_AT_THE_ADDRESS: &str = "Check that the address is that of a bridge, without a path unless it wants one, and what lies between.";

/// By the reason, where more is known than the code. A test sees that it has each.
#[rustfmt::skip]
const ADVICE: [(&str, &str); 35] = [
    ("invalid_argument", "Correct what the message names; the same call fails again."),
    ("entropy_unavailable", "Acquire inside a request handler; a client may be made outside."),
    ("held", "Come back after `retry_after`, or wait longer. If it is a lock that this work itself has, use `reentrant`."),
    ("quarantined", "Come back after `retry_after`."),
    ("not_replicated", "Come back once the replicas have caught up, or ask for fewer."),
    ("fingerprint_mismatch", "Use another key for another request; the same call fails again."),
    ("result_too_large", "Keep less, as the id of what was made, or raise `max_bytes`."),
    ("result_unreadable", "Let the work return what JSON can hold. If another program or version stored what is kept, use another key."),
    ("sold_out", "Offer no more than are left; units that are reserved may fall back, confirmed ones do not."),
    ("owner_limit", "Ask for fewer, let this owner confirm or release what it has, or wait until that ends."),
    ("confirmed", "Do nothing: it is confirmed, and the writes of that commit ran."),
    ("lost", "Stop, and undo what was not written through the lease: another may hold the lock."),
    ("expired", "Stop, and undo what was not written through the lease: another may hold the lock. If it was just acquired, its ttl is too short."),
    ("max_hold_exceeded", "Stop, and do less under one lease, or raise `max_hold`."),
    ("released", "Use a lease only until it is given back; acquire again."),
    ("busy", "Await one write of a lease before the next, and keep it for one work at a time."),
    ("command_failed", "Look at the command with this `index`; the others were executed."),
    ("wrong_type", "Lock another name, or ask for the kind that is stored under this one. Data belongs under `{name}:…`, but not with an ending that edgelock has, such as `:fence` or `:queue`."),
    ("unauthorized", "Check the credential, and that it may run scripts."),
    ("refused", "Fix it on the bridge or Redis; asking again does not help."),
    ("unavailable", "Try again later; if that does not help, see that the bridge and its Redis run, that the address is right, and that this host trusts its certificate."),
    ("timed_out", COME_AGAIN),
    ("redirected", "Use the address that the bridge redirects to."),
    ("not_json", LOOK_AT_THE_ADDRESS),
    ("truncated", COME_AGAIN),
    ("too_large", "Read less at once; or, if nothing was read, check that the address is that of a bridge."),
    ("unexpected_reply", LOOK_AT_THE_ADDRESS),
    ("never_expires", "It is no lock of edgelock, which always expires: if data is stored under the lock's name, lock another name; if not, call `force_release`."),
    ("forbidden_key", "Let the bridge's user of Redis use these keys (`ACL SETUSER … ~pattern`): the lock's name, what begins with it in braces, and those of your commands. If it may use only names with a prefix, give that (`prefix`, `--prefix`)."),
    ("forbidden_command", "Use a credential that may write, if this one may only read. Else let the bridge's user of Redis run this command (`ACL SETUSER … +command`)."),
    ("no_scripts", "Each operation of a lock is a script, and this Redis runs none: let it have `EVAL` and `EVALSHA` (look for `rename-command` in its configuration), or use another."),
    ("no_password", "Give the bridge the password of its Redis; its log says more."),
    ("forgotten", "Call again: this call did not do its work, nor that of the calls that it overtook."),
    ("no_bridge", LOOK_AT_THE_ADDRESS),
    ("path_is_command", "Look at the path of the address, which the bridge takes for a command: most bridges want none."),
];

impl Error {
    /// What the caller can do about it, in a sentence or two, for a log or a person.
    ///
    /// If [`Error::is_outcome_unknown`], the operation may have been done besides. A lock that was
    /// taken frees itself after its ttl. Of writes, read what they change before you write again.
    ///
    /// ```
    /// use edgelock::Error;
    ///
    /// let error = Error::example("lost", "sku:42").expect("a code");
    /// assert!(error.advice().starts_with("Stop, and undo"));
    /// ```
    pub fn advice(&self) -> &'static str {
        let why = self.reason().unwrap_or_else(|| self.code());
        let advice = ADVICE.iter().find_map(|(of, advice)| (*of == why).then_some(*advice));
        advice.unwrap_or_default()
    }
}

impl Error {
    /// An error with this [code](Error::code) about this lock, for tests of code that handles
    /// errors. The variants may grow, so only this crate constructs them. `None` if no error has
    /// the code.
    ///
    /// Nothing was executed, unless such an error never says so. The other facts are made up. Those
    /// that matter to a test can be set.
    ///
    /// ```
    /// use std::time::Duration;
    /// use edgelock::Error;
    ///
    /// let mut held = Error::example("held", "sku:42").expect("a code");
    /// if let Error::Held { retry_after, .. } = &mut held {
    ///     *retry_after = Duration::from_secs(3);
    /// }
    /// assert_eq!(held.retry_after(), Some(Duration::from_secs(3)));
    /// assert_eq!(held.lock(), Some("sku:42"));
    /// ```
    pub fn example(code: &str, lock: &str) -> Option<Self> {
        const SECOND: Duration = Duration::from_secs(1);
        let name = lock.to_owned();
        let example = || "an example".to_owned();
        let error = match code {
            "invalid_argument" => Fault::invalid(example()).into(),
            "entropy_unavailable" => Self::EntropyUnavailable,
            "held" => Self::Held {
                lock: name,
                remaining: Some(SECOND),
                ahead: 0,
                is_own: false,
                label: None,
                retry_after: SECOND,
                requests: 1,
            },
            "quarantined" => Self::Quarantined { lock: name, retry_after: SECOND },
            "not_replicated" => {
                Self::NotReplicated { lock: name, asked: 1, acknowledged: 0, can_repeat: false }
            }
            "fingerprint_mismatch" => Self::FingerprintMismatch { lock: name },
            "result_too_large" => Self::ResultTooLarge { lock: name, bytes: 2, most: 1 },
            "result_unreadable" => Self::ResultUnreadable { lock: name, message: example() },
            "sold_out" | "owner_limit" | "confirmed" => {
                Self::Reservation { lock: name, kind: ReservationError::of_code(code)? }
            }
            "lost" => Self::Lost { lock: name },
            "expired" => Self::Expired { lock: name },
            "max_hold_exceeded" => Self::MaxHoldExceeded { lock: name },
            "released" => Self::Released { lock: name },
            "busy" => Self::Busy { lock: name },
            "command_failed" => Self::CommandFailed {
                lock: None,
                index: 0,
                command: "GET".to_owned(),
                message: example(),
            },
            "unauthorized" => Fault::unauthorized(example()).into(),
            "wrong_type" => Self::WrongType { lock: name, may_have_run: false },
            "refused" => Fault::refused(example(), false).into(),
            "unavailable" => Fault::unavailable(example(), false).into(),
            "timed_out" => Fault::timed_out(SECOND).into(),
            "redirected" => Fault::bad(BadResponse::Redirected { status: 302 }).into(),
            "not_json" => Fault::bad(BadResponse::NotJson { status: 200 }).into(),
            "truncated" => Fault::bad(BadResponse::Truncated).into(),
            "too_large" => Fault::bad(BadResponse::TooLarge).into(),
            "unexpected_reply" => Fault::unexpected("an example").into(),
            _ => return None,
        };
        Some(error.of_lock(Some(lock)))
    }
}
