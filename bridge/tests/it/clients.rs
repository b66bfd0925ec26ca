//! The dialect's own clients, without changes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::support::{Bridge, TOKEN};

const PATIENCE: Duration = Duration::from_secs(180);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the bridge is a member of a workspace")
}

fn clients(file: &str) -> PathBuf {
    root().join("bridge/tests/clients").join(file)
}

/// Runs `program` against a bridge. If it fails, the message has what it printed.
async fn passes(program: OsString, args: &[PathBuf]) {
    let bridge = Bridge::spawn().await;
    let mut command = Command::new(&program);
    command.args(args).current_dir(root()).stdin(Stdio::null()).kill_on_drop(true);
    command.env("EDGELOCK_BRIDGE_URL", bridge.url()).env("EDGELOCK_BRIDGE_CREDENTIAL", TOKEN);
    let ended = timeout(PATIENCE, command.output()).await.expect("the clients come to an end");
    let ended =
        ended.unwrap_or_else(|error| panic!("{program:?}: {error}; run `cargo xtask setup`"));
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
}

async fn node(file: &str) {
    let packages = root().join("node_modules/@upstash/redis");
    assert!(packages.exists(), "{} is missing; run `cargo xtask setup`", packages.display());
    passes("node".into(), &["--test".into(), clients(file)]).await;
}

#[tokio::test]
async fn upstash_redis_from_npm_works_unchanged() {
    node("upstash_redis.test.mjs").await;
}

#[tokio::test]
async fn upstash_lock_from_npm_works_unchanged() {
    node("upstash_lock.test.mjs").await;
}

#[tokio::test]
async fn upstash_ratelimit_from_npm_works_unchanged() {
    node("upstash_ratelimit.test.mjs").await;
}

#[tokio::test]
async fn upstash_redis_from_pypi_works_unchanged() {
    let python = match std::env::var_os("EDGELOCK_PYTHON") {
        Some(python) => python,
        None => root().join("target/tools/python/bin/python").into(),
    };
    passes(python, &[clients("upstash_redis_test.py")]).await;
}
