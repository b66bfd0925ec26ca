//! `cargo xtask sim`: the simulation of the lock, for as many seeds as there is patience for.

use anyhow::{Context, Result};
use xtask::paths;

/// Runs `seeds` of them, beginning with `from`, of a lock behind one bridge and of one over several. Whether every promise held.
pub(crate) fn run(seeds: u64, from: u64) -> Result<bool> {
    let status = paths::cargo()
        .args(["test", "--quiet", "--package", "edgelock", "--test", "sim"])
        .args(["--", "--nocapture", "no_promise_breaks"])
        .env("EDGELOCK_SIM_SEEDS", seeds.to_string())
        .env("EDGELOCK_SIM_FROM", from.to_string())
        .env("RUST_BACKTRACE", "0")
        .status()
        .context("cargo cannot be run")?;
    Ok(status.success())
}
