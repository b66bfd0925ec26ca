//! Debian's webdis, before a Redis that another handle owns.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;

use super::port::on_free_port;
use super::process::{Process, START_LIMIT};

/// webdis breaks the line after 53 bytes of user and password, so this is short. The password is
/// long enough for a secret.
const USER: &str = "edgelock";

/// A running webdis that serves its one user only. Dropping it kills it.
pub struct Webdis {
    process: Process,
    port: u16,
    password: String,
    // After `process`, so that the process ends before its files go.
    _folder: TempDir,
}

impl Webdis {
    /// Starts one before the Redis at this unix socket, on a free port. Its user may use these
    /// commands. With webdis, that includes whatever one of them begins with.
    pub fn start(redis_socket: &Path, commands: &[&str]) -> Result<Self> {
        on_free_port(|port| Self::start_on(port, redis_socket, commands))
    }

    fn start_on(port: u16, redis_socket: &Path, commands: &[&str]) -> Result<Self> {
        let password = super::credential();
        let config = json!({
            "daemonize": false,
            "redis_host": redis_socket,
            "http_host": "127.0.0.1",
            "http_port": port,
            "threads": 2,
            "verbosity": 3,
            "logfile": "/dev/stdout",
            "acl": [
                { "disabled": ["*"] },
                { "http_basic_auth": format!("{USER}:{password}"), "enabled": commands },
            ],
        });
        // Nobody else may read this folder.
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("webdis.json");
        fs::write(&file, config.to_string())?;
        let process = Process::start(Command::new("webdis").arg(file))
            .context("run `cargo xtask setup`, which installs it")?;
        process.wait_for("that it runs", START_LIMIT, |line| {
            line.ends_with("up and running").then_some(())
        })?;
        Ok(Self { process, port, password, _folder: folder })
    }

    /// Its address, `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The name of its user.
    pub const fn user(&self) -> &'static str {
        USER
    }

    /// The password of its user.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}
