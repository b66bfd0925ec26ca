//! For how long a call makes sense, by a deadline, by a ttl, or by the time that requests take, and
//! for how many requests. When a lease surely ends.

use std::time::Duration;

use crate::nanos::Nanos;
use crate::runtime::Instant;

/// How long an answer is useful, and how often it may be asked for.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimit {
    span: Span,
    attempts: u32,
    requests: u32,
}

#[derive(Clone, Copy)]
enum Span {
    /// Up to an instant.
    At(Instant),
    /// An acquisition's ttl, which starts again with each request.
    Ttl(Nanos),
    /// For the time that requests may take.
    Timeout,
}

impl TimeLimit {
    /// For the time that requests may take.
    pub(crate) const TIMEOUT: Self = Self::of(Span::Timeout);

    /// Up to an instant.
    pub(super) const fn at(instant: Instant) -> Self {
        Self::of(Span::At(instant))
    }

    /// For an acquisition's ttl, which starts again with each request.
    pub(super) const fn ttl(ttl: Nanos) -> Self {
        Self::of(Span::Ttl(ttl))
    }

    /// Up to an instant, for as many requests.
    pub(super) const fn until(self, instant: Instant) -> Self {
        Self { span: Span::At(instant), ..self }
    }

    const fn of(span: Span) -> Self {
        Self { span, attempts: u32::MAX, requests: u32::MAX }
    }

    /// And for so many attempts at each bridge. One takes a second request where Redis does not
    /// know its script.
    pub(super) const fn attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// And for so many requests to each bridge, one at least.
    pub(super) fn requests(self, requests: u32) -> Self {
        Self { requests: requests.max(1), ..self }
    }

    pub(super) fn left(self, now: Instant) -> Nanos {
        match self.span {
            Span::At(instant) => now.to(instant),
            Span::Ttl(ttl) => ttl,
            Span::Timeout => Nanos::MAX,
        }
    }

    /// How much of it one of several bridges may use. If that bridge does not respond, the others
    /// must still be able to grant a useful lock.
    pub(super) fn share(self, now: Instant) -> Nanos {
        match self.span {
            Span::Ttl(ttl) => ttl / 4,
            Span::At(_) | Span::Timeout => self.left(now),
        }
    }

    /// How many attempts are left of those that a topology has.
    pub(super) fn attempts_of(self, attempts: u32) -> u32 {
        self.attempts.min(attempts)
    }

    /// How many requests are left once `sent` were.
    pub(super) const fn requests_left(self, sent: u32) -> u32 {
        self.requests.saturating_sub(sent)
    }

    /// Whether it has a deadline, which no request moves.
    pub(super) const fn is_at_instant(self) -> bool {
        matches!(self.span, Span::At(_))
    }
}

/// When a lease ends by the holder's clock: `ttl` after its request left, less a margin for clocks
/// that run at different rates and for Redis's own granularity. 1 % and 2 ms are those of Redlock
/// (<https://redis.io/docs/latest/develop/use/patterns/distributed-locks/>).
pub(crate) fn deadline(asked_at: Instant, ttl: Duration) -> Instant {
    asked_at.after(surely(Nanos::of(ttl)))
}

/// How long a lease of this ttl surely lasts.
pub(crate) fn surely(ttl: Nanos) -> Nanos {
    ttl - drift(ttl)
}

pub(crate) fn drift(ttl: Nanos) -> Nanos {
    ttl / 100 + Nanos::ms(2)
}
