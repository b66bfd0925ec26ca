//! Errors for the tests of those who handle them.

use std::time::Duration;

use super::{BadResponse, Error, Fault, ReservationError};

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
