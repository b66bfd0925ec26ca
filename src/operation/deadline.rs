//! Computes when a lease surely ends.

use std::time::Duration;

use crate::nanos::Nanos;
use crate::runtime::Instant;

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
