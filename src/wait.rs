//! When to ask again. Decides; does not wait.

use std::time::Duration;

use crate::error::Error;
use crate::runtime::Runtime;

/// Pauses between attempts whose requests got lost.
pub(crate) struct Backoff {
    attempts_left: u32,
    ceiling: Duration,
}

impl Backoff {
    const FIRST_CEILING: Duration = Duration::from_millis(50);

    pub(crate) fn new(attempts: u32) -> Self {
        Self {
            attempts_left: attempts.saturating_sub(1),
            ceiling: Self::FIRST_CEILING,
        }
    }

    /// How long to pause after `error`, or `None` to give up. At random up to a ceiling that doubles, so that clients that
    /// failed together do not come back together; not before the bridge said.
    pub(crate) fn pause<R: Runtime>(&mut self, runtime: &R, error: &Error) -> Option<Duration> {
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        let pause = between(runtime, Duration::ZERO, self.ceiling);
        self.ceiling *= 2;
        Some(match error {
            Error::Unavailable {
                retry_after: Some(earliest),
                ..
            } => pause.max(*earliest),
            _ => pause,
        })
    }
}

/// Pauses of a waiter that polls: decorrelated jitter
/// (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>).
pub(crate) struct Poll {
    pause: Duration,
}

impl Poll {
    /// Below the round trip of most bridges, asking more often finds nothing new.
    const SHORTEST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_millis(500);
    /// What the last request may take, at least: a wait that ended before its answer would end without knowing who has the lock.
    const LAST_ANSWER: Duration = Duration::from_millis(100);

    pub(crate) const fn new() -> Self {
        Self {
            pause: Self::SHORTEST,
        }
    }

    /// How long to pause before asking again, given what the holder and the wait have left and how long the last answer took;
    /// `None` if the wait has no time left for another answer.
    pub(crate) fn pause<R: Runtime>(
        &mut self,
        runtime: &R,
        holder_left: Option<Duration>,
        wait_left: Duration,
        round_trip: Duration,
    ) -> Option<Duration> {
        let answer = Self::LAST_ANSWER.max(round_trip * 2);
        let latest = wait_left
            .checked_sub(answer)
            .filter(|latest| *latest >= Self::SHORTEST)?;
        self.pause = between(runtime, Self::SHORTEST, self.pause * 3).min(Self::LONGEST);
        // A lock is free once its holder's time is up, and Redis counts in whole milliseconds.
        let at_expiry = holder_left.map_or(Duration::MAX, |left| left + Duration::from_millis(1));
        Some(self.pause.min(at_expiry).min(latest))
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
    use crate::runtime::{Moment, NoRandomness, Task};

    /// Every draw is the same.
    struct Loaded(u8);

    impl Runtime for Loaded {
        fn now(&self) -> Moment {
            Moment::from_origin(Duration::ZERO)
        }

        async fn sleep(&self, _: Duration) {}

        fn random(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
            bytes.fill(self.0);
            Ok(())
        }

        fn spawn(&self, _: Task) {}
    }

    const HIGH: Loaded = Loaded(0xff);
    const LONG: Duration = Duration::from_secs(60);

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn polls_grow_apart_up_to_half_a_second() {
        let mut poll = Poll::new();
        let pauses: Vec<_> = (0..6)
            .map(|_| poll.pause(&HIGH, None, LONG, ms(1)).unwrap().as_millis())
            .collect();
        assert_eq!(pauses, [30, 90, 270, 500, 500, 500]);
        let shortest = Poll::new().pause(&Loaded(0), None, LONG, ms(1));
        assert_eq!(shortest, Some(ms(10)));
    }

    #[test]
    fn a_poll_comes_when_the_holder_is_over_if_that_is_sooner() {
        let pause = Poll::new().pause(&HIGH, Some(ms(4)), LONG, ms(1));
        assert_eq!(pause, Some(ms(5)));
    }

    #[test]
    fn a_poll_leaves_time_for_its_answer_before_the_wait_is_over() {
        let mut poll = Poll::new();
        assert_eq!(poll.pause(&HIGH, None, ms(122), ms(5)), Some(ms(22)));
        assert_eq!(poll.pause(&HIGH, None, ms(182), ms(80)), Some(ms(22)));
        assert_eq!(poll.pause(&HIGH, None, ms(109), ms(5)), None);
        assert_eq!(poll.pause(&HIGH, None, Duration::ZERO, ms(5)), None);
    }

    #[test]
    fn attempts_end_and_their_pauses_double() {
        let lost = Error::TimedOut(ms(1));
        let mut backoff = Backoff::new(3);
        assert_eq!(backoff.pause(&HIGH, &lost), Some(ms(50)));
        assert_eq!(backoff.pause(&HIGH, &lost), Some(ms(100)));
        assert_eq!(backoff.pause(&HIGH, &lost), None);
        assert_eq!(Backoff::new(0).pause(&HIGH, &lost), None);
    }
}
