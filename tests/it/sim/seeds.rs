//! Which seeds are simulated. The first is drawn anew in each run, unless one is asked for.

use std::env;
use std::io::{Write, stderr};
use std::ops::Range;
use std::sync::LazyLock;

/// The draw is below this, so that it has few enough digits to type.
const STARTS: u64 = 1_000_000_000_000;

/// The first seed of all worlds in this run.
static START: LazyLock<u64> = LazyLock::new(|| {
    let start = asked_for("EDGELOCK_SIM_FROM").unwrap_or_else(drawn);
    // Written past the test runner, which hides the output of a test that passes.
    let _ = writeln!(
        stderr(),
        "simulating from seed {start}; the same again: cargo xtask sim --from {start}"
    );
    start
});

/// The seeds that `cargo xtask sim` asks for, or else so many; and whether it asks.
pub(crate) fn seeds(by_default: u64) -> (Range<u64>, bool) {
    let asked = asked_for("EDGELOCK_SIM_SEEDS");
    let count = asked.unwrap_or(by_default);
    (*START..START.saturating_add(count), asked.is_some())
}

fn asked_for(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().expect("a number"))
}

fn drawn() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("random bytes");
    u64::from_le_bytes(bytes) % STARTS
}

#[test]
fn a_start_is_drawn_anew_each_time() {
    assert_ne!(drawn(), drawn());
}
