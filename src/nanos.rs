//! A time in one word.

use std::ops::{Add, Div, Mul, Sub};
use std::time::Duration;

/// In nanoseconds, of which 64 bits hold centuries. No result is beyond what they hold. What an
/// operation reckons with is of this type: a [`Duration`] takes several times the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanos(pub(crate) u64);

impl Nanos {
    pub(crate) const ZERO: Self = Self(0);
    pub(crate) const MAX: Self = Self(u64::MAX);

    pub(crate) const fn ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    pub(crate) const fn of(duration: Duration) -> Self {
        let whole = duration.as_secs().saturating_mul(1_000_000_000);
        Self(whole.saturating_add(duration.subsec_nanos() as u64))
    }

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    pub(crate) const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

/// By 0 as by 1.
impl Div<u64> for Nanos {
    type Output = Self;

    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts.max(1))
    }
}
