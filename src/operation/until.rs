//! Until when a call makes sense: by a deadline, by a ttl, or by the time that requests take.

use std::time::Duration;

use crate::runtime::Instant;

/// How long an answer is useful.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// Up to an instant.
    Deadline(Instant),
    /// An acquisition's ttl, which starts again with each request.
    Ttl {
        ttl: Duration,
        /// How many requests it may still send.
        requests: u32,
    },
    /// For the time that requests may take.
    Timeout,
}

impl Until {
    pub(super) fn limit(self, now: Instant) -> Duration {
        match self {
            Self::Deadline(deadline) => deadline.since(now),
            Self::Ttl { ttl, .. } => ttl,
            Self::Timeout => Duration::MAX,
        }
    }

    /// How much of it one of several bridges may use. If that bridge does not respond, the others
    /// must still be able to grant a useful lock.
    pub(super) fn share(self, now: Instant) -> Duration {
        match self {
            Self::Ttl { .. } => self.limit(now) / 4,
            Self::Deadline(_) | Self::Timeout => self.limit(now),
        }
    }

    /// How often to send, of `attempts` that are allowed.
    pub(super) fn attempts(self, attempts: u32) -> u32 {
        match self {
            Self::Ttl { requests, .. } => attempts.min(requests),
            Self::Deadline(_) | Self::Timeout => attempts,
        }
    }
}
