//! When to ask again. Decides; does not wait.

use std::time::Duration;

use crate::error::Error;
use crate::runtime::{Moment, Runtime};
use crate::script::Contended;

/// Pauses between attempts whose requests got lost.
pub(crate) struct Backoff {
    attempts_left: u32,
    ceiling: Duration,
    /// For how long in all a bridge that asks to be left alone still is.
    patience: Duration,
}

impl Backoff {
    const FIRST_CEILING: Duration = Duration::from_millis(50);

    pub(crate) fn new(attempts: u32, patience: Duration) -> Self {
        Self {
            attempts_left: attempts.saturating_sub(1),
            ceiling: Self::FIRST_CEILING,
            patience,
        }
    }

    /// From now on a bridge may ask for any pause. How long is too long is for the caller to judge.
    pub(crate) const fn lose_no_patience(&mut self) {
        self.patience = Duration::MAX;
    }

    /// How long to pause after `error`, or `None` to give up. At random up to a ceiling that doubles, so that clients that
    /// failed together do not come back together; not before the bridge said, and not at all if that is too long.
    pub(crate) fn pause<R: Runtime>(&mut self, runtime: &R, error: &Error) -> Option<Duration> {
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        let pause = between(runtime, Duration::ZERO, self.ceiling);
        self.ceiling *= 2;
        let Some(earliest) = error.retry_after() else {
            return Some(pause);
        };
        self.patience = self.patience.checked_sub(earliest)?;
        Some(pause.max(earliest))
    }
}

/// For how long a waiter counts as alive after it asked: how long its death can keep the next one waiting. Not longer than a
/// dead holder could, but long enough for `max_requests` to last for the whole of `wait`.
pub(crate) fn liveness(ttl: Duration, wait: Duration, max_requests: u32) -> Duration {
    ttl.clamp(Duration::from_secs(1), Duration::from_secs(10))
        .max(wait * 4 / max_requests.max(1))
}

/// A wait for a lock that another holds: when to ask again.
pub(crate) struct Wait {
    give_up: Moment,
    liveness: Duration,
    /// How many it may send.
    requests: u32,
    /// The longest pause of a waiter that hears nothing.
    longest: Duration,
    jitter: Duration,
    /// How often in a row it asked because the holder's time was up.
    expiries: u32,
    /// When it first heard of its place, and which that was.
    joined: Option<(Moment, u64)>,
}

impl Wait {
    /// Below the round trip of most bridges, asking more often finds nothing new.
    const SHORTEST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_millis(500);
    /// What the last request may take, at least: a wait that ended before its answer would end without knowing who has the lock.
    const LAST_ANSWER: Duration = Duration::from_millis(100);

    pub(crate) fn new(
        give_up: Moment,
        wait: Duration,
        liveness: Duration,
        max_requests: u32,
    ) -> Self {
        Self {
            give_up,
            liveness,
            requests: max_requests,
            longest: Self::LONGEST.max(wait * 2 / max_requests.max(1)),
            jitter: Self::SHORTEST,
            expiries: 0,
            joined: None,
        }
    }

    /// Whether a wait of `wait` has time for more than one answer.
    pub(crate) fn is_worthwhile(wait: Duration) -> bool {
        wait >= Self::LAST_ANSWER + Self::SHORTEST
    }

    /// How long to pause before asking again, given what the last answer said and how long it took; `None` if the wait has no time
    /// left for another answer. Who `hears` of its turn asks only to be counted as alive, and when the holder's time is up; who does
    /// not polls, with decorrelated jitter
    /// (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>).
    pub(crate) fn pause<R: Runtime>(
        &mut self,
        runtime: &R,
        found: &Contended,
        round_trip: Duration,
        hears: bool,
        requests_left: u32,
    ) -> Option<Duration> {
        let now = runtime.now();
        self.joined.get_or_insert((now, found.ahead));
        let answer = Self::LAST_ANSWER.max(round_trip * 2);
        let latest = self
            .give_up
            .since(now)
            .checked_sub(answer)
            .filter(|latest| *latest >= Self::SHORTEST)?;
        let usual = if hears {
            self.liveness / 3
        } else {
            self.jitter = between(runtime, Self::SHORTEST, self.jitter * 3).min(self.longest);
            self.jitter.max(self.spread(runtime, requests_left))
        };
        let at_expiry = self.at_expiry(found, round_trip);
        self.expiries = if at_expiry < usual {
            self.expiries + 1
        } else {
            0
        };
        Some(usual.min(at_expiry).min(latest))
    }

