//! When a waiter asks again. It decides; it does not wait.

use std::time::Duration;

use super::backoff::{Backoff, between};
use crate::nanos::Nanos;
use crate::runtime::{Instant, Runtime};
use crate::script::Contended;

/// How long a waiter counts as alive after it asked. Its death can keep the next one waiting for so
/// long. It is no longer than a dead holder could keep it waiting, and 10 s at most, whatever the
/// wait is.
pub(crate) fn liveness(ttl: Duration) -> Duration {
    ttl.max(Duration::from_secs(1)).min(Duration::from_secs(10))
}

/// The longest pause of a waiter that must stay alive. A quarter is left for the request.
fn still_alive(liveness: Nanos) -> Nanos {
    liveness / 4 * 3
}

/// The pause between this many requests that must last for this time.
fn even(time: Nanos, requests: u32) -> Nanos {
    /// From this number on, a caller means "no limit".
    const NO_LIMIT: u32 = u32::MAX / 2;
    if requests > NO_LIMIT {
        return Nanos::ZERO;
    }
    time / requests.into()
}

/// A wait for a lock that another holder has: when to ask again.
pub(crate) struct Schedule {
    end: Instant,
    liveness: Nanos,
    /// How many requests it may send.
    requests: u32,
    /// The longest pause of a waiter that does not listen.
    longest: Nanos,
    jitter: Nanos,
    /// Since when it is first in the queue.
    first_since: Option<Instant>,
    hurried: bool,
    /// How often in a row it asked because the holder's time was up.
    expiries: u32,
    /// The ceiling of the pause after the next request that gets lost.
    ceiling: Nanos,
    /// The pause before it tries to listen again.
    deafness: Nanos,
    joined: Option<Joined>,
}

/// What a waiter found when it first learned its place.
struct Joined {
    at: Instant,
    ahead: u64,
    expiry_ms: Option<u64>,
}

impl Schedule {
    /// Below the round trip of most bridges, more requests find nothing new.
    const SHORTEST: Nanos = Nanos::ms(10);
    const LONGEST: Nanos = Nanos::ms(500);
    /// The pause of a waiter that polls is once to twice this for each waiter ahead. Hardly a turn
    /// is shorter, and a crowd that asked more often would keep Redis from the holder.
    const BEHIND: Nanos = Nanos::ms(1);
    /// A waiter that asks less often should give up instead.
    const SELDOM: Nanos = Nanos::ms(60_000);
    /// If a bridge refuses a subscription for now, the waiter does not ask again before half of
    /// this is over.
    const DEAF: Nanos = Nanos::ms(1_000);
    const DEAFEST: Nanos = Nanos::ms(10_000);
    /// Once the first waiter was overtaken for so long, and has asked, the lock is kept for it.
    const OVERTAKEN: Nanos = Nanos::ms(2_000);

