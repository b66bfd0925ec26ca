//! Builds the npm package into `npm/dist`: the wasm by cargo, its glue by wasm-bindgen, and the
//! rest by `npm/build.js`.

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use testkit::programs::run;
use testkit::{paths, stale};

use crate::client_wasm::{CLIENT, TABLE, bind, module};

/// What the package is made of besides the wasm, and what makes it.
const SOURCES: [&str; 12] = [
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "npm/README.md",
    "npm/build.js",
    "npm/package.json",
    "npm/ts",
    "npm/tsconfig.json",
    "package-lock.json",
    "src",
    "xtask/src",
    "xtask/tools",
];

/// What a wasm has if it searches text by the standard library, or takes a part of a text by an
/// index that may be wrong. With what prints it, that is 4.7 kB in gzip.
const PANIC: &[u8] = b"is not a char boundary";

/// Builds it, unless it is newer than all that it is made of.
pub(crate) fn build() -> Result<()> {
    let npm = paths::root().join("npm");
    let stamp = npm.join("build/stamp");
    let arguments = "build --quiet --profile npm --target wasm32-unknown-unknown -p edgelock-js \
                     -p edgelock-table-js";
    run(paths::cargo()
        .args(arguments.split_whitespace())
        .env("CARGO_ENCODED_RUSTFLAGS", flags()?.join("\x1f")))?;
    // What is changed while it is built counts as changed after it.
    let begun = SystemTime::now();
    // Cargo knows what the wasm is made of, compilers too.
    let mut changed = stale::last_change(SOURCES)?;
    for stem in [CLIENT, TABLE] {
        changed = changed.max(stale::modified(&module(stem))?);
    }
    if stale::is_newer(&stamp, changed) && paths::npm_package().exists() {
        return Ok(());
    }
    bind(CLIENT, &npm.join("build"))?;
    let wasm = fs::read(npm.join("build/edgelock.wasm"))?;
    ensure!(
        !wasm.windows(PANIC.len()).any(|text| text == PANIC),
        "something in src searches text by the standard library: see src/redact.rs"
    );
    bind(TABLE, &npm.join("build/table"))?;
    check(&npm)?;
    run(Command::new("node").arg(npm.join("build.js")))?;
    // They use the package's declarations, so they are checked after those are built.
    check(&npm.join("ts/cli"))?;
    check(&npm.join("ts/testing"))?;
    let built = File::create(stamp)?;
    built.set_modified(begun).map_err(Into::into)
}

/// Has the compiler check the TypeScript of a folder.
fn check(folder: &Path) -> Result<()> {
    run(Command::new(paths::tsc()).arg("--project").arg(folder))
}

/// The compiler's flags. Without these features, numbers alone cross the border to JavaScript
/// (docs/design.md). Only what gets smaller is inlined.
fn flags() -> Result<Vec<String>> {
    let mut flags = nameless_paths()?;
    flags.push("-Ctarget-feature=-reference-types,-multivalue".to_owned());
    flags.push("-Cllvm-args=-inline-threshold=0".to_owned());
    Ok(flags)
}

/// Flags that keep this machine's folders out of panic messages.
fn nameless_paths() -> Result<Vec<String>> {
    let home = env::var("HOME").context("HOME is not set")?;
    let cargo = env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    let sysroot =
        Command::new("rustc").args(["--print", "sysroot"]).output().context("cannot run rustc")?;
    let sysroot = String::from_utf8(sysroot.stdout)?;
    let folders = [(cargo.as_str(), "cargo"), (sysroot.trim(), "rust")];
    Ok(folders.map(|(folder, name)| format!("--remap-path-prefix={folder}=/{name}")).into())
}
