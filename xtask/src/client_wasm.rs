//! How the wasm of the npm package, which cargo builds, gets its JavaScript.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use testkit::paths;
use testkit::paths::tool;
use testkit::programs::run;

/// The crate of the client's wasm.
pub(crate) const CLIENT: &str = "edgelock_js";
/// The crate of that of `edgelock/testing`.
pub(crate) const TABLE: &str = "edgelock_table_js";

/// Makes JavaScript bindings for a crate's [`module`], and optimizes it for size. Writes
/// `<stem>_bg.js`, `edgelock.wasm` and `names.json` to `folder`.
pub(crate) fn bind(stem: &str, folder: &Path) -> Result<()> {
    run(Command::new(tool("bind")).arg("package").arg(module(stem)).arg(folder))?;
    run(Command::new(paths::npm_bin("wasm-opt"))
        .args([
            // The second time it finds a few more.
            "-Oz",
            "-Oz",
            // A part that has one caller stays apart: hosts compile what they call first, and a
            // function with many variables takes more bytes for each.
            "--one-caller-inline-max-function-size=0",
            // Nothing lies below: the stack begins there, and ends before it gets that far.
            "--low-memory-unused",
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
        .arg(folder.join(format!("{stem}_bg.wasm")))
        .arg("-o")
        .arg(folder.join("edgelock.wasm"))
        .stdout(File::create(folder.join("names.json"))?))
}

/// What cargo builds with the profile `npm`.
pub(crate) fn module(stem: &str) -> PathBuf {
    paths::target().join(format!("wasm32-unknown-unknown/npm/{stem}.wasm"))
}
