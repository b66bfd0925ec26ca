//! `cargo xtask attack`: attacks the bridge and the Worker, and shows what a client beside each
//! attack got.

use anyhow::{Context, Result};
use testkit::paths;

/// Runs the attacks of the bridge's, the Worker's and the client's tests on the built programs,
/// each `times` as heavy as in `cargo xtask test`. Returns whether the clients beside them got what
/// they must.
pub(crate) fn run(times: u32) -> Result<bool> {
    let mut holds = true;
    for (package, target, profile, attacks) in [
        ("edgelock-bridge", "it", "server", &["attack::"] as &[_]),
        ("edgelock-tests", "workers", "dev", &["attack::"]),
        ("edgelock-tests", "it", "dev", &["attack::", "starved::"]),
    ] {
        let mut tests = paths::cargo();
        tests
            .args(["test", "--quiet", "--package", package, "--test", target])
            .args(["--profile", profile])
            // One after another, so that what each client beside it got is due to one attack.
            .args(["--", "--nocapture", "--test-threads=1"])
            .args(attacks)
            .env("EDGELOCK_ATTACK", times.to_string())
            .env("RUST_BACKTRACE", "0");
        holds &= tests.status().context("cargo cannot be run")?.success();
    }
    Ok(holds)
}
