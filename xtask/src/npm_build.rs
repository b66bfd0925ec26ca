//! Builds the npm package into `npm/dist`: the wasm by cargo, its glue by wasm-bindgen, and the rest by `npm/build.js`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::paths;
use xtask::setup::tool;

/// The package, as npm packs it.
pub(crate) fn package() -> PathBuf {
    paths::root().join("npm/dist")
}

/// Builds it.
pub(crate) fn build() -> Result<()> {
    let npm = paths::root().join("npm");
    let built = npm.join("build");
    let arguments = "build --quiet --profile npm --target wasm32-unknown-unknown -p edgelock-js";
    run(paths::cargo()
        .args(arguments.split(' '))
        .env("CARGO_ENCODED_RUSTFLAGS", nameless_paths()?.join("\x1f")))?;
    let wasm = paths::target().join("wasm32-unknown-unknown/npm/edgelock_js.wasm");
    run(Command::new(tool("wasm-bindgen"))
        .args(["--target", "bundler", "--no-typescript", "--out-dir"])
        .arg(&built)
        .arg(wasm))?;
    run(Command::new(paths::npm_bin("wasm-opt"))
        .args([
            "-Oz",
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
        .arg(built.join("edgelock_js_bg.wasm"))
        .arg("-o")
        .arg(built.join("edgelock.wasm")))?;
    run(Command::new(paths::npm_bin("tsc"))
        .arg("--project")
        .arg(npm.join("tsconfig.json")))?;
    run(Command::new("node").arg(npm.join("build.js")))
}

/// Panics say where they are in the source; where that lies on this machine is nobody's business.
fn nameless_paths() -> Result<Vec<String>> {
    let home = env::var("HOME").context("HOME is not set")?;
    let cargo = env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .context("cannot run rustc")?;
    let sysroot = String::from_utf8(sysroot.stdout)?;
    let folders = [(cargo.as_str(), "cargo"), (sysroot.trim(), "rust")];
    Ok(folders
        .map(|(folder, name)| format!("--remap-path-prefix={folder}=/{name}"))
        .into())
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}: try `cargo xtask setup`"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}
