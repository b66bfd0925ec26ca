//! Connections of clients: how many, and for how long they may be silent.
//!
//! Descriptors are kept for Redis, however many clients come, and a few connections for whoever asks for `/health`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::places::{Place, Places};
use crate::rarely::Rarely;

/// The head of a request, in bytes.
const HEAD: usize = 32 * 1024;

/// What is read of a connection before it is dealt with, in bytes.
const BUFFER: usize = 64 * 1024;

/// How many connections may wait to be accepted, as far as the system lets us: as many as there may be by default.
const BACKLOG: i32 = 4096;

/// How many connections beyond the most are told so, and how many of one address.
const CROWD: (usize, usize) = (32, 8);

/// For how long such a connection may be silent.
const CROWD_IDLE: Duration = Duration::from_secs(2);

/// Descriptors for files, for the listener, for transactions and for what else goes to Redis.
const OWN: usize = 64;

/// Where clients come in.
pub(crate) struct Door {
    pub(crate) places: Arc<Places>,
    /// For how long a connection may be silent, and how long the head of a request may take.
    pub(crate) idle: Duration,
    pub(crate) router: Router,
}

/// Serves whom `door` has a place for, and by `crowded` those beyond, until the bridge stops and all that was begun is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    door: Door,
    crowded: Router,
    mut stopping: watch::Receiver<()>,
) {
    let connections = GracefulShutdown::new();
    let crowd = Door {
        places: Places::new(CROWD.0, CROWD.1),
        idle: CROWD_IDLE,
        router: crowded,
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                tune(&stream);
                if let Some(place) = door.places.take(peer.ip()) {
                    door.admit(stream, place, true, &connections);
                    continue;
                }
                tell_of_crowd(peer);
                if let Some(place) = crowd.places.take(peer.ip()) {
                    crowd.admit(stream, place, false, &connections);
                }
            }
            Err(error) => not_accepted(&error).await,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

impl Door {
    fn admit(&self, stream: TcpStream, place: Place, stays: bool, connections: &GracefulShutdown) {
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.idle)
            .max_header_size(HEAD)
            .max_buf_size(BUFFER)
            .keep_alive(stays)
            .serve_connection(
                TokioIo::new(stream),
                TowerToHyperService::new(self.router.clone()),
            );
        let served = connections.watch(served);
        tokio::spawn(async move {
            // Clients break off as they like.
            let _ = served.await;
            drop(place);
        });
    }
}

/// Whoever comes when the system keeps no more connections for a listener is not refused, but tries again after a second.
pub(crate) fn let_many_come_at_once(listener: &TcpListener) -> io::Result<()> {
    socket2::SockRef::from(listener).listen(BACKLOG)
}

/// How many clients may be connected, so that `for_redis` more descriptors and the bridge's own are left.
pub(crate) fn most_connections(asked: usize, for_redis: usize) -> Result<usize, String> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // Some systems have no unlimited number of files, but say so.
    let _ = setrlimit(Resource::Nofile, raised);
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return Ok(asked);
    };
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    let most = files.saturating_sub(for_redis + CROWD.0 + OWN).min(asked);
    match most {
        0 => Err(format!(
            "the system allows {files} open files, which is too few: raise it by `ulimit -n`, or lower --max-waits"
        )),
        _ => Ok(most),
    }
}

/// Answers leave at once, and a client that vanished without a word, or reads nothing, is found out.
fn tune(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    let probes = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5));
    let tuned = socket
        .set_tcp_nodelay(true)
        .and_then(|()| socket.set_tcp_keepalive(&probes));
    #[cfg(target_os = "linux")]
    let tuned = tuned.and_then(|()| socket.set_tcp_user_timeout(Some(Duration::from_secs(20))));
    if let Err(error) = tuned {
        tracing::debug!(%error, "socket options");
    }
}

fn tell_of_crowd(peer: SocketAddr) {
    static SAID: Rarely = Rarely::new();
    if let Some(left_out) = SAID.due() {
        let address = peer.ip();
        tracing::warn!(%address, left_out, "too many connections, in all or from this address");
    }
}

async fn not_accepted(error: &io::Error) {
    static SAID: Rarely = Rarely::new();
    if let Some(left_out) = SAID.due() {
        tracing::warn!(%error, left_out, "a connection was not accepted");
    }
    // Where descriptors have run out, it would fail again at once.
    let of_client = [
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionReset,
    ];
    if !of_client.contains(&error.kind()) {
        sleep(Duration::from_millis(50)).await;
    }
}
