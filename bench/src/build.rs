//! The npm package, and the scripts that the benchmarks run, bundled as its users bundle theirs.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use testkit::paths;
use testkit::programs::{self, REQUIRE, xtask};
use testkit::stack::{self, Bridge, NodeScript};

/// A bridge with a Redis of its own, optimized as it is deployed, once all is set up and the npm
/// package is built.
pub(super) fn bridge() -> Result<Bridge> {
    xtask(&["setup"])?;
    eprintln!("building the npm package, its bundles and the bridge (profile `server`)");
    xtask(&["build-npm"])?;
    Bridge::options().binary(stack::bridge_binary("server")?).start()
}

/// Starts a script in Node, with these variables besides our own.
pub(super) fn start(script: &str, variables: &[(&str, &str)]) -> Result<NodeScript> {
    NodeScript::start(&bundle(script)?.join("index.js"), variables.iter().copied())
}

/// Bundles a script of `bench/scripts` for Node or, if it is called so, for `workerd`. What it
/// imports when it needs it is a file of its own. Returns the folder of its `index.js`.
pub(super) fn bundle(script: &str) -> Result<PathBuf> {
    let out = paths::target().join("bench").join(script);
    let package = paths::npm_package();
    let (platform, ours, redis) = match script.ends_with("workerd") {
        true => ("browser", "workerd.js", "cloudflare"),
        // The one that bundlers take, by its condition `module`.
        false => ("node", "index.js", "node"),
    };
    let mut esbuild = Command::new(paths::npm_bin("esbuild"));
    esbuild
        .arg(format!("bench/scripts/{script}.js"))
        .current_dir(paths::root())
        .args(["--bundle", "--minify", "--format=esm", "--splitting"])
        .args(["--loader:.wasm=copy", "--asset-names=[name]"])
        .args(["--entry-names=index", "--chunk-names=[name]"])
        .arg("--log-level=warning")
        .arg(format!("--platform={platform}"))
        .arg(format!("--alias:edgelock={}", package.join(ours).display()))
        .arg(format!("--alias:@upstash/redis=@upstash/redis/{redis}"))
        .arg(format!("--outdir={}", out.display()));
    if platform == "node" {
        esbuild.arg(format!("--banner:js={REQUIRE}"));
    }
    programs::run(&mut esbuild)?;
    Ok(out)
}

pub(super) fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut child = Command::new("gzip")
        .args(["-9", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output()?;
    writer.join().ok().context("gzip was fed")??;
    ensure!(output.status.success(), "gzip failed");
    Ok(output.stdout.len())
}