    /// How long who can only listen any more may go on with it; `None` if the wait is over.
    pub(crate) fn rest(&self, now: Moment) -> Option<Duration> {
        self.give_up
            .since(now)
            .checked_sub(Self::SHORTEST)
            .filter(|rest| !rest.is_zero())
    }

    /// From when half of its requests are sent: what they must be apart for the others to last for the whole wait.
    fn spread<R: Runtime>(&self, runtime: &R, requests_left: u32) -> Duration {
        if requests_left > self.requests / 2 {
            return Duration::ZERO;
        }
        let left = self.give_up.since(runtime.now());
        let apart = left / requests_left.max(1);
        between(runtime, apart, apart * 2)
    }

    /// When the holder's time is up: the first in the queue at once, the others behind it. A holder that goes on renewing a short
    /// lease is asked after less and less often.
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
        (left + behind + Duration::from_millis(1)).max(seldom)
    }

    /// When it would be this waiter's turn, judged by how the line moved; `None` if it did not.
    pub(crate) fn estimate(&self, found: &Contended, now: Moment) -> Option<Duration> {
        let (since, place) = self.joined?;
        let served = u32::try_from(place.checked_sub(found.ahead)?).ok()?;
        let turn = now.since(since).checked_div(served)?;
        Some(turn.saturating_mul(u32::try_from(found.ahead).ok()?.saturating_add(1)))
    }
}

