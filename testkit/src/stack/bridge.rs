//! `edgelock-bridge`, by default with a private Redis of its own.

use std::env;
use std::fmt;
use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::Signal;
use serde_json::Value;

use super::port::on_free_port;
use super::process::{Process, START_LIMIT};
use crate::paths;

const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A running bridge. Dropping it ends the bridge and the Redis that it spawned.
pub struct Bridge {
    process: Process,
    url: String,
    token: String,
    redis_socket: Option<PathBuf>,
    options: BridgeOptions,
}

/// How to start a [`Bridge`].
#[derive(Clone)]
pub struct BridgeOptions {
    binary: Option<PathBuf>,
    listen: String,
    credential: Option<String>,
    redis: String,
    cluster: bool,
    redis_server: Option<PathBuf>,
    dangerous_commands: bool,
    others: Vec<String>,
}

impl Bridge {
    /// A bridge on a port that the system picks, with a Redis of its own and a random credential.
    pub fn spawn() -> Self {
        Self::options().start().unwrap_or_else(|error| panic!("no bridge: {error:#}"))
    }

    /// To start a bridge in another way than [`Bridge::spawn`] does.
    pub fn options() -> BridgeOptions {
        BridgeOptions {
            binary: None,
            listen: "127.0.0.1:0".to_owned(),
            credential: None,
            redis: "spawn".to_owned(),
            cluster: false,
            redis_server: None,
            dangerous_commands: false,
            others: Vec::new(),
        }
    }

    /// Its address, `http://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same without the scheme.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.url.strip_prefix("http://").context("a URL of HTTP")?;
        Ok(address.parse()?)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Stops it where it is: it accepts connections, and never answers, until it is
    /// [woken](Bridge::wake).
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on after [`Bridge::freeze`].
    pub fn wake(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Kills it as a crash would: SIGKILL, whatever it was doing.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Kills it if it runs and starts it again on the same port, with the same credential.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        let mut options = self.options.clone();
        options.listen = self.address()?.to_string();
        let (process, _) = options.launch(&self.token)?;
        self.process = process;
        Ok(())
    }

    /// The credential that it accepts.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The variables that tell a program where it is, and its credential.
    pub fn variables(&self) -> [(&'static str, &str); 2] {
        [("EDGELOCK_BRIDGE_URL", self.url()), ("EDGELOCK_BRIDGE_CREDENTIAL", self.token())]
    }

    /// The unix socket of the Redis that it spawned.
    pub fn redis_socket(&self) -> &Path {
        self.redis_socket.as_deref().expect("this bridge uses a Redis that it did not spawn")
    }

    /// A client of the Redis that it spawned, past the bridge.
    pub fn redis(&self) -> redis::Client {
        let socket = format!("unix://{}", self.redis_socket().display());
        redis::Client::open(socket).expect("a socket is an address")
    }

    /// Lets the Redis that it spawned also listen on a TCP port of this machine, for clients that
    /// know no unix sockets. Returns the address.
    pub fn redis_by_tcp(&self) -> Result<SocketAddr> {
        on_free_port(|port| {
            let mut listen = redis::cmd("CONFIG");
            listen.arg("SET").arg("bind").arg("127.0.0.1");
            listen.arg("port").arg(port);
            listen.exec(&mut self.redis().get_connection()?)?;
            Ok((Ipv4Addr::LOCALHOST, port).into())
        })
    }

    /// What it wrote to standard output and standard error so far.
    pub fn log(&self) -> String {
        self.process.log()
    }
}

impl BridgeOptions {
    /// Runs this executable, not the one that `EDGELOCK_BRIDGE_BIN` names or the workspace builds.
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Listens on this address; port 0 lets the system pick.
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// Accepts this credential, not a random one.
    #[must_use]
    pub fn credential(mut self, credential: impl Into<String>) -> Self {
        self.credential = Some(credential.into());
        self
    }

    /// Uses the Redis at this URL.
    #[must_use]
    pub fn redis(mut self, url: impl Into<String>) -> Self {
        self.redis = url.into();
        self
    }

