//! What the caller of a failed call can do about it. `npm/ts/advice.ts` says the same with
//! JavaScript's names; a test compares the two.

use super::{Error, Reason, ReservationError};

const COME_AGAIN: &str = "Try again later.";

const LOOK_AT_THE_ADDRESS: &str = "Check that the address is that of a bridge, without a path unless it wants one, and what lies between.";

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
        if let Some(reason) = self.why() {
            return on(reason);
        }
        match self {
            Self::InvalidArgument { .. } => {
                "Correct what the message names; the same call fails again."
            }
            Self::EntropyUnavailable => {
                "Acquire inside a request handler; a client may be made outside."
            }
            Self::Held { .. } => {
                "Come back after `retry_after`, or wait longer. If it is a lock that this work itself has, use `reentrant`."
            }
            Self::Quarantined { .. } => "Come back after `retry_after`.",
            Self::NotReplicated { .. } => {
                "Come back once the replicas have caught up, or ask for fewer."
            }
            Self::FingerprintMismatch { .. } => {
                "Use another key for another request; the same call fails again."
            }
            Self::ResultTooLarge { .. } => {
                "Keep less, as the id of what was made, or raise `max_bytes`."
            }
            Self::ResultUnreadable { .. } => {
                "Let the work return what JSON can hold. If another program or version stored what is kept, use another key."
            }
            Self::Reservation { kind, .. } => match kind {
                ReservationError::SoldOut => {
                    "Offer no more than are left; units that are reserved may fall back, confirmed ones do not."
                }
                ReservationError::OwnerLimit => {
                    "Ask for fewer, let this owner confirm or release what it has, or wait until that ends."
                }
                ReservationError::Confirmed => {
                    "Do nothing: it is confirmed, and the writes of that commit ran."
                }
            },
            Self::Lost { .. } => {
                "Stop, and undo what was not written through the lease: another may hold the lock."
            }
            Self::Expired { .. } => {
                "Stop, and undo what was not written through the lease: another may hold the lock. If it was just acquired, its ttl is too short."
            }
            Self::MaxHoldExceeded { .. } => {
                "Stop, and do less under one lease, or raise `max_hold`."
            }
            Self::Released { .. } => "Use a lease only until it is given back; acquire again.",
            Self::Busy { .. } => "Await one write of a lease before the next.",
            Self::CommandFailed { .. } => {
                "Look at the command with this `index`; the others were executed."
            }
            Self::Unauthorized { .. } => "Check the credential, and that it may run scripts.",
            Self::WrongType { .. } => {
                "Lock another name, or ask for the kind that is stored under this one. Data belongs under `{name}:…`, but not with an ending that edgelock has, such as `:fence` or `:queue`."
            }
            Self::Refused { .. } => "Fix it on the bridge or Redis; asking again does not help.",
            Self::Unavailable { .. } => {
                "Try again later; if that does not help, see that the bridge and its Redis run, that the address is right, and that this host trusts its certificate."
            }
            Self::TimedOut { .. } => COME_AGAIN,
            Self::BadResponse { kind, .. } => match kind.code() {
                "redirected" => "Use the address that the bridge redirects to.",
                "truncated" => COME_AGAIN,
                "too_large" => {
                    "Read less at once; or, if nothing was read, check that the address is that of a bridge."
                }
                _ => LOOK_AT_THE_ADDRESS,
            },
        }
    }
}

const fn on(reason: Reason) -> &'static str {
    match reason {
        Reason::NeverExpires => {
            "It is no lock of edgelock, which always expires: if data is stored under the lock's name, lock another name; if not, call `force_release`."
        }
        Reason::ForbiddenKey => {
            "Let the bridge's user of Redis use these keys (`ACL SETUSER … ~pattern`): the lock's name, what begins with it in braces, and those of your commands. If it may use only names with a prefix, give that (`prefix`, `--prefix`)."
        }
        Reason::ForbiddenCommand => {
            "Use a credential that may write, if this one may only read. Else let the bridge's user of Redis run this command (`ACL SETUSER … +command`)."
        }
        Reason::NoScripts => {
            "Each operation of a lock is a script, and this Redis runs none: let it have `EVAL` and `EVALSHA` (look for `rename-command` in its configuration), or use another."
        }
        Reason::NoPassword => "Give the bridge the password of its Redis; its log says more.",
        Reason::NoBridge => LOOK_AT_THE_ADDRESS,
        Reason::PathIsCommand => {
            "Look at the path of the address, which the bridge takes for a command: most bridges want none."
        }
    }
}