/// At random; in the middle where the host gives no random bytes.
fn between<R: Runtime>(runtime: &R, low: Duration, high: Duration) -> Duration {
    let mut bytes = [0x80, 0];
    let _ = runtime.random(&mut bytes);
    let part = f64::from(u16::from_be_bytes(bytes)) / f64::from(u16::MAX);
    low + high.saturating_sub(low).mul_f64(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{NoRandomness, Task};

    /// Every draw is the same, and time stands still.
    struct Loaded(u8, Moment);

    impl Loaded {
        const fn drawing(byte: u8) -> Self {
            Self(byte, Moment::from_origin(Duration::ZERO))
        }
    }

    impl Runtime for Loaded {
        fn now(&self) -> Moment {
            self.1
        }

        async fn sleep(&self, _: Duration) {}

        fn random(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
            bytes.fill(self.0);
            Ok(())
        }

        fn spawn(&self, _: Task) {}
    }

    const HIGH: Loaded = Loaded::drawing(0xff);
    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// At the origin of time, with `wait` left and nobody ahead.
    fn wait(wait: Duration) -> Wait {
        let give_up = Moment::from_origin(wait);
        Wait::new(give_up, wait, ms(9_000), 40)
    }

    fn found(remaining: Option<Duration>, ahead: u64) -> Contended {
        Contended {
            remaining,
            ahead,
            redis_us: 1,
        }
    }

    const ENDLESS: Contended = Contended {
        remaining: None,
        ahead: 0,
        redis_us: 1,
    };
    const FIVE: Duration = Duration::from_secs(5);

    #[test]
    fn polls_grow_apart_up_to_half_a_second() {
        let mut polled = wait(FIVE);
        let pauses: Vec<_> = (0..6)
            .map(|_| {
                let pause = polled.pause(&HIGH, &ENDLESS, ms(1), false, 40).unwrap();
                pause.as_millis()
            })
            .collect();
        assert_eq!(pauses, [30, 90, 270, 500, 500, 500]);
        let shortest = wait(FIVE).pause(&Loaded::drawing(0), &ENDLESS, ms(1), false, 40);
        assert_eq!(shortest, Some(ms(10)));
    }

    #[test]
    fn requests_last_for_a_long_wait() {
        let minute = Duration::from_secs(60);
        let mut polled = wait(minute);
        let longest = (0..9).filter_map(|_| polled.pause(&HIGH, &ENDLESS, ms(1), false, 40));
        assert_eq!(longest.max(), Some(ms(3_000)));
        assert_eq!(liveness(ms(500), FIVE, 40), ms(1_000));
        assert_eq!(liveness(minute, FIVE, 40), ms(10_000));
        assert_eq!(liveness(minute, minute * 5, 40), ms(30_000));
    }

    #[test]
    fn whatever_is_drawn_requests_last_for_the_whole_wait() {
        let minute = Duration::from_secs(60);
        let end = Moment::from_origin(minute - Wait::LAST_ANSWER - Wait::SHORTEST);
        for draw in [0, 0x20, 0x80, 0xff] {
            let mut at = Loaded::drawing(draw);
            let mut polled = wait(minute);
            let mut left = (1..40).rev();
            while let Some(pause) =
                polled.pause(&at, &ENDLESS, ms(1), false, left.next().unwrap_or(0))
            {
                at.1 = at.1 + pause;
            }
            assert!(at.1 >= end, "{draw}: {:?}", at.1);
        }
    }

    #[test]
    fn who_hears_of_its_turn_asks_to_be_counted_as_alive() {
        let pause = wait(FIVE).pause(&HIGH, &ENDLESS, ms(1), true, 40);
        assert_eq!(pause, Some(ms(3_000)));
    }

    #[test]
    fn when_the_holder_is_over_the_first_asks_first() {
        for hears in [true, false] {
            let at = |ahead| wait(FIVE).pause(&HIGH, &found(Some(ms(4)), ahead), ms(12), hears, 40);
            assert_eq!(at(0), Some(ms(5)));
            assert_eq!(at(1), Some(ms(17)));
        }
        let last = wait(FIVE).pause(&HIGH, &found(Some(ms(4)), u64::MAX), ms(12), true, 40);
        assert_eq!(last, Some(ms(505)));
    }

    #[test]
    fn a_holder_that_renews_a_short_lease_is_asked_after_less_and_less_often() {
        let mut listening = wait(FIVE);
        let pauses: Vec<_> = (0..5)
            .map(|_| {
                let pause = listening.pause(&HIGH, &found(Some(ms(4)), 0), ms(1), true, 40);
                pause.unwrap().as_millis()
            })
            .collect();
        assert_eq!(pauses, [5, 20, 40, 80, 160]);
    }

    #[test]
    fn a_pause_leaves_time_for_its_answer_before_the_wait_is_over() {
        let pause = |left, took| wait(left).pause(&HIGH, &ENDLESS, took, false, 40);
        assert_eq!(pause(ms(122), ms(5)), Some(ms(22)));
        assert_eq!(pause(ms(182), ms(80)), Some(ms(22)));
        assert_eq!(pause(ms(109), ms(5)), None);
        assert_eq!(pause(Duration::ZERO, ms(5)), None);
    }

    #[test]
    fn when_to_come_back_is_judged_by_how_the_line_moved() {
        let estimate = |first: u64, last: u64| {
            let mut waited = wait(FIVE);
            let _ = waited.pause(&HIGH, &found(Some(ms(9_000)), first), ms(1), true, 40);
            let now = Moment::from_origin(ms(1_000));
            waited.estimate(&found(Some(ms(9_000)), last), now)
        };
        assert_eq!(estimate(12, 2), Some(ms(300)));
        assert_eq!(estimate(2, 2), None);
        assert_eq!(estimate(2, 3), None);
    }

    #[test]
    fn attempts_end_and_their_pauses_double() {
        let lost = Error::TimedOut(ms(1));
        let mut backoff = Backoff::new(3, Duration::ZERO);
        assert_eq!(backoff.pause(&HIGH, &lost), Some(ms(50)));
        assert_eq!(backoff.pause(&HIGH, &lost), Some(ms(100)));
        assert_eq!(backoff.pause(&HIGH, &lost), None);
        assert_eq!(Backoff::new(0, Duration::ZERO).pause(&HIGH, &lost), None);
    }

    #[test]
    fn a_bridge_is_left_alone_for_as_long_as_patience_lasts() {
        let busy = |seconds| Error::Unavailable {
            message: String::new(),
            retry_after: Some(Duration::from_secs(seconds)),
            may_have_run: false,
        };
        let mut backoff = Backoff::new(9, ms(2_500));
        assert_eq!(backoff.pause(&HIGH, &busy(1)), Some(ms(1_000)));
        assert_eq!(backoff.pause(&HIGH, &Error::Truncated), Some(ms(100)));
        assert_eq!(backoff.pause(&HIGH, &busy(2)), None);
        assert_eq!(backoff.pause(&HIGH, &busy(1)), Some(ms(1_000)));
        assert_eq!(backoff.pause(&HIGH, &busy(1)), None);
        backoff.lose_no_patience();
        assert_eq!(backoff.pause(&HIGH, &busy(86_400)), Some(ms(86_400_000)));
    }
}
