//! The fates of single requests, where a story decides them.

use std::cell::RefCell;
use std::collections::VecDeque;

use edgelock::Response;

use super::world::Time;

#[derive(Clone, Default)]
pub(crate) enum Fate {
    /// What the network draws.
    #[default]
    Passed,
    /// The request is executed, and no reply arrives.
    Lost,
    /// The request is executed, and this is the response.
    Executed(Response),
    /// The request is not executed, and this is the response.
    Shed(Response),
    /// The connection fails.
    NotSent,
    /// The request arrives so much later.
    Late(Time),
}

/// The fates of the next requests, in the order in which they are sent.
#[derive(Default)]
pub(crate) struct Fates(RefCell<VecDeque<Fate>>);

impl Fates {
    pub(crate) fn next(&self, fate: Fate) {
        self.0.borrow_mut().push_back(fate);
    }

    pub(crate) fn take(&self) -> Fate {
        self.0.borrow_mut().pop_front().unwrap_or_default()
    }

    /// How many are still to come.
    pub(crate) fn left(&self) -> usize {
        self.0.borrow().len()
    }
}
