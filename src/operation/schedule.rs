//! When a waiter asks again. It decides; it does not wait.

use std::time::Duration;

use super::backoff::{Backoff, between};
use crate::error::Error;
use crate::runtime::{Instant, Surroundings};
use crate::script::Contended;

/// How long a waiter counts as alive after it asked. Its death can keep the next one waiting for so
/// long. It is no longer than a dead holder could keep it waiting, and 10 s at most, whatever the
/// wait is.
pub(crate) fn liveness(ttl: Duration) -> Duration {
    ttl.clamp(Duration::from_secs(1), Duration::from_secs(10))
}

/// The longest pause of a waiter that must stay alive. A quarter is left for the request.
fn still_alive(liveness: Duration) -> Duration {
    liveness / 4 * 3
}

/// The pause between this many requests that must last for this time.
fn even(time: Duration, requests: u32) -> Duration {
    /// From this number on, a caller means "no limit".
    const NO_LIMIT: u32 = u32::MAX / 2;
    if requests > NO_LIMIT {
        return Duration::ZERO;
    }
    time / requests.max(1)
}

/// A wait for a lock that another holder has: when to ask again.
pub(crate) struct Schedule {
    end: Instant,
    liveness: Duration,
    /// How many requests it may send.
    requests: u32,
    /// The longest pause of a waiter that does not listen.
    longest: Duration,
    jitter: Duration,
    /// Since when it is first in the queue.
    first_since: Option<Instant>,
    hurried: bool,
    /// How often in a row it asked because the holder's time was up.
    expiries: u32,
    /// The ceiling of the pause after the next request that gets lost.
    ceiling: Duration,
    /// The pause before it tries to listen again.
    deafness: Duration,
    joined: Option<Joined>,
}

/// What a waiter found when it first learned its place.
struct Joined {
    at: Instant,
    ahead: u64,
    expiry: Option<Duration>,
}

impl Schedule {
    /// Below the round trip of most bridges, more requests find nothing new.
    const SHORTEST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_millis(500);
    /// A waiter that asks less often should give up instead.
    const SELDOM: Duration = Duration::from_secs(60);
    /// If a bridge refuses a subscription for now, the waiter does not ask again before half of
    /// this is over.
    const DEAF: Duration = Duration::from_secs(1);
    const DEAFEST: Duration = Duration::from_secs(10);
    /// Once the first waiter was overtaken for so long, and has asked, the lock is kept for it.
    const OVERTAKEN: Duration = Duration::from_secs(2);

    pub(crate) fn new(end: Instant, wait: Duration, liveness: Duration, max_requests: u32) -> Self {
        Self {
            end,
            liveness,
            requests: max_requests,
            longest: even(wait, max_requests)
                .saturating_mul(2)
                .clamp(Self::LONGEST, still_alive(liveness).max(Self::LONGEST)),
            jitter: Self::SHORTEST,
            first_since: None,
            hurried: false,
            expiries: 0,
            ceiling: Backoff::FIRST_CEILING,
            deafness: Self::DEAF,
            joined: None,
        }
    }

    /// How long to pause before asking again, from what the last answer said and how long it took;
    /// `None` if the wait is over. A waiter that `hears` of its turn asks only to count as alive,
    /// and when the holder's time is up. One that does not polls, with decorrelated jitter
    /// (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>). All ask once
    /// more at the very end.
    pub(crate) fn pause(
        &mut self,
        now: Instant,
        random: &dyn Surroundings,
        found: &Contended,
        round_trip: Duration,
        hears: bool,
        requests_left: u32,
    ) -> Option<Duration> {
        self.joined.get_or_insert_with(|| Joined {
            at: now,
            ahead: found.ahead,
            expiry: expiry(found),
        });
        self.ceiling = Backoff::FIRST_CEILING;
        let left = self.left(now)?;
        let apart = self.apart(now, requests_left);
        let usual = if hears {
            self.to_stay_alive(now, requests_left).max(apart)
        } else {
            self.hurry(now, found);
            let ceiling = self.jitter.saturating_mul(3);
            self.jitter = between(random, Self::SHORTEST, ceiling).min(self.longest);
            let spread = between(random, apart, apart.saturating_mul(2));
            // But not so rarely that it would lose its place.
            let spread = spread.min(still_alive(self.liveness).max(apart));
            self.jitter.max(spread)
        };
        // A request whose answer would come after the end should leave at the end.
        let answered_in = round_trip.clamp(Self::SHORTEST, Self::LONGEST);
        let at_end = |pause| left.saturating_sub(pause) < answered_in;
        let usual = if at_end(usual) { left } else { usual };
        let at_expiry = self.at_expiry(found, round_trip).max(apart);
        self.expiries = if at_expiry < usual {
            self.expiries.saturating_add(1)
        } else {
            0
        };
        // A name that is kept for this waiter is then handed on.
        let kept = found.kept.map_or(Duration::MAX, |kept| kept.max(apart));
        Some(usual.min(at_expiry).min(kept).min(left))
    }

