//! The calls of a throttle and of a debounce.

use std::time::Duration;

use super::call::Call;
use crate::kind::{ARRIVE, GIVE_BACK, LEAVE, PASS, SETTLE};
use crate::name::Name;
use crate::token::Token;

const THROTTLE: &str = "throttle";
const DEBOUNCE: &str = "debounce";

/// A call waits no longer than that.
pub(crate) const LONGEST_DEBOUNCE: Duration = Duration::from_secs(24 * 60 * 60);

impl Call {
    pub(crate) fn pass(name: &Name, token: &Token, window: Duration) -> Self {
        let mut call = Self::of_call(&PASS, name, THROTTLE, token);
        call.millis(window);
        call.commands(&[])
    }

    /// Gives up what [`Call::pass`] asked for.
    pub(crate) fn give_back(name: &Name, token: &Token) -> Self {
        Self::of_call(&GIVE_BACK, name, THROTTLE, token).commands(&[])
    }

    /// `wait` is how long it is to be quiet; `max_wait` how long the first call of a burst waits at
    /// most.
    pub(crate) fn arrive(name: &Name, token: &Token, wait: Duration, max_wait: Duration) -> Self {
        let mut call = Self::of_call(&ARRIVE, name, DEBOUNCE, token);
        call.millis(wait).millis(max_wait);
        call.commands(&[])
    }

    /// Redis's clock does not count if the call's time `is_over` by its own.
    pub(crate) fn settle(name: &Name, token: &Token, is_over: bool) -> Self {
        let mut call = Self::of_call(&SETTLE, name, DEBOUNCE, token);
        call.number(is_over.into());
        call.commands(&[])
    }

    /// Gives up what [`Call::arrive`] asked for.
    pub(crate) fn leave(name: &Name, token: &Token) -> Self {
        Self::of_call(&LEAVE, name, DEBOUNCE, token).commands(&[])
    }
}
