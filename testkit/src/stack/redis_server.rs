//! A `redis-server` that a test starts, stops and kills itself.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use redis::ConnectionLike;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use tempfile::TempDir;

use super::port::on_free_port;
use super::process::{Process, START_LIMIT};
use crate::paths;

/// Options of a server that keeps all that it confirmed when it is restarted.
pub(super) const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A running server, in a folder of its own. Dropping it kills it.
pub struct RedisServer {
    process: Process,
    folder: TempDir,
    options: Vec<String>,
    has_clock: bool,
    port: u16,
}

impl RedisServer {
    /// A server on a port of the loopback interface, with these options. It stores nothing on disk
    /// unless they say so.
    pub fn start(options: &[&str]) -> Self {
        Self::with(|_| options.iter().map(|&option| option.to_owned()).collect())
    }

    /// A server that keeps all that it confirmed when it is [restarted](RedisServer::restart).
    pub fn durable() -> Self {
        Self::start(&DURABLE)
    }

    /// The same with Valkey, and with a clock of its own ([`RedisServer::set_clock`]). Redis cannot
    /// do this: its jemalloc asks for the time as it starts, and libfaketime hangs.
    pub fn with_clock() -> Result<Self> {
        Self::try_start(|_| DURABLE.map(str::to_owned).to_vec(), true)
    }

    /// A replica of `primary`, which has copied it.
    pub fn replica_of(primary: &Self, options: &[&str]) -> Self {
        let primary = format!("127.0.0.1 {}", primary.port);
        let mut all = vec!["--replicaof", primary.as_str()];
        all.extend(options);
        let replica = Self::start(&all);
        replica.wait_until_in_step();
        replica
    }

    /// Makes `options` for each port that is tried.
    pub(super) fn with(options: impl Fn(&Path) -> Vec<String>) -> Self {
        let server = Self::try_start(options, false);
        server.unwrap_or_else(|error| panic!("no redis-server: {error:#}"))
    }

    fn try_start(options: impl Fn(&Path) -> Vec<String>, has_clock: bool) -> Result<Self> {
        on_free_port(|port| {
            let folder = tempfile::tempdir().context("no folder")?;
            let options = options(folder.path());
            let process = serve(port, folder.path(), &options, has_clock)?;
            Ok(Self { process, folder, options, has_clock, port })
        })
    }

    /// Kills it if it runs, and starts it again on the same port, with what it stored.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        let folder = self.folder.path();
        self.process = serve(self.port, folder, &self.options, self.has_clock)?;
        Ok(())
    }

    /// Kills it, and starts it again on the same port with an empty disk.
    pub fn come_back_empty(&mut self) -> Result<()> {
        self.kill();
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            match path.is_dir() {
                true => fs::remove_dir_all(path)?,
                false => fs::remove_file(path)?,
            }
        }
        self.restart()
    }

    /// Sets the clock of a server that has its own: so far ahead of this machine's, or behind.
    pub fn set_clock(&self, ahead_ms: i64) -> Result<()> {
        set_clock(self.folder.path(), ahead_ms)
    }

    /// Lets it use so many bytes of memory at most; 0 is no limit.
    pub fn limit_memory(&self, bytes: &str) -> Result<()> {
        Ok(self.try_ask(&["CONFIG", "SET", "maxmemory", bytes])?)
    }

    /// From now on it cannot write to its disk, until it is [restarted](RedisServer::restart).
    pub fn fill_disk(&self) -> Result<()> {
        let id = Pid::from_raw(self.id().try_into()?).context("a process has an id")?;
        let nothing = Rlimit { current: Some(0), maximum: None };
        prlimit(Some(id), Resource::Fsize, nothing)?;
        Ok(())
    }

    /// The address for a bridge.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The port that it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its address for TCP.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Where it stores its data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it answers to a command, whose words are separated by blanks.
    pub fn ask<V: redis::FromRedisValue>(&self, command: &str) -> V {
        let words: Vec<&str> = command.split(' ').collect();
        self.try_ask(&words).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// What it answers to the words of a command.
    pub fn try_ask<V: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<V> {
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| {
            command.arg(*word);
        });
        let value = connection.req_command(&command)?;
        Ok(redis::from_redis_value(value.extract_error()?)?)
    }

    /// Asks again and again until the answer is yes.
    pub fn wait_until(&self, what: &str, yes: impl Fn(&Self) -> bool) {
        let until = std::time::Instant::now() + START_LIMIT;
        while !yes(self) {
            assert!(std::time::Instant::now() < until, "not in time: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this replica has what its primary has.
    pub fn wait_until_in_step(&self) {
        self.wait_until("it is in step", |replica| {
            let info: String = replica.ask("INFO replication");
            info.contains("master_link_status:up")
        });
    }

    /// Ends it as if its machine had lost power.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Makes it stand still: its connections stay open, and nothing is answered, until it is
    /// [woken](RedisServer::wake).
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on after [`RedisServer::freeze`].
    pub fn wake(&self) {
        self.process.signal(Signal::CONT);
    }
}

fn serve(port: u16, folder: &Path, options: &[String], has_clock: bool) -> Result<Process> {
    let program = match has_clock {
        true => paths::valkey_server().context("`cargo xtask setup` installs Valkey")?,
        false => paths::redis_server().context("no redis-server on the PATH")?,
    };
    // A write beyond a file's limit must fail, as on a full disk, and not end the process.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        // A replica does not wait for others that may want to copy the primary, too.
        .args(["--repl-diskless-sync-delay", "0"])
        .args(["--save", "", "--dir"])
        .arg(folder)
        .args(options);
    if has_clock {
        let library = paths::faketime().context("`cargo xtask setup` installs libfaketime")?;
        if !folder.join(CLOCK).exists() {
            set_clock(folder, 0)?;
        }
        command
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", folder.join(CLOCK))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
    let process = Process::start(&mut command)?;
    process.wait_for("readiness", START_LIMIT, |line| {
        line.contains("Ready to accept connections").then_some(())
    })?;
    if has_clock {
        // It no longer needs these files, and would leave them behind when it is killed.
        for file in ["faketime_shm", "sem.faketime_sem"] {
            let _ = fs::remove_file(format!("/dev/shm/{file}_{}", process.id()));
        }
    }
    Ok(process)
}

/// The file from which libfaketime reads the time.
const CLOCK: &str = "clock";

fn set_clock(folder: &Path, ahead_ms: i64) -> Result<()> {
    let (next, seconds) = (folder.join("next-clock"), ahead_ms as f64 / 1000.0);
    fs::write(&next, format!("{seconds:+}\n"))?;
    // Replaced as a whole, since it is read all the time.
    Ok(fs::rename(next, folder.join(CLOCK))?)
}
