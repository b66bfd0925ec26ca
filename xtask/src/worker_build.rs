//! Builds the Worker with the tools that `setup` installed, so that nothing is downloaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// What Rust and wasm-bindgen make use of, and every host has.
const FEATURES: [&str; 7] = [
    "bulk-memory",
    "exception-handling",
    "multivalue",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
    "sign-ext",
];

/// Builds the Worker into `worker/build`: the wasm and its glue, bundled with the entry.
///
/// # Errors
///
/// It does not compile, or the tools are not installed.
pub fn build() -> Result<()> {
    let [glue, built] = ["edgelock-worker", "wasm32-unknown-unknown/release"].map(in_target);
    let arguments = "build --lib --release --target wasm32-unknown-unknown -p edgelock-worker";
    run(paths::cargo().args(arguments.split(' ')))?;
    run(Command::new(tool("wasm-bindgen"))
        .args(["--target", "module", "--no-typescript"])
        // So that the module can begin anew behind a trap.
        .args([
            "--experimental-reset-state-function",
            "--force-enable-abort-handler",
        ])
        .args(["--out-name", "index", "--out-dir"])
        .arg(&glue)
        .arg(built.join("edgelock_worker.wasm")))?;
    fs::create_dir_all(paths::worker_build())?;
    let module = paths::worker_build().join("index_bg.wasm");
    run(Command::new(paths::npm_bin("wasm-opt"))
        // With names, for the traces of what fails.
        .args(["-O", "--debuginfo"])
        .args(FEATURES.map(|feature| format!("--enable-{feature}")))
        .arg(glue.join("index_bg.wasm"))
        .arg("-o")
        .arg(&module))?;
    bundle(&glue)
}

/// The entry with the glue, in one file that imports the wasm beside it as hosts of Workers have it.
fn bundle(glue: &Path) -> Result<()> {
    let index = glue.join("index.js");
    let text = fs::read_to_string(&index)?.replace("import source ", "import ");
    fs::write(&index, text)?;
    run(Command::new(paths::npm_bin("esbuild"))
        .arg("worker/src/entry.js")
        .current_dir(paths::root())
        .args([
            "--bundle",
            "--minify",
            "--format=esm",
            "--log-level=warning",
        ])
        .arg("--external:./index_bg.wasm")
        .arg(format!("--alias:edgelock-worker-glue={}", index.display()))
        .arg(format!(
            "--outfile={}",
            paths::worker_build().join("index.js").display()
        )))
}

fn in_target(folder: &str) -> PathBuf {
    paths::target().join(folder)
}

/// Runs a tool to its end.
fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}: `cargo xtask setup` installs it"))?;
    ensure!(status.success(), "{program} failed ({status})");
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
