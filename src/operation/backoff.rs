//! Pauses between attempts whose requests got lost.

use std::time::Duration;

use crate::nanos::Nanos;
use crate::runtime::Runtime;

/// Pauses between attempts whose requests got lost.
pub(crate) struct Backoff {
    attempts_left: u32,
    ceiling: Nanos,
    /// How much longer, in all, to obey a bridge that asks to be left alone.
    patience: Nanos,
}

impl Backoff {
    pub(super) const FIRST_CEILING: Nanos = Nanos::ms(50);
    pub(super) const LAST_CEILING: Nanos = Nanos::ms(1_000);

    pub(crate) fn new(attempts: u32, patience: Nanos) -> Self {
        Self { attempts_left: attempts.saturating_sub(1), ceiling: Self::FIRST_CEILING, patience }
    }

    /// From now on a bridge may ask for any pause. The caller decides how long is too long.
    pub(crate) const fn lose_no_patience(&mut self) {
        self.patience = Nanos::MAX;
    }

    /// How long to pause after a failure, or `None` to give up. The pause is random, up to a
    /// ceiling that doubles up to a second, so that clients that failed together do not come back
    /// together. It is no shorter than the bridge `asked` for. If that is too long, there is none.
    pub(crate) fn pause(&mut self, random: &dyn Runtime, asked: Option<Duration>) -> Option<Nanos> {
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        let pause = between(random, Nanos::ZERO, self.ceiling);
        self.ceiling = (self.ceiling * 2).min(Self::LAST_CEILING);
        let earliest = asked.map_or(Nanos::ZERO, Nanos::of);
        if earliest > self.patience {
            return None;
        }
        self.patience = self.patience - earliest;
        Some(pause.max(earliest))
    }
}

/// At random; in the middle if the host gives no random bytes.
pub(super) fn between(random: &dyn Runtime, low: Nanos, high: Nanos) -> Nanos {
    let mut bytes = [0x80, 0];
    let _ = random.random(&mut bytes);
    low + (high - low) * u16::from_be_bytes(bytes).into() / u16::MAX.into()
}

/// A random source whose draws are all the same.
#[cfg(test)]
pub(super) struct Loaded(pub(super) u8);

#[cfg(test)]
impl Runtime for Loaded {
    fn now(&self) -> crate::runtime::Instant {
        crate::runtime::Instant::from_origin(std::time::Duration::ZERO)
    }

    async fn sleep(&self, _: std::time::Duration) {}

    fn random(&self, bytes: &mut [u8]) -> Result<(), crate::runtime::EntropyUnavailable> {
        bytes.fill(self.0);
        Ok(())
    }

    fn spawn(&self, _: crate::runtime::Task) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: Loaded = Loaded(0xff);

    const fn ms(ms: u64) -> Nanos {
        Nanos::ms(ms)
    }

    #[test]
    fn attempts_end_and_their_pauses_double() {
        let mut backoff = Backoff::new(3, Nanos::ZERO);
        assert_eq!(backoff.pause(&HIGH, None), Some(ms(50)));
        assert_eq!(backoff.pause(&HIGH, None), Some(ms(100)));
        assert_eq!(backoff.pause(&HIGH, None), None);
        assert_eq!(Backoff::new(0, Nanos::ZERO).pause(&HIGH, None), None);
    }

    #[test]
    fn a_bridge_is_left_alone_for_as_long_as_patience_lasts() {
        let busy = |seconds| Some(Duration::from_secs(seconds));
        let mut backoff = Backoff::new(9, ms(2_500));
        assert_eq!(backoff.pause(&HIGH, busy(1)), Some(ms(1_000)));
        assert_eq!(backoff.pause(&HIGH, None), Some(ms(100)));
        assert_eq!(backoff.pause(&HIGH, busy(2)), None);
        assert_eq!(backoff.pause(&HIGH, busy(1)), Some(ms(1_000)));
        assert_eq!(backoff.pause(&HIGH, busy(1)), None);
        backoff.lose_no_patience();
        assert_eq!(backoff.pause(&HIGH, busy(86_400)), Some(ms(86_400_000)));
    }
}
