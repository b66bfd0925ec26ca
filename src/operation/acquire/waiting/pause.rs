//! A pause of a wait: until when it lasts, and why.

use crate::operation::Id;
use crate::runtime::Instant;

pub(super) struct Pause {
    /// When to ask if the last request got lost.
    pub(super) due: Option<Instant>,
    /// When to ask, planned for a waiter that hears of its turn, or for one that does not.
    pub(super) planned: Option<(bool, Instant)>,
    pub(super) timer: Option<Id>,
    pub(super) ask_at: Instant,
    pub(super) wake_at: Instant,
}

impl Pause {
    /// With a `due` time if the last request got lost.
    pub(super) const fn new(due: Option<Instant>, now: Instant) -> Self {
        Self {
            due,
            planned: None,
            timer: None,
            ask_at: now,
            wake_at: now,
        }
    }
}
