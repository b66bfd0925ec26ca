//! A Redis that a test starts, stops and starts again itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, Command};

use super::{signal, until};

/// How often somebody else may take a free port before the server does.
const TRIES: usize = 5;

pub(crate) struct Redis {
    folder: TempDir,
    port: u16,
    args: Vec<String>,
    child: Option<Child>,
}

impl Redis {
    /// A Redis on a unix socket.
    pub(crate) async fn start() -> Self {
        Self::with(|_, _| Vec::new()).await
    }

    /// A Redis with arguments of the test's choice. `args` makes them from the server's own folder
    /// and a free port, which stays unused unless `args` names it.
    pub(crate) async fn with(mut args: impl FnMut(&TempDir, u16) -> Vec<String>) -> Self {
        for _ in 0..TRIES {
            let folder = tempfile::tempdir().expect("a folder");
            let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
            let port = free.expect("a free port").port();
            let args = args(&folder, port);
            let mut redis = Self {
                folder,
                port,
                args,
                child: None,
            };
            if redis.starts().await {
                return redis;
            }
        }
        panic!("redis-server does not start")
    }

    /// Starts it again, without data.
    pub(crate) async fn resume(&mut self) {
        assert!(self.starts().await, "redis-server does not start again");
    }

    /// Starts it. Returns whether it listens; if not, it has ended.
    async fn starts(&mut self) -> bool {
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--port", "0", "--save", ""])
            .arg("--unixsocket")
            .arg(self.socket())
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("redis-server is installed");
        let mut has_ended = false;
        until("redis-server listens", async || {
            has_ended = child.try_wait().expect("a child").is_some();
            has_ended || self.listens().await
        })
        .await;
        self.child = Some(child);
        !has_ended
    }

    async fn listens(&self) -> bool {
        let uses_port = self.args.iter().any(|arg| *arg == self.port.to_string());
        let unix = UnixStream::connect(self.socket()).await.is_ok();
        unix && (!uses_port || TcpStream::connect(("127.0.0.1", self.port)).await.is_ok())
    }

    /// Ends it as if its machine had lost power.
    pub(crate) async fn kill(&mut self) {
        let mut child = self.child.take().expect("a server that runs");
        child.kill().await.expect("it can be killed");
    }

    pub(crate) async fn signal(&self, name: &str) {
        let id = self
            .child
            .as_ref()
            .and_then(Child::id)
            .expect("a server that runs");
        signal(id, name).await;
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) async fn connect(&self) -> MultiplexedConnection {
        connect(&self.socket()).await
    }

    /// The address for `--redis`.
    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }
}

/// A connection past the bridge.
pub(crate) async fn connect(socket: &Path) -> MultiplexedConnection {
    let client = redis::Client::open(format!("unix://{}", socket.display())).expect("an address");
    client
        .get_multiplexed_async_connection()
        .await
        .expect("redis-server listens")
}

/// What Redis answers to a command about itself.
pub(crate) async fn told(direct: &mut MultiplexedConnection, command: &str, about: &str) -> String {
    let told = redis::cmd(command).arg(about).query_async(direct).await;
    told.expect("redis answers")
}

/// How many `calls` of a command Redis got, or `rejected_calls`.
pub(crate) async fn counted(direct: &mut MultiplexedConnection, command: &str, what: &str) -> u64 {
    let stats = told(direct, "INFO", "commandstats").await;
    let of_command = stats.split(&format!("cmdstat_{command}:")).nth(1);
    let count = of_command.and_then(|counts| counts.split(&format!("{what}=")).nth(1));
    let digits = count.and_then(|count| count.split(',').next());
    digits.map_or(0, |digits| digits.parse().expect("a number"))
}

/// Waits until Redis has a client that is blocked.
pub(crate) async fn until_blocked(direct: &mut MultiplexedConnection) {
    until("a command waits", async || {
        let info = told(direct, "INFO", "clients").await;
        info.contains("blocked_clients:1")
    })
    .await;
}