    /// Spawns this `redis-server`, not the one on `PATH`.
    #[must_use]
    pub fn redis_server(mut self, program: impl Into<PathBuf>) -> Self {
        self.redis_server = Some(program.into());
        self
    }

    /// Uses the Redis Cluster of which this URL is a node.
    #[must_use]
    pub fn cluster(mut self, url: impl Into<String>) -> Self {
        self.cluster = true;
        self.redis(url)
    }

    /// Allows commands that can harm others: tests look at everything in Redis, and let it forget
    /// its scripts.
    #[must_use]
    pub fn dangerous_commands(mut self) -> Self {
        self.dangerous_commands = true;
        self
    }

    /// Gives it this option too, as `--max-connections=100`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.others.push(option.into());
        self
    }

    /// Starts it and waits until it listens.
    pub fn start(self) -> Result<Bridge> {
        let token = self.credential.clone().unwrap_or_else(super::credential);
        let (process, url) = self.launch(&token)?;
        let redis_socket = if self.redis == "spawn" {
            Some(process.wait_for("redis socket", START_LIMIT, |line| {
                Some(line.strip_prefix("redis unix socket ")?.into())
            })?)
        } else {
            None
        };
        Ok(Bridge { process, url, token, redis_socket, options: self })
    }

    /// Starts the process. Returns it, and where it listens.
    fn launch(&self, token: &str) -> Result<(Process, String)> {
        let binary = self.binary.clone().map_or_else(binary, Ok)?;
        let program = self.redis_server.clone().or_else(paths::redis_server);
        let redis = match program.filter(|_| self.redis == "spawn") {
            Some(program) => format!("spawn:{}", program.display()),
            None => self.redis.clone(),
        };
        let mut command = std::process::Command::new(binary);
        command
            .args(["--listen", &self.listen, "--redis", &redis])
            .args(self.cluster.then_some("--cluster"))
            .args(self.dangerous_commands.then_some("--dangerous-commands"))
            .args(&self.others)
            .env("EDGELOCK_BRIDGE_CREDENTIAL", token);
        let process = Process::start(&mut command)?;
        let url = process.wait_for("address", START_LIMIT, |line| {
            Some(line.strip_prefix("edgelock-bridge listening on ")?.to_owned())
        })?;
        Ok((process, url))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if self.process.terminate(STOP_LIMIT) {
            return;
        }
        self.process.kill();
        // A bridge that had to be killed left its Redis behind.
        if let Some(mut redis) =
            self.redis_socket.as_ref().and_then(|socket| UnixStream::connect(socket).ok())
        {
            let _ = redis.write_all(b"SHUTDOWN NOSAVE\r\n");
        }
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("url", &self.url)
            .field("redis_socket", &self.redis_socket)
            .finish_non_exhaustive()
    }
}

/// The bridge's executable, built once per process.
fn binary() -> Result<PathBuf> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let binary = BINARY.get_or_init(|| bridge_binary("dev").map_err(|error| format!("{error:#}")));
    binary.clone().map_err(|error| anyhow!(error))
}

/// The bridge that `EDGELOCK_BRIDGE_BIN` names, or else the workspace's own, built with this
/// profile.
pub fn bridge_binary(profile: &str) -> Result<PathBuf> {
    match env::var_os("EDGELOCK_BRIDGE_BIN") {
        Some(path) => Ok(path.into()),
        None => build_bridge(profile),
    }
}

/// Builds the workspace's bridge with one of its profiles, and says where it is.
pub fn build_bridge(profile: &str) -> Result<PathBuf> {
    // What is measured has no feature but its own. The other one is made of what we are made of.
    let which = match profile {
        "dev" => "--bin=edgelock-bridge",
        _ => "--package=edgelock-bridge",
    };
    let mut cargo = paths::cargo()
        .args(["build", which, "--profile", profile, "--message-format=json-render-diagnostics"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let messages = cargo.stdout.take().context("cargo has a standard output")?;
    let executable = serde_json::Deserializer::from_reader(BufReader::new(messages))
        .into_iter::<Value>()
        .map_while(Result::ok)
        .filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .last();
    if !cargo.wait()?.success() {
        bail!("cargo build --package edgelock-bridge failed");
    }
    executable.context("cargo built no edgelock-bridge")
}
