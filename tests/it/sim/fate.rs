//! What becomes of single requests, where a story says so.

use std::cell::RefCell;
use std::collections::VecDeque;

use edgelock::Response;

use super::world::Time;

#[derive(Clone, Default)]
pub(crate) enum Fate {
    /// As the network has it.
    #[default]
    Passed,
    /// It is executed, and nobody hears of it.
    Lost,
    /// It is executed, and this is said of it.
    Executed(Response),
    /// It is not executed, and this is said of it.
    Shed(Response),
    /// No connection could be made.
    NotSent,
    /// It arrives so much later.
    Late(Time),
}

/// Those of the next requests, in the order in which they are sent.
#[derive(Default)]
pub(crate) struct Fates(RefCell<VecDeque<Fate>>);

impl Fates {
    pub(crate) fn next(&self, fate: Fate) {
        self.0.borrow_mut().push_back(fate);
    }

    pub(crate) fn take(&self) -> Fate {
        self.0.borrow_mut().pop_front().unwrap_or_default()
    }

    /// How many nobody met with.
    pub(crate) fn left(&self) -> usize {
        self.0.borrow().len()
    }
}
