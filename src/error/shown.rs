//! How messages show what errors know.

use std::time::Duration;

use crate::redact::Named;

pub(super) const LOST: &str = "it ran out, was taken or forced, or Redis forgot it";
pub(super) const NOT_KEPT: &str = "the work was done, and it is not kept";
pub(super) const TOO_LONG: &str = "for longer than allowed";
pub(super) const UNDER_WAY: &str = "still under way";
pub(super) const OR_BESIDE: &str =
    ", or one that begins with it in braces, holds something else: data, or a lock of another kind";

/// `is_own` if the client itself has a lease of the lock: it may wait for itself.
pub(super) fn holder(label: Option<&str>, is_own: bool) -> String {
    let label = label.map(|label| Named(label).to_string());
    match (label, is_own) {
        (None, false) => "another owner".to_owned(),
        (Some(label), false) => label,
        (None, true) => "another lease of this client".to_owned(),
        (Some(label), true) => format!("{label}, another lease of this client"),
    }
}

pub(super) fn left(remaining: Option<Duration>) -> String {
    remaining.map_or_else(
        || "never expires: is it data?".to_owned(),
        |left| format!("expires in {} ms", ms(left)),
    )
}

pub(super) fn in_time(lock: &str) -> String {
    format!("lock {} in time", Named(lock))
}

/// Why no server of too many has a say before that.
pub(super) fn yet(retry_after: Duration) -> String {
    format!(
        "{} ms yet: too many servers were started lately, and may have forgotten who holds it",
        ms(retry_after)
    )
}

/// What it was about: a lock, a throttle or a debounce.
pub(super) fn of(lock: Option<&str>) -> String {
    lock.map_or_else(String::new, |lock| format!(" (for {})", Named(lock)))
}

pub(super) fn under(lock: Option<&str>) -> String {
    lock.map_or_else(String::new, |lock| format!(" under lock {}", Named(lock)))
}

/// 64 bits hold any duration that Redis reports, and need less code to print than 128.
pub(super) const fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
