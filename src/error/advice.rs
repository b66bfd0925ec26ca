//! What the caller of a failed call can do about it.

use super::Error;

const COME_AGAIN: &str = "Try again later.";

const MAKE_ROOM: &str =
    "Keep less, as the id of what was made, or raise `max_bytes` of the work that is done once.";

const LOOK_AT_THE_ADDRESS: &str = "Check that the address is that of a bridge, without a path unless it wants one, and what lies between.";

const ANOTHER_MAY_HOLD_IT: &str =
    "Stop, and undo what was not written through the lease: another may hold the lock.";

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
        match self {
            Self::InvalidArgument { .. } => {
                "Correct what the message names; the same call fails again."
            }
            Self::EntropyUnavailable => {
                "Acquire inside a request handler; a client may be made outside."
            }
            Self::Held {
                remaining: None, ..
            } => {
                "It is no lock of edgelock, which always expires: if data is stored under the lock's name, lock another name; if not, call `force_release`."
            }
            Self::Held { .. } => "Come back after `retry_after`, or wait longer.",
            Self::Quarantined { .. } => "Come back after `retry_after`.",
            Self::NotReplicated { .. } => {
                "Come back once the replicas have caught up, or ask for fewer."
            }
            Self::FingerprintMismatch { .. } => {
                "Use another key for another request; the same call fails again."
            }
            Self::ResultTooLarge { .. } => MAKE_ROOM,
            Self::ResultUnreadable { .. } => {
                "Let the work return what JSON can hold. If another program or version stored what is kept, use another key."
            }
            Self::Lost { .. } | Self::Expired { .. } => ANOTHER_MAY_HOLD_IT,
            Self::MaxHoldExceeded { .. } => {
                "Stop, and do less under one lease, or raise `max_hold`."
            }
            Self::Released { .. } => "Use a lease only until it is given back; acquire again.",
            Self::Busy { .. } => "Await one write of a lease before the next.",
            Self::CommandFailed { .. } => {
                "Look at the command with this `index`; the others were executed."
            }
            Self::Unauthorized { message, .. } => on_rights(message),
            Self::WrongType { .. } => {
                "Lock another name, or ask for the kind that is stored under this one; data belongs under `{name}:…`."
            }
            Self::Refused { message, .. } => on_refusal(message),
            Self::Unavailable { message, .. } if message.contains("NOAUTH") => {
                "Give the bridge the password of its Redis; its log says more."
            }
            Self::Unavailable { .. } => {
                "Try again later; if that does not help, see that the bridge and its Redis run, and that the address is right."
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

fn on_rights(message: &str) -> &'static str {
    if !message.contains("NOPERM") {
        "Check the credential, and that it may run scripts."
    } else if message.contains(" command") {
        "Let the bridge's user of Redis run this command (`ACL SETUSER … +command`)."
    } else {
        "Let the bridge's user of Redis use these keys (`ACL SETUSER … ~pattern`): the lock's name, what begins with it in braces, and those of your commands."
    }
}

fn on_refusal(message: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["status 404", "status 405"]) {
        LOOK_AT_THE_ADDRESS
    } else if says(&["unknown command", "body must be"]) {
        "Look at the path of the address, which the bridge takes for a command: most bridges want none."
    } else {
        "Fix it on the bridge or Redis; asking again does not help."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_redis_or_a_bridge_says_decides_the_advice_where_it_says_more_than_the_code() {
        let lock = || Some("a".to_owned());
        let message = str::to_owned;
        let unauthorized = |said| Error::Unauthorized {
            lock: lock(),
            message: message(said),
        };
        let refused = |said| Error::Refused {
            lock: lock(),
            message: message(said),
            may_have_run: false,
        };
        for (error, advised) in [
            (unauthorized("WRONGPASS"), "Check the credential"),
            (unauthorized("NOPERM … run the 'eval' command"), "+command"),
            (unauthorized("NOPERM … access one of the keys"), "~pattern"),
            (
                refused("the bridge answers with status 404"),
                "Check that the address",
            ),
            (
                refused("the bridge answers with status 405"),
                "Check that the address",
            ),
            (
                refused("the bridge answers with status 402"),
                "Fix it on the bridge",
            ),
            (refused("ERR unknown command 'APP'"), "Look at the path"),
        ] {
            assert!(
                error.advice().contains(advised),
                "{error}: {}",
                error.advice()
            );
        }
    }
}
