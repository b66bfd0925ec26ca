//! Builds Workers with the tools that `setup` installed, so that nothing is downloaded. Each is a
//! folder that builds alone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::paths::{self, tool};
use crate::programs::run;
use crate::stale;

/// The flash sale.
pub const SALE: &str = "worker";

/// What a Worker has that is not deployed: it is sooner built, and larger.
pub const QUICK: [(&str, &str); 2] =
    [("CARGO_PROFILE_RELEASE_LTO", "false"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")];

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

/// Builds the flash sale for wrangler, into its `build`. `wrangler dev` gets one that is soon built
/// again; any other command, the one that is deployed.
pub fn for_wrangler() -> Result<()> {
    let is_dev = env::var_os("WRANGLER_COMMAND").is_some_and(|command| command == "dev");
    let built = if is_dev { of_folder(SALE)? } else { deployed()? };
    let folder = paths::root().join(SALE).join("build");
    fs::create_dir_all(&folder)?;
    for file in ["index.js", MODULE] {
        fs::copy(built.join(file), folder.join(file))?;
    }
    Ok(())
}

/// Builds the flash sale for deployment. Returns the folder of what was built. Does nothing if that
/// is newer than its sources.
pub fn deployed() -> Result<PathBuf> {
    let _turn = turn();
    let built = in_target("built/deployed");
    if is_newer(&built, SALE)? {
        return Ok(built);
    }
    let glue = compile(SALE, &[])?;
    run(Command::new(paths::npm_bin("wasm-opt"))
        // With names, for the stack traces of failures.
        .args(["-O", "--debuginfo"])
        .args(FEATURES.map(|feature| format!("--enable-{feature}")))
        .arg(glue.join(MODULE))
        .arg("-o")
        .arg(glue.join("optimised.wasm")))?;
    bundle(&glue, "optimised.wasm", &built)?;
    Ok(built)
}

/// The folders of [`as_users_do`] that tests run.
pub const OF_TESTS: [&str; 6] = [
    "tests/worker",
    "examples/coupons",
    "examples/queue_consumer",
    "lock-service",
    "lottery",
    SALE,
];

/// Builds the Worker of a folder as its user does: with the real worker-build, in a workspace of
/// its own, and the flash sale in a copy elsewhere. Returns the folder of what was built. Does
/// nothing if that is newer than its sources.
pub fn as_users_do(folder: &str) -> Result<PathBuf> {
    let _turn = turn();
    // wrangler may have left in the folder what it built.
    let of_tests = in_target("as-users-do").join(folder);
    if is_newer(&of_tests, folder)? {
        return Ok(of_tests);
    }
    let target = alone(folder)?;
    let mut there = paths::root().join(folder);
    if folder == SALE {
        there = in_target("copied/flash-sale");
        copy_sale(&there)?;
    }
    run(with_tools(&mut paths::command(tool("worker-build")))
        .args(["--release", "--no-opt"])
        .envs(QUICK)
        .env("CARGO_TARGET_DIR", target)
        .current_dir(&there))?;
    fs::create_dir_all(&of_tests)?;
    for file in ["index.js", MODULE] {
        fs::copy(there.join("build").join(file), of_tests.join(file))?;
    }
    Ok(of_tests)
}

/// Copies the flash sale into an empty folder, and changes the path of edgelock, as its page says.
pub fn copy_sale(copy: &Path) -> Result<()> {
    let parts = ["Cargo.toml", "Cargo.lock", "src", "shared", "wrangler.toml"];
    let path = format!("path = {:?}", paths::root());
    copy_of(SALE, &parts, copy, &[(r#"path = "..""#, &path)])
}

/// Copies these parts of a folder that builds alone into an empty one, and changes its manifest.
pub fn copy_of(folder: &str, parts: &[&str], copy: &Path, changes: &[(&str, &str)]) -> Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    fs::create_dir_all(copy)?;
    let from = paths::root().join(folder);
    let parts = parts.iter().map(|part| from.join(part));
    run(Command::new("cp").arg("-a").args(parts).arg(copy))?;
    let manifest = copy.join("Cargo.toml");
    let mut text = fs::read_to_string(&manifest)?;
    for (old, new) in changes {
        ensure!(text.contains(old), "{folder}/Cargo.toml lacks {old}");
        text = text.replace(old, new);
    }
    Ok(fs::write(manifest, text)?)
}

/// Builds the Worker of a folder without worker-build, which takes long to install. Returns the
/// folder of what was built. Does nothing if that is newer than its sources.
pub fn of_folder(folder: &str) -> Result<PathBuf> {
    let _turn = turn();
    let built = in_target("built").join(folder);
    if !is_newer(&built, folder)? {
        bundle(&compile(folder, &QUICK)?, MODULE, &built)?;
    }
    Ok(built)
}

/// Has a folder that builds alone build with the versions of the workspace, and returns where: in
/// the workspace's own target folder, so that each crate of others is built once.
pub fn alone(folder: &str) -> Result<PathBuf> {
    let lock = paths::root().join("Cargo.lock");
    fs::copy(lock, paths::root().join(folder).join("Cargo.lock"))?;
    Ok(paths::target().to_path_buf())
}

/// Tells worker-build where the programs are that it would download.
pub fn with_tools(command: &mut Command) -> &mut Command {
    command
        .env("WASM_BINDGEN_BIN", tool("wasm-bindgen"))
        .env("WASM_OPT_BIN", paths::npm_bin("wasm-opt"))
        .env("ESBUILD_BIN", paths::npm_bin("esbuild"))
}

const MODULE: &str = "index_bg.wasm";
const ENTRY: &str = "testkit/src/worker_entry.js";

/// Compiles a folder's wasm, and generates its glue. Returns the folder of both.
fn compile(folder: &str, profile: &[(&str, &str)]) -> Result<PathBuf> {
    let target = alone(folder)?;
    run(paths::cargo()
        .args(["build", "--lib", "--release"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(&target)
        .envs(profile.iter().copied())
        .current_dir(paths::root().join(folder)))?;
    let manifest = fs::read_to_string(paths::root().join(folder).join("Cargo.toml"))?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let name = name.context("a package has a name")?.replace('-', "_");
    let wasm = target.join(format!("wasm32-unknown-unknown/release/{name}.wasm"));
    let glue = in_target("glue").join(folder);
    run(Command::new(tool("bind")).arg("worker").arg(wasm).arg(&glue))?;
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
        .arg(ENTRY)
        .current_dir(paths::root())
        .args(["--bundle", "--minify", "--format=esm", "--log-level=warning"])
        .arg(format!("--external:./{MODULE}"))
        .arg(format!("--alias:edgelock-worker-glue={}", index.display()))
        .arg(format!("--outfile={}", folder.join("index.js").display())))?;
    // This comes last, since its time says when the Worker was built.
    fs::copy(glue.join(module), folder.join(MODULE))?;
    Ok(())
}

/// One build at a time.
fn turn() -> impl Drop {
    static TURNS: Mutex<()> = Mutex::new(());
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn in_target(folder: &str) -> PathBuf {
    paths::target().join(folder)
}

/// Whether what was built of a Worker's folder is newer than what that is made of.
fn is_newer(built: &Path, folder: &str) -> Result<bool> {
    let (source, manifest) = (format!("{folder}/src"), format!("{folder}/Cargo.toml"));
    let shared = "worker/shared/src";
    let sources = ["Cargo.lock", "src", "xtask/tools", shared, &source, &manifest];
    Ok(stale::is_newer(&built.join(MODULE), stale::last_change(sources)?))
}
