//! Stands in for `node` under `wasm-bindgen-test-runner`, and runs the tests inside `workerd` in
//! its place.
//!
//! The runner writes a folder with the glue, the wasm and a `run.mjs`, and calls `node run.mjs`.
//! `workerd` differs from Node in three ways: it takes wasm only as a module that it compiled
//! itself, it has no I/O and no clock before a handler runs, and it ends when its `test` handler
//! does. So the wasm is imported, `run.mjs` moves into a handler, and a failure throws.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use testkit::paths;
use testkit::programs::script;
use testkit::stack::{workerd_config, workerd_modules};

const MAIN: &str = r#"
import "./before.js";
import { run } from "./run.js";
export default {
    async test(_controller, env) {
        Object.assign(process.env, env);
        await run();
    },
};
"#;

/// What the tests expect of Node, and `workerd` lacks. wasm-bindgen-test takes `workerd` for a
/// browser's worker, and prints by this hook.
const BEFORE: &str = r#"
globalThis.global ??= globalThis;
for (const method of ["debug", "log", "info", "warn", "error"]) console[method] = console[method].bind(console);
global.__wbg_test_output_writeln = (line) => global.__wbgtest_og_console_log(line);
"#;

/// A folder with a `node` that starts this program again.
pub(crate) fn stand_in(xtask: &Path) -> Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("edgelock-node-").tempdir()?;
    let xtask = xtask.to_str().context("the path of xtask is not UTF-8")?.replace('\'', r"'\''");
    script(&folder.path().join("node"), &format!("exec '{xtask}' workerd-tests \"$@\"\n"))?;
    Ok(folder)
}

/// Runs what the runner calls as `node [--flag…] run.mjs`.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let script = arguments.iter().map(PathBuf::from).find(|path| path.ends_with("run.mjs"));
    let script = script.context("expected run.mjs: is WASM_BINDGEN_USE_NODE_EXPERIMENTAL set?")?;
    let folder = script.parent().context("run.mjs is in a folder")?;
    adapt_glue(&folder.join("wasm-bindgen-test.js"))?;
    adapt_script(&script)?;
    fs::write(folder.join("main.js"), MAIN)?;
    fs::write(folder.join("before.js"), BEFORE)?;

    let names: Vec<_> =
        env::vars().map(|(name, _)| name).filter(|name| name.starts_with("EDGELOCK_")).collect();
    fs::write(
        folder.join("config.capnp"),
        workerd_config("main.js", &workerd_modules(folder)?, &names)?,
    )?;
    let status = Command::new(paths::workerd())
        .args(["test", "config.capnp"])
        .current_dir(folder)
        .status()?;
    ensure!(status.success(), "the tests failed in workerd ({status})");
    Ok(())
}

fn adapt_glue(path: &Path) -> Result<()> {
    let glue = fs::read_to_string(path)?;
    let loads = |line: &str| {
        ["import { readFileSync }", "const wasmUrl =", "const wasmBytes ="]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let mut imported = false;
    let adapted: Vec<_> = glue
        .lines()
        .filter(|line| !loads(line))
        .map(|line| {
            if !line.starts_with("const wasmModule =") {
                return line;
            }
            imported = true;
            "import wasmModule from './wasm-bindgen-test_bg.wasm';"
        })
        .collect();
    ensure!(imported, "wasm-bindgen loads its wasm in a new way: see {}", path.display());
    fs::write(path, adapted.join("\n")).map_err(Into::into)
}

fn adapt_script(path: &Path) -> Result<()> {
    let script = fs::read_to_string(path)?;
    let exit = "import { exit } from 'node:process'";
    let (Some((body, _)), true) = (script.rsplit_once("main(tests)"), script.contains(exit)) else {
        bail!("wasm-bindgen-test-runner writes another run.mjs: see {}", path.display());
    };
    let (imports, rest): (Vec<_>, Vec<_>) = body
        .lines()
        .filter(|line| !line.contains(exit))
        .partition(|line| line.trim_start().starts_with("import "));
    let adapted = format!(
        "{}
export async function run() {{
const exit = (code) => {{ if (code) throw new Error('some tests failed'); }};
{}
await main(tests);
}}
",
        imports.join("\n"),
        rest.join("\n")
    );
    fs::write(path.with_extension("js"), adapted).map_err(Into::into)
}
