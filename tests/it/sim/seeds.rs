//! Which seeds are simulated, and what is asked of their worlds. The first seed is drawn anew in
//! each run, unless one is asked for.

use std::env;
use std::fmt::Debug;
use std::io::{Write, stderr};
use std::ops::Range;
use std::sync::LazyLock;

use super::trace::Trace;

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

/// Plays worlds until something breaks in one, and then tells its story. `play` returns what broke,
/// and the story if it was traced.
#[track_caller]
pub(crate) fn nothing_breaks<B: Debug>(
    worlds: &str,
    by_default: u64,
    play: impl Fn(u64, Trace) -> (Option<B>, String),
) {
    let (seeds, _) = seeds(by_default);
    let breaks = |seed: &u64| play(*seed, Trace::OFF).0.is_some();
    let Some(seed) = seeds.clone().find(breaks) else {
        println!("every promise {worlds} held for the seeds {seeds:?}");
        return;
    };
    let (broken, story) = play(seed, Trace::on());
    let broken = broken.expect("the same seed does the same");
    panic!(
        "{broken:?} {worlds}\n\n{story}\n\nseed {seed}; to see it again: cargo xtask sim --seeds 1 --from {seed}"
    );
}

/// Otherwise no failure could be looked into.
#[track_caller]
pub(crate) fn each_does_the_same_again<B>(play: impl Fn(u64, Trace) -> (Option<B>, String)) {
    for seed in 0..20 {
        let story = || play(seed, Trace::on()).1;
        assert_eq!(story(), story(), "seed {seed}");
    }
}

/// In the world of one of the `rare` seeds, or of the first so many, `promise` must break.
#[track_caller]
pub(crate) fn caught(promise: impl Debug, rare: &[u64], most: u64, breaks: impl Fn(u64) -> bool) {
    let mut seeds = rare.iter().copied().chain(0..most);
    let seed = seeds.find(|seed| breaks(*seed));
    println!("caught by {promise:?} with seed {seed:?}");
    assert!(seed.is_some(), "{promise:?} held for {most} seeds");
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
