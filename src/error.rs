//! What can go wrong, divided by what the caller can do about it, and the wording of messages.

mod facts;
pub(crate) mod fault;
mod why;

use std::time::Duration;

use crate::redact::Named;
use crate::transport::TransportError;

pub(crate) use fault::{Fault, UNENDING};
pub(crate) use why::Reason;
pub use why::{BadResponse, ReservationError};

/// The failure of an operation.
///
/// Three cases that other clients mix up are different errors here: the lock is [held by
/// another](Error::Held), the lease is [lost](Error::Lost), and the outcome is
/// [unknown](Error::is_outcome_unknown).
///
/// No message holds a token or a credential. Messages quote up to 200 characters of what a bridge
/// or Redis said, with both cut out. A field `lock` is what [`Error::lock`] says. Messages show up
/// to 100 characters of it, without control characters.
///
/// A message says all that is known, as why there was no connection. Only the reason why a response
/// broke off is the [source](std::error::Error::source).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An argument is invalid: a name that is empty or too long, a ttl out of range, a bad address.
    /// Nothing was sent.
    #[error("invalid argument: {message}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    InvalidArgument {
        /// Which lock it was given for, if for any.
        lock: Option<String>,
        /// What is invalid, and what to write instead.
        message: String,
    },

    /// The host gave no random bytes for a token. Workers give them only inside of a request
    /// handler.
    #[error("the host gives no random bytes here; acquire inside a request handler")]
    EntropyUnavailable,

    /// Another holder has the lock, and kept it for as long as this call waited.
    #[error("lock {} is held by {} ({})", Named(lock), holder(label.as_deref(), *is_own), left(*remaining))]
    #[non_exhaustive]
    Held {
        /// Which lock.
        lock: String,
        /// The holder's time left, by Redis's clock, unless it renews. `None` if it never expires.
        remaining: Option<Duration>,
        /// How many waiters were ahead of this call when it last asked.
        ahead: u64,
        /// The holder's [`Lock::label`](crate::Lock::label), if it has one.
        label: Option<String>,
        /// How long to stay away: an estimate by how fast the queue moved, or the time left.
        retry_after: Duration,
        /// How many requests this call sent, including the one that leaves the queue.
        requests: u32,
        #[doc(hidden)]
        is_own: bool,
    },

    /// So many servers of a [quorum](crate::Client::quorum) started recently that the others are no
    /// majority. Those servers may have lost the lock, so they have no say for a while. The call
    /// did not get the lock. Whether anybody holds it is not known.
    #[error("lock {} cannot be granted for {}", Named(lock), yet(*retry_after))]
    #[non_exhaustive]
    Quarantined {
        /// Which lock.
        lock: String,
        /// The least time until a majority may have a say again.
        retry_after: Duration,
    },

    /// Fewer replicas acknowledged in time than [`crate::Lock::wait_for_replicas`] asks for. The
    /// lock might not survive a fail-over. An acquired lock was given back. A lease goes on with
    /// the deadline that it had, unless [`crate::Lease::commit`] has released it, and as a reader's
    /// if [`crate::Lease::downgrade`] was called. The commands of an [`exec`](crate::Lease::exec)
    /// or a commit were executed, but might not survive either.
    #[error("{acknowledged} of {asked} replicas acknowledged {}", in_time(lock))]
    #[non_exhaustive]
    NotReplicated {
        /// Which lock.
        lock: String,
        /// How many replicas had to acknowledge.
        asked: u32,
        /// How many did.
        acknowledged: u32,
        #[doc(hidden)]
        can_repeat: bool,
    },

    /// The key of [`crate::Once`] was used for something else: the work that was executed, or is
    /// being executed, has another [fingerprint](crate::Once::fingerprint). Nothing was executed.
    #[error("{} was used for something else: its fingerprint differs", Named(lock))]
    #[non_exhaustive]
    FingerprintMismatch {
        /// The key.
        lock: String,
    },

    /// The result of the work of a [`crate::Once`] is larger than [`crate::Once::max_bytes`]. The
    /// work was done, and its result is not kept: the next call does it again.
    #[error("the result of {} has {bytes} bytes, and may have {most}: {NOT_KEPT}", Named(lock))]
    #[non_exhaustive]
    ResultTooLarge {
        /// The key.
        lock: String,
        /// How large it is, as it would be stored.
        bytes: usize,
        /// How large it may be.
        most: usize,
    },

    /// The result of the work of a [`crate::Once`] cannot be written as JSON: the work was done,
    /// and its result is not kept. Or the kept result cannot be read as the type that the caller
    /// asks for, as after a new version of a program: nothing was executed.
    #[error("the result of {}: {message}", Named(lock))]
    #[non_exhaustive]
    ResultUnreadable {
        /// The key.
        lock: String,
        /// Why.
        message: String,
    },

    /// A unit of [reservations](crate::Client::reservations) is not reserved, or not confirmed.
    /// Nothing of this call was executed.
    #[error("no unit of {}: {kind}", Named(lock))]
    #[non_exhaustive]
    Reservation {
        /// Of what.
        lock: String,
        /// Why.
        kind: ReservationError,
    },

    /// This token no longer has the lock: the lease ran out, was taken over or force-released, or
    /// Redis lost it. Nothing of this call was executed. The work of a [`crate::Lock::run`] was
    /// stopped.
    #[error("the lease of lock {} is lost: {LOST}", Named(lock))]
    #[non_exhaustive]
    Lost {
        /// Which lock.
        lock: String,
    },

    /// The lease's deadline has passed on the local clock, so another holder may have the lock by
    /// now. Nothing was sent.
    #[error("the lease of lock {} is past its deadline", Named(lock))]
    #[non_exhaustive]
    Expired {
        /// Which lock.
        lock: String,
    },

    /// The work of [`crate::Lock::run`] took longer than [`crate::Lock::max_hold`], and was
    /// stopped.
    #[error("the work was stopped: it held lock {} {TOO_LONG}", Named(lock))]
    #[non_exhaustive]
    MaxHoldExceeded {
        /// Which lock.
        lock: String,
    },

    /// The lease was already released, committed or handed over. Or a release or a commit was sent,
    /// and its outcome is unknown; then only these two may follow. Nothing was sent.
    #[error("the lease of lock {} was already released", Named(lock))]
    #[non_exhaustive]
    Released {
        /// Which lock.
        lock: String,
    },

    /// Another `exec`, `commit` or `release` of the same lease is still under way, or the lease is
    /// already [kept](crate::Lease::run) for other work. Nothing was sent.
    #[error("another write of the lease of lock {} is {UNDER_WAY}", Named(lock))]
    #[non_exhaustive]
    Busy {
        /// Which lock.
        lock: String,
    },

    /// A command that was sent with an operation failed. The operation itself and all other
    /// commands were executed. As with `MULTI`, a command that fails neither undoes those before it
    /// nor stops those after it.
    #[error("command {index}, {}, failed{}: {message}", Named(command), under(lock.as_deref()))]
    #[non_exhaustive]
    CommandFailed {
        /// The lock of the operation; `None` for a read without one.
        lock: Option<String>,
        /// Which of the given commands failed, from 0.
        index: usize,
        /// Its name, without its arguments.
        command: String,
        /// What Redis said.
        message: String,
    },

    /// The bridge or Redis does not accept the credential, or does not allow scripts. Nothing was
    /// executed.
    #[error("not authorized: {message}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    Unauthorized {
        /// Which lock.
        lock: Option<String>,
        /// What was said, and by whom.
        message: String,
        #[doc(hidden)]
        reason: Option<Reason>,
    },

    /// A key of the lock holds something else than a lock of this kind keeps there. Nothing was
    /// changed, except by a commit whose own commands stored it: they were executed.
    #[error("the key of {}{OR_BESIDE}", Named(lock))]
    #[non_exhaustive]
    WrongType {
        /// Which lock.
        lock: String,
        /// Whether the commands of a commit may have run before.
        may_have_run: bool,
    },

    /// The bridge or Redis refused for a reason that lasts: an unknown route, a quota, no memory.
    /// Fix it there; asking again does not help.
    #[error("refused: {message}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    Refused {
        /// Which lock.
        lock: Option<String>,
        /// What was said, and by whom.
        message: String,
        /// Whether the script may have run before the refusal.
        may_have_run: bool,
        #[doc(hidden)]
        reason: Option<Reason>,
    },

    /// The bridge, or the Redis behind it, is away or overloaded. Or its state prevents the call
    /// for a while: it loads its data, a fail-over or the move of a slot is under way, a script
    /// keeps it busy, or it misses its replicas.
    #[error("unavailable: {message}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    Unavailable {
        /// Which lock.
        lock: Option<String>,
        /// What was said, and by whom.
        message: String,
        /// When to come back, counted from the end of the call, if the bridge said so. A call obeys
        /// the bridge for [`crate::Client::request_timeout`] in all; one that waits for the lock,
        /// up to the end of its wait; a write of unknown outcome, up to its deadline.
        retry_after: Option<Duration>,
        /// Whether the script may have run nevertheless.
        may_have_run: bool,
        #[doc(hidden)]
        can_repeat: bool,
        #[doc(hidden)]
        reason: Option<Reason>,
    },

    /// No reply came within the request's time-out. The request was aborted, but may have been
    /// executed.
    #[error("no answer within {} ms{}", ms(*after), of(lock.as_deref()))]
    #[non_exhaustive]
    TimedOut {
        /// Which lock.
        lock: Option<String>,
        /// How long the client waited for the reply.
        after: Duration,
        #[doc(hidden)]
        can_repeat: bool,
    },

    /// What answers is not a bridge, or something on the way spoils its responses.
    #[error("{kind}{}", of(lock.as_deref()))]
    #[non_exhaustive]
    BadResponse {
        /// Which lock.
        lock: Option<String>,
        /// What is wrong with it.
        kind: BadResponse,
        /// Why a response broke off.
        source: Option<TransportError>,
        #[doc(hidden)]
        can_repeat: bool,
    },
}

