//! How the client's wasm, which cargo builds, gets its JavaScript.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::paths;
use xtask::setup::tool;

/// Makes JavaScript bindings for what cargo built with `profile`, and optimizes the wasm by
/// `level`. Writes `edgelock_js_bg.js`, `edgelock.wasm` and `names.json` to
/// `folder`.
pub(crate) fn bind(profile: &str, level: &str, folder: &Path) -> Result<()> {
    let built = paths::target().join("wasm32-unknown-unknown").join(profile);
    run(Command::new(tool("bind"))
        .arg("package")
        .arg(built.join("edgelock_js.wasm"))
        .arg(folder))?;
    run(Command::new(paths::npm_bin("wasm-opt"))
        .args([
            level,
            "--strip-debug",
            "--strip-producers",
            // It prints the names, for npm/build.js.
            "--minify-imports-and-exports-and-modules",
            // Features that wasm-bindgen's output uses, and every host has.
            "--enable-bulk-memory",
            "--enable-multivalue",
            "--enable-mutable-globals",
            "--enable-nontrapping-float-to-int",
            "--enable-reference-types",
            "--enable-sign-ext",
        ])
        .arg(folder.join("edgelock_js_bg.wasm"))
        .arg("-o")
        .arg(folder.join("edgelock.wasm"))
        .stdout(File::create(folder.join("names.json"))?))
}

/// Runs a tool to its end.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}: try `cargo xtask setup`"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}
