//! The Worker in `workerd`, the runtime that Cloudflare runs it in.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::Signal;
use tempfile::TempDir;

use super::bridge::Bridge;
use super::config::{CRON_PATH, workerd_config_with_cron, workerd_modules};
use super::process::{Process, START_LIMIT};
use crate::paths;

/// The configuration of a Worker.
#[derive(Clone)]
pub struct WorkerConfig {
    build: PathBuf,
    bindings: Vec<(String, String)>,
    object: Option<&'static str>,
    service: Option<(&'static str, String)>,
    has_signal: bool,
}

/// A running Worker. Dropping it kills it.
pub struct Worker {
    // Before `folder`, so that the process ends before its files go.
    process: Process,
    folder: TempDir,
    bindings: Vec<(String, String)>,
    ports: Ports,
}

/// The ports on which it listens: for requests, and for the clock.
#[derive(Clone, Copy)]
struct Ports {
    http: u16,
    cron: u16,
}

impl WorkerConfig {
    /// The Worker in this folder, with `index.js` and what it imports, with this bridge, and with
    /// random credentials for its own callers.
    pub fn new(build: impl Into<PathBuf>, bridge: &Bridge) -> Self {
        Self::bare(build)
            .bind_all(bridge.variables())
            .bind("ADMIN_CREDENTIAL", super::credential())
            .bind("LOCKS_CREDENTIAL", super::credential())
    }

    /// As [`WorkerConfig::new`], without any binding.
    pub fn bare(build: impl Into<PathBuf>) -> Self {
        Self {
            build: build.into(),
            bindings: Vec::new(),
            object: None,
            service: None,
            has_signal: true,
        }
    }

    /// Has the host not tell a request that its caller hung up.
    #[must_use]
    pub fn without_request_signal(mut self) -> Self {
        self.has_signal = false;
        self
    }

    /// Makes a class of the Worker a Durable Object, kept in memory and bound under its own name.
    #[must_use]
    pub fn object(mut self, class: &'static str) -> Self {
        self.object = Some(class);
        self
    }

    /// Gives the Worker a service binding, whose requests go to this `host:port`.
    #[must_use]
    pub fn service(mut self, name: &'static str, address: impl fmt::Display) -> Self {
        self.service = Some((name, address.to_string()));
        self
    }

    /// Gives the Worker a variable or secret, in place of one with the same name.
    #[must_use]
    pub fn bind(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.bindings.retain(|(known, _)| *known != name);
        self.bindings.push((name, value.into()));
        self
    }

    /// The same for several.
    #[must_use]
    pub fn bind_all<'v>(self, all: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        all.into_iter().fold(self, |config, (name, value)| config.bind(name, value))
    }

    /// Takes a variable or secret away.
    #[must_use]
    pub fn unbind(mut self, name: &str) -> Self {
        self.bindings.retain(|(known, _)| known != name);
        self
    }

    /// The value of a variable or secret; empty where there is none.
    pub fn binding(&self, name: &str) -> &str {
        self.bindings.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The credential of those who may open sales.
    pub fn admin_token(&self) -> &str {
        self.binding("ADMIN_CREDENTIAL")
    }

    /// The credential of those who may use the lock service.
    pub fn locks_token(&self) -> &str {
        self.binding("LOCKS_CREDENTIAL")
    }
}

impl Worker {
    /// Starts a Worker.
    pub fn spawn(config: &WorkerConfig) -> Self {
        Self::start(config).unwrap_or_else(|error| panic!("no worker: {error:#}"))
    }

    /// Starts a Worker and waits until it listens.
    pub fn start(config: &WorkerConfig) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("edgelock-worker-").tempdir()?;
        let modules = copy_modules(&config.build, folder.path())
            .with_context(|| format!("no Worker in {}", config.build.display()))?;
        let names = config.bindings.iter().map(|(name, _)| name);
        let service = config.service.as_ref();
        let service = service.map(|(name, address)| (*name, address.as_str()));
        let mut text =
            workerd_config_with_cron("index.js", &modules, names, config.object, service)?;
        if !config.has_signal {
            text = text.replace("enable_request_signal", "disable_request_signal");
        }
        fs::write(folder.path().join("config.capnp"), text)?;
        let (process, ports) = serve(folder.path(), &config.bindings, 0)?;
        Ok(Self { process, folder, bindings: config.bindings.clone(), ports })
    }

    /// Its address, `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.http)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.ports.http
    }

    /// The address where `GET` calls its handler of scheduled events, as the clock would. `?time=`
    /// is in milliseconds since 1970.
    pub fn cron_url(&self) -> String {
        format!("http://127.0.0.1:{}{CRON_PATH}", self.ports.cron)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills it as a crash would: SIGKILL, whatever it was doing.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Stops it where it is, until it is [woken](Worker::wake).
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on after [`Worker::freeze`].
    pub fn wake(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Kills it if it runs, and starts it again on the same port.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        (self.process, self.ports) = serve(self.folder.path(), &self.bindings, self.ports.http)?;
        Ok(())
    }

    /// What it wrote to its console since it was started or restarted.
    pub fn log(&self) -> String {
        self.process.log()
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("port", &self.ports.http).finish_non_exhaustive()
    }
}

/// The modules are copied, because a build at the same time replaces the files one by one.
fn copy_modules(build: &Path, folder: &Path) -> Result<Vec<String>> {
    let modules = workerd_modules(build)?;
    for module in &modules {
        let copy = folder.join(module);
        fs::create_dir_all(copy.parent().context("a module is in a folder")?)?;
        fs::copy(build.join(module), copy)?;
    }
    Ok(modules)
}

fn serve(folder: &Path, bindings: &[(String, String)], port: u16) -> Result<(Process, Ports)> {
    let mut command = Command::new(paths::workerd());
    command
        .args(["serve", "config.capnp", "--control-fd=1"])
        .arg(format!("--socket-addr=http=127.0.0.1:{port}"))
        .current_dir(folder)
        .env_clear()
        .envs(bindings.iter().cloned());
    let process = Process::start(&mut command).context("`cargo xtask setup` installs workerd")?;
    let http = process.wait_for_port(Some("http"), START_LIMIT)?;
    let cron = process.wait_for_port(Some("cron"), START_LIMIT)?;
    Ok((process, Ports { http, cron }))
}
