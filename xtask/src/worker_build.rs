//! Builds the Worker with the tools that `setup` installed, so that nothing is downloaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Result;

use crate::programs::run;
use crate::setup::tool;
use crate::{paths, stale};

/// What the Worker is made of, and what makes it.
const SOURCES: [&str; 8] = [
    "Cargo.lock",
    "Cargo.toml",
    "package-lock.json",
    "src",
    "worker/Cargo.toml",
    "worker/src",
    "xtask/src/worker_build.rs",
    "xtask/tools",
];

/// Features that Rust and wasm-bindgen use, and every host has.
const FEATURES: [&str; 7] = [
    "bulk-memory",
    "exception-handling",
    "multivalue",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
    "sign-ext",
];

/// Builds the Worker for deployment, into `worker/build`: the wasm and its glue, bundled with the
/// entry. Does nothing if that is newer than its sources and what cargo makes of them.
///
/// # Errors
///
/// It does not compile, or the tools are not installed.
pub fn build() -> Result<()> {
    let folder = paths::worker_build();
    let built = compile("release")?;
    if is_newer(&folder, changed()?.max(stale::modified(&built)?)) {
        return Ok(());
    }
    let glue = bind("release", &built)?;
    run(Command::new(paths::npm_bin("wasm-opt"))
        // With names, for the stack traces of failures.
        .args(["-O", "--debuginfo"])
        .args(FEATURES.map(|feature| format!("--enable-{feature}")))
        .arg(glue.join(MODULE))
        .arg("-o")
        .arg(glue.join("optimised.wasm")))?;
    bundle(&glue, "optimised.wasm", &folder)
}

/// Builds a larger and slower Worker in a fifth of the time. Returns its folder, or that of
/// [`build`] if that is up to date.
///
/// # Errors
///
/// As for [`build`].
pub fn quick() -> Result<PathBuf> {
    let (deployed, quick) = (paths::worker_build(), in_target("worker-quick"));
    let changed = changed()?;
    if is_newer(&deployed, changed) {
        return Ok(deployed);
    }
    if !is_newer(&quick, changed) {
        bundle(&bind("quick", &compile("quick")?)?, MODULE, &quick)?;
    }
    Ok(quick)
}

const MODULE: &str = "index_bg.wasm";

/// Compiles the wasm with one of cargo's profiles.
fn compile(profile: &str) -> Result<PathBuf> {
    run(paths::cargo()
        .args(["build", "--lib", "--target", "wasm32-unknown-unknown"])
        .args(["-p", "edgelock-worker", "--profile", profile]))?;
    let folder = in_target("wasm32-unknown-unknown").join(profile);
    Ok(folder.join("edgelock_worker.wasm"))
}

/// Generates the glue of what was compiled with one of cargo's profiles. Returns the folder of
/// both.
fn bind(profile: &str, built: &Path) -> Result<PathBuf> {
    let glue = in_target("edgelock-worker").join(profile);
    run(Command::new(tool("bind"))
        .arg("worker")
        .arg(built)
        .arg(&glue))?;
    Ok(glue)
}

/// Bundles the entry and the glue into one file. It imports the wasm beside it, as hosts of Workers
/// do.
fn bundle(glue: &Path, module: &str, folder: &Path) -> Result<()> {
    let index = glue.join("index.js");
    let text = fs::read_to_string(&index)?.replace("import source ", "import ");
    fs::write(&index, text)?;
    fs::create_dir_all(folder)?;
    run(Command::new(paths::npm_bin("esbuild"))
        .arg("worker/src/entry.js")
        .current_dir(paths::root())
        .args([
            "--bundle",
            "--minify",
            "--format=esm",
            "--log-level=warning",
        ])
        .arg(format!("--external:./{MODULE}"))
        .arg(format!("--alias:edgelock-worker-glue={}", index.display()))
        .arg(format!("--outfile={}", folder.join("index.js").display())))?;
    // This comes last, since its time says when the Worker was built.
    fs::copy(glue.join(module), folder.join(MODULE))?;
    Ok(())
}

fn in_target(folder: &str) -> PathBuf {
    paths::target().join(folder)
}

/// Builds the Worker if it is older than its sources, so that no test uses an old one.
///
/// # Errors
///
/// As for [`build`].
pub fn build_if_stale() -> Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if is_newer(&paths::worker_build(), changed()?) {
        return Ok(());
    }
    build()
}

/// Whether the Worker in this folder is newer than its last change.
fn is_newer(folder: &Path, changed: SystemTime) -> bool {
    stale::is_newer(&folder.join(MODULE), changed)
}

/// When the sources changed last.
fn changed() -> Result<SystemTime> {
    stale::last_change(SOURCES)
}
