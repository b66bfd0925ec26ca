//! Limits log lines that an attack would write by the thousand.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const EVERY: Duration = Duration::from_secs(1);

/// Lets one line a second through, and counts the others.
pub(crate) struct Rarely(Mutex<State>);

struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl Rarely {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(State { last: None, left_out: 0 }))
    }

    /// How many lines were left out since the last one, if a line is due.
    pub(crate) fn due(&self) -> Option<u64> {
        let mut state = self.0.lock();
        if state.last.is_some_and(|last| last.elapsed() < EVERY) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(Instant::now());
        Some(std::mem::take(&mut state.left_out))
    }
}
