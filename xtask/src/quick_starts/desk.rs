//! What stands on a reader's machine: a clone, and programs under the names that the pages call.
//!
//! Nothing is downloaded, and nothing that takes minutes is compiled. So these stand in:
//!
//! - `wrangler` is there as if npm had installed it for all: the one that npm picks for this Node.
//!   So npx finds it, and does not ask the registry;
//! - `cargo install worker-build` does nothing, since a `worker-build` is there. It compiles as the
//!   real one does, and makes the same kind of module of it with our `bind`. The real one fetches
//!   wasm-bindgen and wasm-opt, and bundles;
//! - `cargo xtask` and `cargo run -p edgelock-bridge` are the programs that were built before. So
//!   are the package and the Worker: `cargo xtask build-…` does nothing.
//!
//! Other commands of cargo take crates that are downloaded already, in the clone's versions.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;
use xtask::paths;
use xtask::programs::run;
use xtask::setup::tool;

/// The Node of a reader, and the wrangler that npm picks for it.
pub(super) struct Node {
    pub(super) program: PathBuf,
    pub(super) wrangler: PathBuf,
}

/// A folder that has a clone in it, called `edgelock`.
pub(super) struct Desk {
    folder: TempDir,
    command: Command,
}

const CARGO: &str = r#"case "$1 $2" in
    "xtask build-"* | "install worker-build@"*) exit ;;
    "xtask "*) shift; exec "$QUICK_XTASK" "$@" ;;
    "run -p") test "$3 $4" = "edgelock-bridge --" && shift 4 && exec "$EDGELOCK_BRIDGE_BIN" "$@" ;;
esac
exec "$QUICK_CARGO" "$@"
"#;

const WORKER_BUILD: &str = r#"test "$*" = --release
cargo build --quiet --lib --release --target wasm32-unknown-unknown
name=$(basename "$PWD" | tr - _)
"$QUICK_BIND" worker "$QUICK_TARGET/wasm32-unknown-unknown/release/$name.wasm" build/glue
sed -i 's/import source /import /' build/glue/index.js
echo 'import { fetch } from "./glue/index.js"; export default { fetch };' > build/index.js
"#;

/// Downloads the crates of the clone, since a reader's cargo has no registry here.
pub(super) fn fetch_crates() -> Result<()> {
    let fetch = "fetch --quiet --locked --target wasm32-unknown-unknown --target host-tuple";
    run(paths::cargo().args(fetch.split(' ')))
}

impl Desk {
    pub(super) fn set_up(xtask: &Path, bridge: &Path, node: &Node) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("edgelock-desk-")
            .tempdir()?;
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

        symlink(&node.program, at("programs/bin/node"))?;
        symlink(&node.wrangler, at("programs/bin/wrangler"))?;
        script(&at("programs/bin/cargo"), CARGO)?;
        script(&at("programs/bin/worker-build"), WORKER_BUILD)?;

        let target = paths::target().join("quick-starts");
        let config = format!(
            "[build]\ntarget-dir = {:?}\n\n[net]\noffline = true\n",
            target
        );
        fs::write(at(".cargo/config.toml"), config)?;

        let programs = std::env::var_os("PATH").context("a PATH")?;
        let before = [at("programs/bin")];
        let programs = before.into_iter().chain(std::env::split_paths(&programs));
        let mut command = paths::command("sh");
        command
            .env("PATH", std::env::join_paths(programs)?)
            .env("QUICK_XTASK", xtask)
            .env("QUICK_CARGO", paths::on_path("cargo").context("no cargo")?)
            .env("QUICK_BIND", tool("bind"))
            .env("QUICK_TARGET", target)
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

    /// A new folder, beside the clone or elsewhere.
    pub(super) fn place(&self, name: impl AsRef<Path>) -> Result<PathBuf> {
        let place = self.folder.path().join(name);
        fs::create_dir_all(&place)?;
        Ok(place)
    }
}

fn script(path: &Path, text: &str) -> Result<()> {
    fs::write(path, format!("#!/bin/sh\nset -e\n{text}"))?;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}
