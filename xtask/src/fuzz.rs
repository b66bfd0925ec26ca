//! `cargo xtask fuzz`: inputs that are almost valid, as many as you like.

use anyhow::{Context, Result};
use clap::Args;
use testkit::paths;

/// How many, and where.
#[derive(Args)]
pub(crate) struct Options {
    /// Part of the name of a target; all by default
    target: Option<String>,
    /// How many inputs each target takes
    #[arg(long, default_value_t = 1_000_000)]
    inputs: u64,
    /// Repeat the one input with this seed, as a failure names it behind `BOLERO_RANDOM_SEED`
    #[arg(long, requires = "target")]
    seed: Option<u128>,
}

/// What cargo builds, and which of its tests are targets.
const TARGETS: [(&str, &str); 2] = [
    ("--package edgelock-fuzz --test fuzz", ""),
    ("--package edgelock-bridge --bin edgelock-bridge", "fuzz::"),
];

/// Whether every promise held.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let mut held = true;
    for (built, all) in TARGETS {
        held &= run_those(options, built, all)?;
    }
    Ok(held)
}

fn run_those(options: &Options, built: &str, all: &str) -> Result<bool> {
    let mut tests = paths::cargo();
    tests
        .args(["test", "--quiet", "--profile", "fuzz"])
        .args(built.split(' '))
        .args(["--", "--nocapture"])
        .arg(options.target.as_deref().unwrap_or(all))
        .env("RUST_BACKTRACE", "0");
    match options.seed {
        Some(seed) => {
            tests.env("BOLERO_RANDOM_SEED", seed.to_string()).env("BOLERO_RANDOM_ITERATIONS", "0")
        }
        None => tests.env("BOLERO_RANDOM_ITERATIONS", options.inputs.to_string()),
    };
    let status = tests.status().context("cargo cannot be run")?;
    Ok(status.success())
}
