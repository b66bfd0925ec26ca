//! How messages show what errors know.

use std::time::Duration;

use crate::redact::Named;

pub(super) fn holder(label: Option<&str>) -> String {
    label.map_or_else(
        || "another owner".to_owned(),
        |label| Named(label).to_string(),
    )
}

pub(super) fn left(remaining: Option<Duration>) -> String {
    remaining.map_or_else(
        || "never expires: is it data?".to_owned(),
        |left| format!("expires in {} ms", ms(left)),
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
