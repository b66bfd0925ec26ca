//! `cargo xtask attack`: attacks the bridge and the Worker, and shows what a client beside each
//! attack got.

use anyhow::{Context, Result};
use xtask::paths;

/// Runs the attacks of the bridge's and the Worker's tests on the built programs, each `times` as
/// heavy as in `cargo xtask test`. Returns whether the clients beside them got what they must.
pub(crate) fn run(times: u32) -> Result<bool> {
    let mut holds = true;
    for (package, profile) in [("edgelock-bridge", "server"), ("edgelock-worker", "dev")] {
        let mut tests = paths::cargo();
        tests
            .args(["test", "--quiet", "--package", package, "--test", "it"])
            .args(["--profile", profile])
            // One after another, so that what each client beside it got is due to one attack.
            .args(["--", "--nocapture", "--test-threads=1", "attack::"])
            .env("EDGELOCK_ATTACK", times.to_string())
            .env("RUST_BACKTRACE", "0");
        holds &= tests.status().context("cargo cannot be run")?.success();
    }
    Ok(holds)
}
