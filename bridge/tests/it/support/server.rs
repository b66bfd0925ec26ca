//! A Redis that a test starts, stops and starts again itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, Command};

use super::{signal, until};

pub(crate) struct Redis {
    folder: TempDir,
    port: u16,
    args: Vec<String>,
    child: Option<Child>,
}

impl Redis {
    /// On a unix socket.
    pub(crate) async fn start() -> Self {
        Self::with(|_, _| Vec::new()).await
    }

    /// `args` makes the arguments from the folder, which is the server's own, and a free port,
    /// which nothing uses unless they do.
    pub(crate) async fn with(args: impl FnOnce(&TempDir, u16) -> Vec<String>) -> Self {
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
        redis.resume().await;
        redis
    }

    /// Starts it again, empty.
    pub(crate) async fn resume(&mut self) {
        let mut command = Command::new("redis-server");
        command
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(self.socket());
        command
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        self.child = Some(command.spawn().expect("redis-server is installed"));
        let ports = self.args.iter().any(|arg| *arg == self.port.to_string());
        until("redis-server listens", async || {
            let unix = UnixStream::connect(self.socket()).await.is_ok();
            unix && (!ports || TcpStream::connect(("127.0.0.1", self.port)).await.is_ok())
        })
        .await;
    }

    /// As if its machine had lost power.
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

    /// For `--redis`.
    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }
}

/// Past the bridge.
pub(crate) async fn connect(socket: &Path) -> MultiplexedConnection {
    let client = redis::Client::open(format!("unix://{}", socket.display())).expect("an address");
    client
        .get_multiplexed_async_connection()
        .await
        .expect("redis-server listens")
}

/// What Redis says of itself.
pub(crate) async fn told(direct: &mut MultiplexedConnection, command: &str, about: &str) -> String {
    let told = redis::cmd(command).arg(about).query_async(direct).await;
    told.expect("redis answers")
}

/// A command that waits is under way.
pub(crate) async fn until_blocked(direct: &mut MultiplexedConnection) {
    until("a command waits", async || {
        let info = told(direct, "INFO", "clients").await;
        info.contains("blocked_clients:1")
    })
    .await;
}
