//! Builds the Worker with `worker-build` and the tools that `setup` installed, so that nothing is downloaded.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use crate::paths;
use crate::setup::tool;

/// What the Worker is made of.
const SOURCES: [&str; 5] = [
    "Cargo.lock",
    "Cargo.toml",
    "src",
    "worker/Cargo.toml",
    "worker/src",
];

/// Builds the Worker into `worker/build`.
///
/// # Errors
///
/// It does not compile, or the tools are not installed.
pub fn build() -> Result<()> {
    let status = paths::command(tool("worker-build"))
        .arg("--release")
        .current_dir(paths::root().join("worker"))
        .env("WASM_BINDGEN_BIN", tool("wasm-bindgen"))
        .env("WASM_OPT_BIN", paths::npm_bin("wasm-opt"))
        .env("ESBUILD_BIN", paths::npm_bin("esbuild"))
        .status()
        .context("cannot run worker-build: `cargo xtask setup` installs it")?;
    ensure!(status.success(), "worker-build failed ({status})");
    Ok(())
}

/// Builds the Worker if it is older than its sources, so that no test runs against yesterday's.
///
/// # Errors
///
/// As for [`build`].
pub fn build_if_stale() -> Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let built =
        fs::metadata(paths::worker_build().join("index_bg.wasm")).and_then(|file| file.modified());
    let sources = SOURCES
        .iter()
        .map(|source| newest(&paths::root().join(source)));
    let changed = sources.collect::<Result<Vec<_>>>()?.into_iter().max();
    match (built, changed) {
        (Ok(built), Some(changed)) if built >= changed => Ok(()),
        _ => build(),
    }
}

fn newest(path: &Path) -> Result<SystemTime> {
    let file = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
    let mut newest = file.modified()?;
    if file.is_dir() {
        for entry in fs::read_dir(path)? {
            newest = newest.max(self::newest(&entry?.path())?);
        }
    }
    Ok(newest)
}
