//! The client's wasm and the bundles that the benchmark runs.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use xtask::{paths, worker_build};

use crate::client_wasm::{self, bind};

/// Where the bundles are.
pub(super) struct Built {
    folder: PathBuf,
}

/// Builds the client's wasm and bundles the scripts with these names for their hosts.
pub(super) fn run(scripts: &[&str]) -> Result<Built> {
    let folder = paths::target().join("bench");
    let glue = folder.join("glue");
    client_wasm::run(paths::cargo().args(
        "build --quiet --release --target wasm32-unknown-unknown -p edgelock-js".split(' '),
    ))?;
    bind("release", "-O3", &glue)?;
    client_wasm::run(
        Command::new(paths::npm_bin("esbuild"))
            .arg(glue.join("edgelock_js_bg.js"))
            .args([
                "--bundle",
                "--minify",
                "--format=esm",
                "--log-level=warning",
            ])
            .arg(format!("--outfile={}", glue.join("edgelock.js").display())),
    )?;
    for script in scripts {
        bundle(script, &glue, &folder.join(script))?;
    }
    Ok(Built { folder })
}

fn bundle(script: &str, glue: &Path, out: &Path) -> Result<()> {
    fs::create_dir_all(out)?;
    let sources = paths::root().join("xtask/bench");
    let platform: &[&str] = match script {
        "workerd" => &["--platform=browser", "--conditions=workerd"],
        _ => &["--platform=node"],
    };
    client_wasm::run(
        Command::new(paths::npm_bin("esbuild"))
            .arg(sources.join(format!("{script}.js")))
            .args([
                "--bundle",
                "--format=esm",
                "--log-level=warning",
                "--external:./edgelock.wasm",
            ])
            .arg(format!(
                "--alias:edgelock-glue={}",
                glue.join("edgelock_js_bg.js").display()
            ))
            .args(platform)
            .arg(format!("--outfile={}", out.join("index.js").display())),
    )?;
    fs::copy(glue.join("edgelock.wasm"), out.join("edgelock.wasm"))?;
    Ok(())
}

impl Built {
    /// A script for Node.
    pub(super) fn node(&self, script: &str) -> PathBuf {
        self.folder.join(script).join("index.js")
    }

    pub(super) fn workerd(&self) -> PathBuf {
        self.folder.join("workerd")
    }

    /// What an edge downloads: the client, and the flash-sale Worker as a whole, which is built for that.
    pub(super) fn sizes(&self) -> Result<String> {
        worker_build::build_if_stale()?;
        let glue = self.folder.join("glue");
        let worker = paths::worker_build();
        let files = [
            ("client, wasm", glue.join("edgelock.wasm")),
            ("client, JavaScript", glue.join("edgelock.js")),
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
