//! For how long a call makes sense: by a deadline, by a ttl, or by the time that requests take.

use std::time::Duration;

use crate::runtime::Instant;

/// How long an answer is useful.
#[derive(Clone, Copy)]
pub(crate) enum TimeLimit {
    /// Up to an instant.
    At(Instant),
    /// An acquisition's ttl, which starts again with each request.
    Ttl {
        ttl: Duration,
        /// How many requests it may still send.
        requests: u32,
    },
    /// For the time that requests may take.
    Timeout,
}

impl TimeLimit {
    pub(super) fn left(self, now: Instant) -> Duration {
        match self {
            Self::At(instant) => instant.since(now),
            Self::Ttl { ttl, .. } => ttl,
            Self::Timeout => Duration::MAX,
        }
    }

    /// How much of it one of several bridges may use. If that bridge does not respond, the others
    /// must still be able to grant a useful lock.
    pub(super) fn share(self, now: Instant) -> Duration {
        match self {
            Self::Ttl { .. } => self.left(now) / 4,
            Self::At(_) | Self::Timeout => self.left(now),
        }
    }

    /// How often to send, of `attempts` that are allowed.
    pub(super) fn attempts(self, attempts: u32) -> u32 {
        match self {
            Self::Ttl { requests, .. } => attempts.min(requests),
            Self::At(_) | Self::Timeout => attempts,
        }
    }
}