    /// A waiter that polls asks soon again, once, when the lock may be kept for it: nobody else has
    /// the lock until it asks.
    fn hurry(&mut self, now: Instant, found: &Contended) {
        if found.ahead > 0 || self.hurried {
            return;
        }
        let since = *self.first_since.get_or_insert(now);
        self.hurried = now.since(since) >= Self::OVERTAKEN;
        if self.hurried {
            self.jitter = Self::SHORTEST;
        }
    }

    /// How long to pause before asking again after a request that got lost with `error`; `None` if
    /// the wait is over, or the bridge is away for longer.
    pub(crate) fn pause_after(
        &mut self,
        now: Instant,
        random: &dyn Surroundings,
        error: &Error,
        requests_left: u32,
    ) -> Option<Duration> {
        let left = self.left(now)?;
        let earliest = error.retry_after().unwrap_or_default();
        if earliest > left || requests_left == 0 {
            return None;
        }
        let pause = between(random, Duration::ZERO, self.ceiling);
        let last = self.longest.max(Backoff::LAST_CEILING);
        self.ceiling = (self.ceiling * 2).min(last);
        let pause = pause.max(earliest).max(self.apart(now, requests_left));
        Some(pause.min(left))
    }

    /// How long to go without listening after the bridge refused it, or the stream broke.
    pub(crate) fn pause_before_listening(&mut self, random: &dyn Surroundings) -> Duration {
        let pause = between(random, self.deafness / 2, self.deafness);
        self.deafness = (self.deafness * 2).min(Self::DEAFEST);
        pause
    }

    /// How long a waiter that may send nothing more goes on listening: while it counts as alive
    /// after its last request.
    pub(crate) fn rest(&self, now: Instant, asked_at: Instant) -> Option<Duration> {
        let left = self.left(now)?.min((asked_at + self.liveness).since(now));
        Some(left).filter(|left| !left.is_zero())
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.left(now).is_none()
    }

    fn left(&self, now: Instant) -> Option<Duration> {
        Some(self.end.since(now)).filter(|left| !left.is_zero())
    }

    /// Three times within its liveness. Less often if requests must last for longer, but not so
    /// rarely that it would lose its place.
    fn to_stay_alive(&self, now: Instant, requests_left: u32) -> Duration {
        let even = even(self.end.since(now), requests_left);
        even.clamp(self.liveness / 3, still_alive(self.liveness))
    }

    /// The pause with which the remaining requests last for the whole wait. It applies once half of
    /// them are sent, or the rest only just keep the place.
    pub(crate) fn apart(&self, now: Instant, requests_left: u32) -> Duration {
        let even = even(self.end.since(now), requests_left);
        // So little less than the liveness that one extra request could cost the place.
        let only_just = self.liveness / 20 * 17..self.liveness;
        if requests_left > self.requests / 2 && !only_just.contains(&even) {
            return Duration::ZERO;
        }
        even.min(Self::SELDOM)
    }

    /// When the holder's time is up: the first in the queue at once, the others behind it. If a
    /// holder keeps renewing a short lease, the waiter asks less and less often.
    fn at_expiry(&self, found: &Contended, round_trip: Duration) -> Duration {
        let Some(left) = found.remaining else {
            return Duration::MAX;
        };
        let apart = round_trip.max(Self::SHORTEST);
        let ahead = u32::try_from(found.ahead).unwrap_or(u32::MAX);
        let behind = apart.saturating_mul(ahead).min(Self::LONGEST);
        let seldom = Self::SHORTEST.saturating_mul(2_u32.saturating_pow(self.expiries));
        let seldom = if self.expiries == 0 {
            Duration::ZERO
        } else {
            seldom.min(self.longest)
        };
        // Redis counts in whole milliseconds.
        left.saturating_add(behind)
            .saturating_add(Duration::from_millis(1))
            .max(seldom)
    }

    /// When it would be this waiter's turn, from how fast the queue moved; `None` if it did not
    /// move, or only because others gave up.
    pub(crate) fn estimate(&self, found: &Contended, now: Instant) -> Option<Duration> {
        let joined = self.joined.as_ref()?;
        if is_same(joined.expiry, expiry(found)) {
            return None;
        }
        let served = u32::try_from(joined.ahead.checked_sub(found.ahead)?).ok()?;
        let turn = now.since(joined.at).checked_div(served)?;
        Some(turn.saturating_mul(u32::try_from(found.ahead).ok()?.saturating_add(1)))
    }
}

/// When the holder's time is up, by Redis's clock; `None` if it never is. Another holder, or the
/// same one once it has renewed, has another expiry.
fn expiry(found: &Contended) -> Option<Duration> {
    Some(Duration::from_micros(found.redis_us).saturating_add(found.remaining?))
}

/// Whether these are one expiry. Redis tells the time that is left in whole milliseconds.
fn is_same(one: Option<Duration>, other: Option<Duration>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.abs_diff(other) <= Duration::from_millis(2),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
