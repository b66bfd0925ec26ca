//! Pauses between attempts whose requests got lost.

use std::time::Duration;

use crate::error::Error;
use crate::runtime::Surroundings;

/// Pauses between attempts whose requests got lost.
pub(crate) struct Backoff {
    attempts_left: u32,
    ceiling: Duration,
    /// How much longer, in all, to obey a bridge that asks to be left alone.
    patience: Duration,
}

impl Backoff {
    pub(super) const FIRST_CEILING: Duration = Duration::from_millis(50);
    pub(super) const LAST_CEILING: Duration = Duration::from_secs(1);

    pub(crate) fn new(attempts: u32, patience: Duration) -> Self {
        Self {
            attempts_left: attempts.saturating_sub(1),
            ceiling: Self::FIRST_CEILING,
            patience,
        }
    }

    /// From now on a bridge may ask for any pause. The caller decides how long is too long.
    pub(crate) const fn lose_no_patience(&mut self) {
        self.patience = Duration::MAX;
    }

    /// How long to pause after `error`, or `None` to give up. The pause is random, up to a ceiling
    /// that doubles up to a second, so that clients that failed together do not come back together.
    /// It is no shorter than the bridge asked for. If that is too long, there is none.
    pub(crate) fn pause(&mut self, random: &dyn Surroundings, error: &Error) -> Option<Duration> {
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        let pause = between(random, Duration::ZERO, self.ceiling);
        self.ceiling = (self.ceiling * 2).min(Self::LAST_CEILING);
        let Some(earliest) = error.retry_after() else {
            return Some(pause);
        };
        self.patience = self.patience.checked_sub(earliest)?;
        Some(pause.max(earliest))
    }
}

/// At random; in the middle if the host gives no random bytes.
pub(super) fn between(random: &dyn Surroundings, low: Duration, high: Duration) -> Duration {
    let mut bytes = [0x80, 0];
    let _ = random.draw(&mut bytes);
    let drawn = u32::from(u16::from_be_bytes(bytes));
    let above = high.saturating_sub(low).saturating_mul(drawn) / u32::from(u16::MAX);
    low.saturating_add(above)
}

/// A random source whose draws are all the same.
#[cfg(test)]
pub(super) struct Loaded(pub(super) u8);

#[cfg(test)]
impl Surroundings for Loaded {
    fn draw(&self, bytes: &mut [u8]) -> Result<(), crate::runtime::EntropyUnavailable> {
        bytes.fill(self.0);
        Ok(())
    }

    fn tell(&self, _: &crate::event::Event<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: Loaded = Loaded(0xff);

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn attempts_end_and_their_pauses_double() {
        let lost = Error::timed_out(ms(1));
        let mut backoff = Backoff::new(3, Duration::ZERO);
        assert_eq!(backoff.pause(&HIGH, &lost), Some(ms(50)));
        assert_eq!(backoff.pause(&HIGH, &lost), Some(ms(100)));
        assert_eq!(backoff.pause(&HIGH, &lost), None);
        assert_eq!(Backoff::new(0, Duration::ZERO).pause(&HIGH, &lost), None);
    }

    #[test]
    fn a_bridge_is_left_alone_for_as_long_as_patience_lasts() {
        let busy = |seconds| Error::Unavailable {
            lock: None,
            message: String::new(),
            retry_after: Some(Duration::from_secs(seconds)),
            may_have_run: false,
            can_repeat: false,
            reason: None,
        };
        let mut backoff = Backoff::new(9, ms(2_500));
        assert_eq!(backoff.pause(&HIGH, &busy(1)), Some(ms(1_000)));
        assert_eq!(
            backoff.pause(&HIGH, &Error::unexpected("odd")),
            Some(ms(100))
        );
        assert_eq!(backoff.pause(&HIGH, &busy(2)), None);
        assert_eq!(backoff.pause(&HIGH, &busy(1)), Some(ms(1_000)));
        assert_eq!(backoff.pause(&HIGH, &busy(1)), None);
        backoff.lose_no_patience();
        assert_eq!(backoff.pause(&HIGH, &busy(86_400)), Some(ms(86_400_000)));
    }
}