    pub(crate) fn new(end: Instant, wait: Nanos, liveness: Nanos, max_requests: u32) -> Self {
        Self {
            end,
            liveness,
            requests: max_requests,
            longest: (even(wait, max_requests) * 2).min(still_alive(liveness)).max(Self::LONGEST),
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
        random: &dyn Runtime,
        found: &Contended,
        round_trip: Nanos,
        hears: bool,
        requests_left: u32,
    ) -> Option<Nanos> {
        self.joined.get_or_insert_with(|| Joined {
            at: now,
            ahead: found.ahead,
            expiry_ms: expiry_ms(found),
        });
        self.ceiling = Backoff::FIRST_CEILING;
        let left = self.left(now)?;
        let apart = self.apart(now, requests_left);
        let usual = if hears {
            self.to_stay_alive(now, requests_left).max(apart)
        } else {
            self.hurry(now, found);
            let ceiling = self.jitter * 3;
            self.jitter = between(random, Self::SHORTEST, ceiling).min(self.longest);
            let behind = apart.max(Self::BEHIND * found.ahead);
            let spread = between(random, behind, behind * 2);
            // But not so rarely that it would lose its place.
            let spread = spread.min(still_alive(self.liveness).max(apart));
            self.jitter.max(spread)
        };
        // A request whose answer would come after the end should leave at the end.
        let answered_in = round_trip.max(Self::SHORTEST).min(Self::LONGEST);
        let at_end = |pause| left - pause < answered_in;
        let usual = if at_end(usual) { left } else { usual };
        let at_expiry = self.at_expiry(found, round_trip).max(apart);
        self.expiries = if at_expiry < usual { self.expiries.saturating_add(1) } else { 0 };
        // A name that is kept for this waiter is then handed on.
        let kept = found.kept.map_or(Nanos::MAX, Nanos::of).max(apart);
        Some(usual.min(at_expiry).min(kept).min(left))
    }

    /// A waiter that polls asks soon again, once, when the lock may be kept for it: nobody else has
    /// the lock until it asks.
    fn hurry(&mut self, now: Instant, found: &Contended) {
        if found.ahead > 0 || self.hurried {
            return;
        }
        let since = *self.first_since.get_or_insert(now);
        self.hurried = since.to(now) >= Self::OVERTAKEN;
        if self.hurried {
            self.jitter = Self::SHORTEST;
        }
    }

    /// How long to pause before asking again after a request that got lost; `None` if the wait is
    /// over, or the bridge `asked` for more than is left of it.
    pub(crate) fn pause_after(
        &mut self,
        now: Instant,
        random: &dyn Runtime,
        asked: Option<Duration>,
        requests_left: u32,
    ) -> Option<Nanos> {
        let left = self.left(now)?;
        let earliest = asked.map_or(Nanos::ZERO, Nanos::of);
        if earliest > left || requests_left == 0 {
            return None;
        }
        let pause = between(random, Nanos::ZERO, self.ceiling);
        let last = self.longest.max(Backoff::LAST_CEILING);
        self.ceiling = (self.ceiling * 2).min(last);
        let pause = pause.max(earliest).max(self.apart(now, requests_left));
        Some(pause.min(left))
    }

    /// How long to go without listening after the bridge refused it, or the stream broke.
    pub(crate) fn pause_before_listening(&mut self, random: &dyn Runtime) -> Nanos {
        let pause = between(random, self.deafness / 2, self.deafness);
        self.deafness = (self.deafness * 2).min(Self::DEAFEST);
        pause
    }

    /// How long a waiter that may send nothing more goes on listening: while it counts as alive
    /// after its last request.
    pub(crate) fn rest(&self, now: Instant, asked_at: Instant) -> Option<Nanos> {
        let left = self.left(now)?.min(now.to(asked_at.after(self.liveness)));
        Some(left).filter(|left| !left.is_zero())
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.left(now).is_none()
    }

    fn left(&self, now: Instant) -> Option<Nanos> {
        Some(now.to(self.end)).filter(|left| !left.is_zero())
    }

    /// Three times within its liveness. Less often if requests must last for longer, but not so
    /// rarely that it would lose its place.
    fn to_stay_alive(&self, now: Instant, requests_left: u32) -> Nanos {
        let even = even(now.to(self.end), requests_left);
        even.max(self.liveness / 3).min(still_alive(self.liveness))
    }

    /// The pause with which the remaining requests last for the whole wait. It applies once half of
    /// them are sent, or the rest only just keep the place.
    pub(crate) fn apart(&self, now: Instant, requests_left: u32) -> Nanos {
        let even = even(now.to(self.end), requests_left);
        // So little less than the liveness that one extra request could cost the place.
        let only_just = self.liveness / 20 * 17..self.liveness;
        if requests_left > self.requests / 2 && !only_just.contains(&even) {
            return Nanos::ZERO;
        }
        even.min(Self::SELDOM)
    }

    /// When the holder's time is up: the first in the queue at once, the others behind it. If a
    /// holder keeps renewing a short lease, the waiter asks less and less often.
    fn at_expiry(&self, found: &Contended, round_trip: Nanos) -> Nanos {
        let Some(left) = found.remaining else {
            return Nanos::MAX;
        };
        let apart = round_trip.max(Self::SHORTEST);
        let behind = (apart * found.ahead).min(Self::LONGEST);
        let seldom = match self.expiries {
            0 => Nanos::ZERO,
            often => (Self::SHORTEST * (1 << often.min(32))).min(self.longest),
        };
        // Redis counts in whole milliseconds.
        (Nanos::of(left) + behind + Nanos::ms(1)).max(seldom)
    }

    /// When it would be this waiter's turn, from how fast the queue moved; `None` if it did not
    /// move, or only because others gave up.
    pub(crate) fn estimate(&self, found: &Contended, now: Instant) -> Option<Duration> {
        let joined = self.joined.as_ref()?;
        if is_same(joined.expiry_ms, expiry_ms(found)) {
            return None;
        }
        let served = joined.ahead.checked_sub(found.ahead).filter(|served| *served > 0)?;
        let turn = joined.at.to(now) / served;
        Some((turn * found.ahead.saturating_add(1)).duration())
    }
}

/// When the holder's time is up, by Redis's clock; `None` if it never is. Another holder, or the
/// same one once it has renewed, has another expiry.
fn expiry_ms(found: &Contended) -> Option<u64> {
    let left = found.remaining?.as_millis() as u64;
    Some((found.redis_us / 1_000).saturating_add(left))
}

/// Whether these are one expiry. Redis tells the time that is left in whole milliseconds.
fn is_same(one: Option<u64>, other: Option<u64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.abs_diff(other) <= 2,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
