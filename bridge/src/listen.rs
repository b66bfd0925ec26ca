//! Connections of clients: how many, and what they may ask for.
//!
//! However many clients come, descriptors are kept for Redis, and a few connections for `/health`.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::connection_limits::{Place, Places};
use crate::rarely::Rarely;
use crate::server::{Bridge, needs_place};

/// The head of a request, in bytes.
const HEAD: usize = 32 * 1024;

/// How much of a connection is read before it is processed, in bytes.
const BUFFER: usize = 64 * 1024;

/// How many connections may wait to be accepted, as far as the system allows: as many as there may
/// be connections by default.
const BACKLOG: i32 = 4096;

/// How long a connection may take until the head of its next request is there. Most proxies close
/// one that is idle before that.
const IDLE: Duration = Duration::from_secs(75);

/// How many connections beyond the bound wait for a place.
const CROWD: usize = 128;

/// How long such a connection may take.
const CROWD_IDLE: Duration = Duration::from_secs(2);

/// How long a request waits for a place, before it is told that there is none. Where all take
/// turns, one is free every few milliseconds. It may be the request that gives back the lock for
/// which all others wait.
const SOON: Duration = Duration::from_secs(1);

/// Descriptors for files, the listener, and connections to Redis.
const OWN: usize = 128;

/// Serves clients while there are places for them. The others wait for one, and are turned away if
/// none comes free. Ends when the bridge stops and all requests are answered.
pub(crate) async fn serve(
    listener: TcpListener,
    bridge: Arc<Bridge>,
    mut stopping: watch::Receiver<()>,
) {
    let connections = GracefulShutdown::new();
    let crowd = Places::of(CROWD);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                tune(&stream);
                if let Some(place) = bridge.places.take() {
                    admit(stream, place, true, &bridge, &connections);
                    continue;
                }
                static SAID: Rarely = Rarely::new();
                if let Some(left_out) = SAID.due() {
                    tracing::warn!(address = %peer.ip(), left_out, "too many connections");
                }
                if let Some(place) = crowd.take() {
                    admit(stream, place, false, &bridge, &connections);
                }
            }
            Err(error) => not_accepted(&error).await,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves a connection that has a place among those that are served, or among those that wait.
fn admit(
    stream: TcpStream,
    place: Place,
    is_served: bool,
    bridge: &Arc<Bridge>,
    connections: &GracefulShutdown,
) {
    let bridge = Arc::clone(bridge);
    let service = service_fn(move |request: Request<Incoming>| {
        let bridge = Arc::clone(&bridge);
        async move {
            let serve = async |request: Request<Incoming>| {
                let is_served = is_served || !needs_place(request.uri().path());
                let place = match is_served {
                    true => None,
                    false => bridge.places.take_within(SOON).await,
                };
                bridge.handle(request, is_served || place.is_some()).await
            };
            let mut response = bridge.settings.cors.answer(request, serve).await;
            if !is_served || bridge.places.are_wanted() {
                // They take turns. One that kept its connection would keep others out while it
                // says nothing.
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let idle = if is_served { IDLE } else { CROWD_IDLE };
    let served = within(idle).serve_connection(TokioIo::new(stream), service);
    let served = connections.watch(served);
    tokio::spawn(async move {
        // Clients may break off at any time.
        let _ = served.await;
        drop(place);
    });
}

/// How a connection is served that has so long until the head of its next request is there.
fn within(idle: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_header_size(HEAD)
        .max_buf_size(BUFFER);
    builder
}

/// If the system keeps no more connections for a listener, a client is not refused: it tries again
/// after a second.
pub(crate) fn let_many_come_at_once(listener: &TcpListener) -> io::Result<()> {
    socket2::SockRef::from(listener).listen(BACKLOG)
}

/// How many clients may be connected, so that the bridge has descriptors left.
pub(crate) fn most_connections(asked: usize) -> Result<usize, String> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum;
    let raised = Rlimit { current, maximum };
    // Some systems claim an unlimited number of files, but refuse it.
    let _ = setrlimit(Resource::Nofile, raised);
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return Ok(asked);
    };
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    let most = files.saturating_sub(CROWD + OWN).min(asked);
    match most {
        0 => Err(format!(
            "the system allows {files} open files, which is too few: raise it by `ulimit -n`"
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
    let tuned = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&probes));
    #[cfg(target_os = "linux")]
    let tuned = tuned.and_then(|()| socket.set_tcp_user_timeout(Some(Duration::from_secs(20))));
    if let Err(error) = tuned {
        tracing::debug!(%error, "socket options");
    }
}

async fn not_accepted(error: &io::Error) {
    static SAID: Rarely = Rarely::new();
    if let Some(left_out) = SAID.due() {
        tracing::warn!(%error, left_out, "a connection was not accepted");
    }
    // If descriptors have run out, it would fail again at once.
    use io::ErrorKind::{ConnectionAborted, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionReset) {
        sleep(Duration::from_millis(50)).await;
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use hyper::Response;
    use hyper::body::Bytes;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_ends_on_which_no_request_comes_in_time_but_none_that_is_served() {
        for (sent, times) in
            [("", 1), ("GET / HTTP/1.1\r\nHost", 1), ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 3)]
        {
            let (mut client, server) = duplex(1_000);
            let service = service_fn(async |_| {
                sleep(2 * IDLE).await;
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            });
            let served = within(IDLE).serve_connection(TokioIo::new(server), service);
            let began = Instant::now();
            client.write_all(sent.as_bytes()).await.expect("sent");
            let mut said = Vec::new();
            let (_, read) = tokio::join!(served, client.read_to_end(&mut said));
            read.expect("it ends");
            assert_eq!(began.elapsed().as_secs(), times * IDLE.as_secs(), "{sent}");
        }
    }
}