const LOST: &str = "it ran out, was taken or forced, or Redis forgot it";
const NOT_KEPT: &str = "the work was done, and it is not kept";
const TOO_LONG: &str = "for longer than allowed";
const UNDER_WAY: &str = "under way, or it is kept for other work";
const OR_BESIDE: &str =
    ", or one that begins with it in braces, holds something else: data, or a lock of another kind";

/// In the npm package, clients that are made of the same words are one client of this crate.
const OWN: &str =
    if cfg!(npm) { "another lease of this process" } else { "another lease of this client" };

/// `is_own` if the client itself has a lease of the lock: it may wait for itself.
fn holder(label: Option<&str>, is_own: bool) -> String {
    let label = label.map(|label| Named(label).to_string());
    match (label, is_own) {
        (None, false) => "another owner".to_owned(),
        (Some(label), false) => label,
        (None, true) => OWN.to_owned(),
        (Some(label), true) => format!("{label}, {OWN}"),
    }
}

fn left(remaining: Option<Duration>) -> String {
    remaining.map_or_else(
        || "never expires: is it data?".to_owned(),
        |left| format!("expires in {} ms", ms(left)),
    )
}

fn in_time(lock: &str) -> String {
    format!("lock {} in time", Named(lock))
}

/// Why no server of too many has a say before that.
fn yet(retry_after: Duration) -> String {
    format!(
        "{} ms yet: too many servers were started lately, and may have forgotten who holds it",
        ms(retry_after)
    )
}

/// What it was about: a lock, a throttle or a debounce.
fn of(lock: Option<&str>) -> String {
    lock.map_or_else(String::new, |lock| format!(" (for {})", Named(lock)))
}

fn under(lock: Option<&str>) -> String {
    lock.map_or_else(String::new, |lock| format!(" under lock {}", Named(lock)))
}

/// 64 bits hold any duration that Redis reports, and need less code to print than 128.
const fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
