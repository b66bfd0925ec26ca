//! The turn under way, the items in it, and what may be left of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Turn<I, C, P> {
    pub(super) number: u64,
    /// The ticket of the caller that is told if the turn vanishes: that of its driver, or of the
    /// item that the driver decides.
    pub(super) blamed: u64,
    /// How long its driver may be silent.
    pub(super) shows_within: Duration,
    pub(super) entries: VecDeque<Entry<I, C>>,
    /// Tickets of other items for which it also asked. They wait until it begins.
    pub(super) asked_for: Vec<u64>,
    /// How many turns of others come before the next item that is too large for a turn with
    /// others, if it is the turn of one.
    pub(super) owes: usize,
    /// The place of the item that is being decided.
    pub(super) deciding: Option<usize>,
    pub(super) commit: Option<P>,
    /// It has the lock, or was sent without it. From then on no item leaves it.
    pub(super) has_begun: bool,
    /// What was so before it began.
    pub(super) before: Option<Before>,
}

/// What changes when a turn begins.
pub(super) struct Before {
    pub(super) blamed: u64,
    pub(super) owed: usize,
    pub(super) most: usize,
}

/// What is left of a turn whose driver vanished.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::group) struct Left<C> {
    /// Their commit was on its way.
    pub(in crate::group) unknown: Vec<C>,
    /// The driver, or the caller whose item was being decided.
    pub(in crate::group) blamed: Option<C>,
    /// The caller to call: it may have to drive.
    pub(in crate::group) next: Option<C>,
}

/// An item with its caller.
pub(super) struct Entry<I, C> {
    pub(super) ticket: u64,
    pub(super) item: Arc<I>,
    pub(super) bytes: usize,
    pub(super) caller: C,
    /// Its caller no longer waits. If the item is in a turn that has begun, it is decided there,
    /// else never.
    pub(super) has_left: bool,
}
