//! How long a lease lasts, and other times that callers give.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::error::Fault;

pub(crate) const DEFAULT: Duration = Duration::from_secs(10);
/// With a ttl of 3 ms, the drift of 2 ms and 1 % leaves no whole millisecond to hold the lock.
const MIN: Duration = Duration::from_millis(4);
pub(crate) const MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Redis counts no shorter time.
pub(crate) const SHORTEST: Duration = Duration::from_millis(1);

/// In milliseconds, as errors show it. `Duration`'s own `Debug` would bring more code into the
/// wasm.
pub(crate) struct Shown(pub(crate) Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(time) = self;
        let whole =
            (time.as_secs().saturating_mul(1_000)).saturating_add(time.subsec_millis().into());
        match time.subsec_nanos() % 1_000_000 {
            0 => write!(f, "{whole} ms"),
            nanos => write!(f, "{whole}.{nanos:06} ms"),
        }
    }
}

/// # Errors
/// [`Error::InvalidArgument`] if it is not a valid ttl.
pub(crate) fn check(ttl: Duration) -> Result<(), Fault> {
    let what = "a ttl is 4 ms to 366 days, in whole milliseconds (10 s are 10,000), not";
    Fault::unless(is_valid(ttl, MIN..=MAX), format_args!("{what} {}", Shown(ttl)))
}

/// `what` says what lasts for `time`, and its range: "a ttl is 4 ms to 366 days".
///
/// # Errors
/// [`Error::InvalidArgument`] if the time is not in that range, or not in whole milliseconds.
pub(crate) fn check_range(
    what: &str,
    range: RangeInclusive<Duration>,
    time: Duration,
) -> Result<(), Fault> {
    Fault::unless(
        is_valid(time, range),
        format_args!("{what}, in whole milliseconds, not {}", Shown(time)),
    )
}

pub(crate) fn is_valid(time: Duration, range: RangeInclusive<Duration>) -> bool {
    range.contains(&time) && time.subsec_nanos().is_multiple_of(1_000_000)
}
