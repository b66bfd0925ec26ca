//! Builds the component of an example for hosts of WASI, as its user does.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::programs::run;
use crate::worker_build::alone;
use crate::{paths, stale};

/// The target of a component.
pub const TARGET: &str = "wasm32-wasip2";

/// The script that runs or serves a component.
pub fn host() -> PathBuf {
    paths::root().join("xtask/hosts/component.mjs")
}

/// Builds `examples/component`, in a workspace of its own. Returns the component.
///
/// # Errors
///
/// It does not compile, or the target is not installed.
pub fn build() -> Result<PathBuf> {
    const FOLDER: &str = "examples/component";
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let target = alone(FOLDER)?;
    let built = target.join(TARGET).join("release/component.wasm");
    let sources = [
        "Cargo.lock",
        "src",
        "examples/component/src",
        "examples/component/Cargo.toml",
    ];
    if !stale::is_newer(&built, stale::last_change(sources)?) {
        run(paths::cargo()
            .args(["build", "--release", "--target", TARGET])
            .env("CARGO_TARGET_DIR", target)
            .current_dir(paths::root().join(FOLDER)))?;
    }
    Ok(built)
}
