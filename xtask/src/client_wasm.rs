//! The client's wasm on its way from cargo to JavaScript.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::paths;
use xtask::setup::tool;

/// Binds what cargo built with `profile` to JavaScript and optimises it by `level`:
/// `edgelock_js_bg.js` and `edgelock.wasm` in `folder`.
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
            // What wasm-bindgen's output needs, and every host has.
            "--enable-bulk-memory",
            "--enable-multivalue",
            "--enable-mutable-globals",
            "--enable-nontrapping-float-to-int",
            "--enable-reference-types",
            "--enable-sign-ext",
        ])
        .arg(folder.join("edgelock_js_bg.wasm"))
        .arg("-o")
        .arg(folder.join("edgelock.wasm")))
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
