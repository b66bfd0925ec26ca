//! The npm package, and the scripts that the benchmarks run, bundled as its users bundle theirs.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use testkit::programs::{self, REQUIRE, xtask};
use testkit::{paths, worker_build};

/// Where the bundles are.
pub(super) struct Built {
    folder: PathBuf,
}

/// Builds the npm package, and bundles the scripts with these names for their hosts: all for Node
/// but `workerd`.
pub(super) fn run(scripts: &[&str]) -> Result<Built> {
    xtask(&["build-npm"])?;
    let folder = paths::target().join("bench");
    for script in scripts {
        bundle(script, &folder.join(script))?;
    }
    Ok(Built { folder })
}

/// Bundles a script of `bench/scripts`. What it imports when it needs it is a file of its own.
pub(super) fn bundle(script: &str, out: &Path) -> Result<()> {
    let package = testkit::paths::npm_package();
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
    programs::run(&mut esbuild)
}

impl Built {
    /// A script for Node.
    pub(super) fn node(&self, script: &str) -> PathBuf {
        self.folder.join(script).join("index.js")
    }

    pub(super) fn workerd(&self) -> PathBuf {
        self.folder.join("workerd")
    }
}

/// What an edge downloads of the flash-sale Worker, which is built for that. For the package, see
/// [`crate::js`].
pub(super) fn worker_sizes() -> Result<String> {
    let worker = worker_build::deployed()?;
    let files = [
        ("Worker, wasm", worker.join("index_bg.wasm")),
        ("Worker, JavaScript", worker.join("index.js")),
    ];
    let mut table = format!("{:30} {:>10} {:>10}\n", "size in bytes", "raw", "gzip -9");
    for (what, path) in files {
        let bytes = fs::read(&path).with_context(|| format!("no {}", path.display()))?;
        table += &format!("{what:30} {:10} {:10}\n", bytes.len(), gzip(&bytes)?);
    }
    Ok(table)
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
