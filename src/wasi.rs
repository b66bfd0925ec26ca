//! Hosts of WASI 0.2, with the feature `wasi`: Spin, wasmCloud, `wasmtime serve` and other places
//! that run components by `wasi:http`. The crate [`wstd`] sends, waits and draws random bytes. This
//! module exists only for `wasm32-wasip2`.
//!
//! ```ignore
//! #[wstd::http_server]
//! async fn main(_request: Request<Body>) -> Result<Response<Body>, Error> {
//!     let client = wasi::client(Bridge::upstash("https://eu1-a-b-1.upstash.io", "credential")?);
//!     let lease = client.lock("sku:42").acquire().await?;
//!     lease.release().await?;
//!     Ok(Response::new(Body::empty()))
//! }
//! ```
//!
//! An instance serves one request at a time, so no two requests share turns. The items of one
//! request do ([`GroupCommit`](crate::GroupCommit)).
//!
//! Clients, locks, leases and their futures are `Send` and `Sync`, although a component's handles
//! are not: there is one thread. On another thread they panic.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use send_wrapper::SendWrapper;
use wstd::http::body::Bytes;
use wstd::http::body::util::combinators::UnsyncBoxBody;
use wstd::http::{Body, BodyExt as _, Client as Sender, ErrorCode};
use wstd::rand::get_random_bytes;
use wstd::task::sleep;

use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};
use crate::tasks::{Either, select};
use crate::transport::{Request, Response, Transport, TransportError};

pub use crate::bridge::Bridge;

/// A client for a component.
pub type Client = crate::Client<Http, Host>;
/// Its locks.
pub type Lock = crate::Lock<Http, Host>;
/// Its read/write locks.
pub type ReadWrite = crate::ReadWrite<Http, Host>;
/// Its leases.
pub type Lease = crate::Lease<Http, Host>;
/// What it executes once.
pub type Once = crate::Once<Http, Host>;
/// Its copies of what is expensive to make.
pub type Cached = crate::Cached<Http, Host>;
/// Its throttles.
pub type Throttle = crate::Throttle<Http, Host>;
/// Its debounces.
pub type Debounce = crate::Debounce<Http, Host>;

/// A client of `bridge`. Await its calls under wstd's `#[http_server]`, `#[main]` or `block_on`;
/// elsewhere they panic, as all of wstd does.
///
/// A task of wstd gives a dropped call or lease back. wstd runs its tasks to their end before the
/// handler's export returns. So the host must let an instance go on after its response. Otherwise
/// the ttl frees the lock.
pub fn client(bridge: Bridge) -> Client {
    crate::Client::new(bridge, Http::default(), Host::default())
}

/// `wasi:http` as [`Transport`].
#[derive(Clone, Debug, Default)]
pub struct Http(());

type Incoming = wstd::http::Response<Body>;
type Pieces = UnsyncBoxBody<Bytes, wstd::http::Error>;

impl Transport for Http {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        let (timeout, body_limit) = (request.timeout, request.body_limit);
        SendWrapper::new(within(timeout, async move {
            let incoming = post(request).await?;
            let header = |name| {
                let value = incoming.headers().get(name)?.to_str().ok()?;
                Some(value.to_owned())
            };
            let mut response = Response::new(incoming.status().as_u16(), "");
            response.retry_after = header("retry-after");
            response.bridge = header("x-edgelock-bridge");
            let mut pieces = incoming.into_body().into_boxed_body();
            while let Some(piece) = next(&mut pieces).await? {
                if response.body.len() + piece.len() > body_limit {
                    return Err(TransportError::TooLarge);
                }
                response.body.extend_from_slice(&piece);
            }
            Ok(response)
        }))
    }

    fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<u16, TransportError>> + Send {
        let timeout = request.timeout;
        SendWrapper::new(within(timeout, async move {
            let incoming = post(request).await?;
            let status = incoming.status().as_u16();
            let mut pieces = incoming.into_body().into_boxed_body();
            while status == 200
                && let Some(piece) = next(&mut pieces).await?
            {
                hear(&piece);
            }
            Ok(status)
        }))
    }
}

/// The time-outs of `wasi:http` are options that a host may refuse, so this one is a timer.
async fn within<O>(
    timeout: Duration,
    exchange: impl Future<Output = Result<O, TransportError>>,
) -> Result<O, TransportError> {
    match select(exchange, after(timeout)).await {
        Either::Left(outcome) => outcome,
        Either::Right(()) => Err(TransportError::TimedOut),
    }
}

/// The timers of WASI count nanoseconds in 64 bits. Nothing here lives for a century.
async fn after(duration: Duration) {
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    sleep(duration.min(LONGEST).into()).await;
}

async fn post(request: Request<'_>) -> Result<Incoming, TransportError> {
    // Without it the body is sent in chunks, which not every bridge reads.
    let length = request.body.len();
    let mut post = wstd::http::Request::post(request.url).header("content-length", length);
    for (name, value) in request.headers {
        post = post.header(*name, value);
    }
    let post = post.body(Body::from(request.body));
    let post = post.map_err(|error| TransportError::NotSent(error.to_string()))?;
    Sender::new().send(post).await.map_err(failure)
}

/// The codes of which it is certain that there was no connection.
fn failure(error: wstd::http::Error) -> TransportError {
    let why = error.to_string();
    match error.downcast_ref() {
        Some(
            ErrorCode::DnsTimeout
            | ErrorCode::DnsError(_)
            | ErrorCode::DestinationNotFound
            | ErrorCode::DestinationIpProhibited
            | ErrorCode::ConnectionRefused
            | ErrorCode::HttpRequestDenied,
        ) => TransportError::NotSent(why),
        _ => TransportError::NoResponse(why),
    }
}

/// The next piece of a body; `None` at its end.
async fn next(pieces: &mut Pieces) -> Result<Option<Bytes>, TransportError> {
    while let Some(frame) = pieces.frame().await {
        let frame = frame.map_err(|error| TransportError::Interrupted(error.to_string()))?;
        // Others are trailers.
        if let Ok(piece) = frame.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// A component as [`Runtime`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Host(());

/// All clients of a component have one clock, since they may share turns.
static BEGAN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

impl Runtime for Host {
    fn now(&self) -> Instant {
        Instant::from_origin(BEGAN.elapsed())
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        SendWrapper::new(after(duration))
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        get_random_bytes(bytes);
        Ok(())
    }

    fn spawn(&self, task: Task) {
        wstd::runtime::spawn(task).detach();
    }
}
