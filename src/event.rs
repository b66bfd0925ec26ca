//! What happens to a lock, for logs and metrics.

use std::time::Duration;

use crate::error::Error;

/// Something that happened to a lock, told to [`crate::Runtime::observe`] when it did. It holds no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The lock's key; empty for what concerns no lock, as a read without one.
    pub lock: &'a str,
    /// What happened.
    pub kind: EventKind<'a>,
}

/// What happened to a lock. Durations are by the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind<'a> {
    /// Another holds the lock, and this acquisition begins to wait. Once for each acquisition that waits.
    Contended {
        /// What the holder has left; `None` without end.
        remaining: Option<Duration>,
        /// How many wait before this one.
        ahead: u64,
    },
    /// The lock was taken.
    Acquired {
        /// From the call to the grant.
        waited: Duration,
        /// What was sent for it.
        requests: u32,
    },
    /// A wait for the lock ended in vain, or was given up: its future was dropped.
    GaveUp {
        /// From the call to its end.
        waited: Duration,
        /// What was sent for it, with the request that leaves the queue.
        requests: u32,
    },
    /// The lease has its full ttl again.
    Renewed {
        /// How long the request took.
        took: Duration,
    },
    /// The lease is over although nobody gave it back: it ran out, was forced, or Redis lost it.
    Lost {
        /// Since it was acquired, or resumed.
        held: Duration,
    },
    /// The lock was given back.
    Released {
        /// Since it was acquired, or resumed.
        held: Duration,
        /// How long the request took.
        took: Duration,
    },
    /// A request got lost, or servers of a quorum have no say yet, and it is sent again after a pause.
    Retried {
        /// How it got lost, or [`Error::Quarantined`].
        error: &'a Error,
        /// Until it is sent again.
        pause: Duration,
    },
    /// A turn of a [`GroupCommit`](crate::GroupCommit) is over.
    Grouped {
        /// How many items were decided in it.
        items: u64,
        /// How many others wait for the next.
        waiting: u64,
        /// How long it took.
        took: Duration,
    },
}

impl EventKind<'_> {
    /// A name for this kind of event that does not change between versions.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contended { .. } => "contended",
            Self::Acquired { .. } => "acquired",
            Self::GaveUp { .. } => "gave_up",
            Self::Renewed { .. } => "renewed",
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::Retried { .. } => "retried",
            Self::Grouped { .. } => "grouped",
        }
    }
}
