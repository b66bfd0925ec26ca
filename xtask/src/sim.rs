//! `cargo xtask sim`: the simulation of the lock, with as many seeds as you like.

use anyhow::{Context, Result};
use testkit::paths;

/// Runs `seeds` worlds of each kind, from a seed that is drawn unless `from` gives it. The kinds
/// are: locks behind one bridge and over several, shared turns, and each other kind of lock and
/// call. Returns whether every promise held.
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
