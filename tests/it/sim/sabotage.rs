//! Broken variants, each of which the simulation must catch.

use super::world::{Machine, Time};

/// How host and network are bent.
#[derive(Clone, Copy, Default)]
pub(crate) enum Bent {
    #[default]
    Straight,
    /// A deadline is reckoned from the reply: the clock stands still while a request is under way.
    Standstill,
    /// Clocks run slower than the lock allows for.
    Slow,
    /// Messages say that they were sent when they arrive.
    Freshened,
}

impl Bent {
    pub(crate) fn drift(self, drift_ppm: i64) -> i64 {
        match self {
            Self::Slow => drift_ppm - 50_000,
            _ => drift_ppm,
        }
    }

    /// An exchange of `machine` took so long.
    pub(crate) fn answered(self, machine: &Machine, took: Time) {
        if matches!(self, Self::Standstill) {
            machine.stood_still.set(machine.stood_still.get() + took);
        }
    }

    /// What arrives of a push message.
    pub(crate) fn pushed(self, bytes: Vec<u8>, now_us: i64) -> Vec<u8> {
        let text = String::from_utf8_lossy(&bytes);
        match text.trim_end().rsplit_once(' ') {
            Some((before, sent)) if matches!(self, Self::Freshened) && sent.len() == 16 => {
                format!("{before} {now_us}\n\n").into_bytes()
            }
            _ => bytes,
        }
    }
}
