//! What happens to a lock, for logs and metrics.

use std::time::Duration;

use crate::error::{BadResponse, Error};

/// Something that happened to a lock. [`crate::Runtime::observe`] gets it at that moment. It holds
/// no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The lock's key. Empty if it concerns no lock, as for a read without one.
    pub lock: &'a str,
    /// What happened.
    pub kind: EventKind<'a>,
}

/// What happened to a lock. Durations are measured by the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind<'a> {
    /// Another holder has the lock, and this acquisition begins to wait. Once for each acquisition
    /// that waits.
    #[non_exhaustive]
    Contended {
        /// The holder's time left; `None` if the lock has no expiry.
        remaining: Option<Duration>,
        /// How many waiters are ahead of this one.
        ahead: u64,
    },
    /// The lock was acquired.
    #[non_exhaustive]
    Acquired {
        /// From the call to the grant.
        waited: Duration,
        /// How many requests were sent for it.
        requests: u32,
    },
    /// A wait for the lock ended without it, or was given up because its future was dropped. There
    /// was no `Contended` before it if the wait was over when the first answer came.
    #[non_exhaustive]
    GaveUp {
        /// From the call to its end.
        waited: Duration,
        /// How many requests were sent for it, including the one that leaves the queue.
        requests: u32,
    },
    /// The work was [executed once](crate::Once) already. The acquisition got its result in place
    /// of the lock.
    #[non_exhaustive]
    Replayed {
        /// From the call to the result.
        waited: Duration,
        /// How many requests were sent for it.
        requests: u32,
    },
    /// The lease has its full ttl again.
    #[non_exhaustive]
    Renewed {
        /// How long the request took.
        took: Duration,
    },
    /// The lease is over although nobody gave it back: it ran out, was taken over or
    /// force-released, or Redis lost it.
    #[non_exhaustive]
    Lost {
        /// Since it was acquired or resumed.
        held: Duration,
    },
    /// The lock was given back.
    #[non_exhaustive]
    Released {
        /// Since it was acquired or resumed.
        held: Duration,
        /// How long the request took.
        took: Duration,
    },
    /// A request got lost, servers of a quorum have no say yet, or a grant was over when it was
    /// read. The client asks again after a pause.
    #[non_exhaustive]
    Retried {
        /// How the request got lost, [`Error::Quarantined`] or [`Error::Expired`].
        error: &'a Error,
        /// The time until it is asked again.
        pause: Duration,
    },
    /// A turn of a [`GroupCommit`](crate::GroupCommit) is over.
    #[non_exhaustive]
    Grouped {
        /// How many items were decided in it.
        items: u64,
        /// How many items wait for the next turn.
        waiting: u64,
        /// How long it took.
        took: Duration,
    },
}

impl EventKind<'_> {
    /// A name for this kind of event. It does not change between versions.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contended { .. } => "contended",
            Self::Acquired { .. } => "acquired",
            Self::GaveUp { .. } => "gave_up",
            Self::Replayed { .. } => "replayed",
            Self::Renewed { .. } => "renewed",
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::Retried { .. } => "retried",
            Self::Grouped { .. } => "grouped",
        }
    }

    /// An event with this code, for tests of code that observes events. The variants may grow, so
    /// only this crate constructs them. `None` if no event has the code. What it says is made up;
    /// what matters to a test can be set, as in [`Error::example`].
    pub fn example(code: &str) -> Option<EventKind<'static>> {
        static ERROR: Error = Error::bad(BadResponse::Truncated);
        let time = Duration::from_secs(1);
        let (waited, held, took, requests) = (time, time, time, 1);
        Some(match code {
            "contended" => EventKind::Contended { remaining: Some(time), ahead: 0 },
            "acquired" => EventKind::Acquired { waited, requests },
            "gave_up" => EventKind::GaveUp { waited, requests },
            "replayed" => EventKind::Replayed { waited, requests },
            "renewed" => EventKind::Renewed { took },
            "lost" => EventKind::Lost { held },
            "released" => EventKind::Released { held, took },
            "retried" => EventKind::Retried { error: &ERROR, pause: time },
            "grouped" => EventKind::Grouped { items: 1, waiting: 0, took },
            _ => return None,
        })
    }
}
