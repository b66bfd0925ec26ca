//! `cargo xtask sim`: the simulation of the lock, for as many seeds as there is patience for.

use anyhow::{Context, Result};
use xtask::paths;

/// Runs `seeds` of each kind of world, from one that is drawn unless `from` says it: of locks
/// behind one bridge and over several, of shared turns, and of each other kind of lock and call.
/// Whether every promise held.
pub(crate) fn run(seeds: u64, from: Option<u64>) -> Result<bool> {
    let mut tests = paths::cargo();
    tests
        .args(["test", "--quiet", "--workspace", "--test", "sim"])
        .args(["--", "--nocapture", "no_promise_breaks"])
        .args(["--skip", "explore::"])
        .env("EDGELOCK_SIM_SEEDS", seeds.to_string())
        .env("RUST_BACKTRACE", "0");
    if let Some(from) = from {
        tests.env("EDGELOCK_SIM_FROM", from.to_string());
    }
    let status = tests.status().context("cargo cannot be run")?;
    Ok(status.success())
}
