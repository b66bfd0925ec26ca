//! How long a lease lasts.

use std::time::Duration;

use crate::error::Error;

pub(crate) const DEFAULT: Duration = Duration::from_secs(10);
/// With a ttl of 3 ms, the drift of 2 ms and 1 % leaves no whole millisecond to hold the lock.
const MIN: Duration = Duration::from_millis(4);
pub(crate) const MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Whether something can be stored for `time`: whole milliseconds, within the bounds.
pub(crate) fn is_from(shortest: Duration, time: Duration) -> bool {
    let is_whole = time.subsec_nanos().is_multiple_of(1_000_000);
    (shortest..=MAX).contains(&time) && is_whole
}

/// In milliseconds, as errors show it. `Duration`'s own `Debug` would bring more code into the
/// wasm.
pub(crate) fn shown(time: Duration) -> String {
    let whole = (time.as_secs().saturating_mul(1_000)).saturating_add(time.subsec_millis().into());
    match time.subsec_nanos() % 1_000_000 {
        0 => format!("{whole} ms"),
        nanos => format!("{whole}.{nanos:06} ms"),
    }
}

/// # Errors
/// [`Error::InvalidArgument`] if it is not a valid ttl.
pub(crate) fn check(ttl: Duration) -> Result<(), Error> {
    if is_from(MIN, ttl) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a ttl is 4 ms to 366 days, in whole milliseconds (10 s are 10,000), not {}",
        shown(ttl)
    )))
}
