//! Remembers whether most items of a name needed a turn recently.

use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each name; some names share one. A wrong guess costs only a round trip or a request.
#[derive(Default)]
pub(super) struct Habits(AtomicU64);

impl Habits {
    pub(super) fn takes_turns(&self, name: &str) -> bool {
        self.0.load(Ordering::Relaxed) & bit(name) != 0
    }

    pub(super) fn learn(&self, name: &str, takes_turns: bool) {
        if takes_turns {
            self.0.fetch_or(bit(name), Ordering::Relaxed);
        } else {
            self.0.fetch_and(!bit(name), Ordering::Relaxed);
        }
    }
}

fn bit(name: &str) -> u64 {
    let mix = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    1 << (name.bytes().fold(0, mix) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_of_one_name_last_counts() {
        let habits = Habits::default();
        assert!(!habits.takes_turns("a"));
        habits.learn("a", true);
        habits.learn("b", false);
        assert!(habits.takes_turns("a") && !habits.takes_turns("b"));
        habits.learn("a", false);
        assert!(!habits.takes_turns("a"));
    }
}
