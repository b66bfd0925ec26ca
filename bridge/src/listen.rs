//! Connections of clients: how many, and what they may ask for.
//!
//! However many clients come, descriptors are kept for Redis, and a few connections for `/health`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::connection_limits::{ConnectionLimits, Place};
use crate::idle::{IdleLimits, IdleTracker};
use crate::rarely::Rarely;
use crate::reply::until_complete;
use crate::server::{Bridge, needs_place};

/// The head of a request, in bytes.
const HEAD: usize = 32 * 1024;

/// How much of a connection is read before it is processed, in bytes.
const BUFFER: usize = 64 * 1024;

/// How many connections may wait to be accepted, as far as the system allows: as many as there may
/// be connections by default.
const BACKLOG: i32 = 4096;

/// How many connections beyond the bound wait for a place: in all, and from one address.
const CROWD: (usize, usize) = (128, 64);

/// How long such a connection may be silent.
const CROWD_IDLE: Duration = Duration::from_secs(2);

/// How long a request waits for a place, before it is told that there is none. Where all of an
/// address take turns, one is free every few milliseconds. It may be the request that gives back
/// the lock for which all others wait.
const SOON: Duration = Duration::from_secs(1);

/// Descriptors for files, the listener, transactions, and the other connections to Redis.
const OWN: usize = 64;

/// Where clients come in.
pub(crate) struct Door {
    pub(crate) places: Arc<ConnectionLimits>,
    pub(crate) limits: IdleLimits,
}

#[derive(Clone)]
enum To {
    BeServed,
    /// For one of these places, and be turned away if none comes free.
    Wait(Arc<ConnectionLimits>),
}

/// Serves clients while `door` has a place for them. The others wait for one, and are turned away
/// if none comes free. Ends when the bridge stops and all requests are answered.
pub(crate) async fn serve(
    listener: TcpListener,
    door: Door,
    bridge: Arc<Bridge>,
    mut stopping: watch::Receiver<()>,
) {
    let connections = GracefulShutdown::new();
    let crowd = Door {
        places: ConnectionLimits::new(CROWD.0, CROWD.1),
        limits: IdleLimits {
            idle: CROWD_IDLE,
            head: CROWD_IDLE,
        },
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
                    door.admit(stream, place, To::BeServed, &bridge, &connections);
                    continue;
                }
                tell_of_crowd(peer);
                if let Some(place) = crowd.places.take(peer.ip()) {
                    let to = To::Wait(Arc::clone(&door.places));
                    crowd.admit(stream, place, to, &bridge, &connections);
                }
            }
            Err(error) => not_accepted(&error).await,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

impl Door {
    fn admit(
        &self,
        stream: TcpStream,
        place: Place,
        to: To,
        bridge: &Arc<Bridge>,
        connections: &GracefulShutdown,
    ) {
        let (idle, limits, bridge) = (IdleTracker::new(), self.limits, Arc::clone(bridge));
        let place = Arc::new(place);
        let asked = Arc::clone(&place);
        let stream = TokioIo::new(idle.clone().of(stream));
        let requests = idle.clone();
        let is_served = matches!(to, To::BeServed);
        let service = service_fn(move |request: Request<Incoming>| {
            let (bridge, under_way) = (Arc::clone(&bridge), requests.begun());
            let (place, to) = (Arc::clone(&asked), to.clone());
            async move {
                let address = place.address();
                let serve = async |request: Request<Incoming>| {
                    let _place = match &to {
                        To::Wait(places) if needs_place(request.uri().path()) => {
                            match places.take_within(SOON, address).await {
                                None => return bridge.turn_away(request).await,
                                found => found,
                            }
                        }
                        _ => None,
                    };
                    bridge.handle(request, address).await
                };
                let mut response = bridge.settings.cors.answer(request, serve).await;
                if place.is_wanted() {
                    // Those of one address take turns. One that kept its connection would keep
                    // others out while it says nothing.
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                }
                Ok::<_, Infallible>(until_complete(response, under_way))
            }
        });
        let served = http1::Builder::new()
            // It would need a timer for each request.
            .header_read_timeout(None)
            .max_header_size(HEAD)
            .max_buf_size(BUFFER)
            .keep_alive(is_served)
            .serve_connection(stream, service);
        let served = connections.watch(served);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                // Clients may break off at any time.
                _ = served => {}
                () = idle.outlasts(limits) => {}
            }
            drop(place);
        });
    }
}

/// If the system keeps no more connections for a listener, a client is not refused: it tries again
/// after a second.
pub(crate) fn let_many_come_at_once(listener: &TcpListener) -> io::Result<()> {
    socket2::SockRef::from(listener).listen(BACKLOG)
}

/// How many clients may be connected, so that `for_redis` descriptors and the bridge's own are
/// left.
pub(crate) fn most_connections(asked: usize, for_redis: usize) -> Result<usize, String> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // Some systems claim an unlimited number of files, but refuse it.
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

/// Answers leave at once. A client that vanished without a word, or reads nothing, is detected.
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
    // If descriptors have run out, it would fail again at once.
    let of_client = [
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionReset,
    ];
    if !of_client.contains(&error.kind()) {
        sleep(Duration::from_millis(50)).await;
    }
}
