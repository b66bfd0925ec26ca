//! edgelock over Spin's requests, timers and random bytes. `edgelock::wasi` would block the whole
//! instance while a request waits, and Spin gives an instance several requests at once.

use std::pin::pin;
use std::time::Duration;

use edgelock::{EntropyUnavailable, Instant, Runtime, Task};
use edgelock::{Request, Response, Transport, TransportError};
use futures::StreamExt as _;
use futures::future::{Either, select};
use send_wrapper::SendWrapper;
use spin_sdk::http::body::IncomingBodyExt as _;
use spin_sdk::time::sleep;
use spin_sdk::wasip3::http::types::ErrorCode;
use spin_sdk::{http, wasip3};

/// Spin's outgoing requests. There is one thread, which `SendWrapper` knows.
pub struct Http;

impl Transport for Http {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        let (timeout, body_limit) = (request.timeout, request.body_limit);
        SendWrapper::new(within(timeout, async move {
            let answer = post(request).await?;
            let header = |name| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
            let mut response = Response::new(answer.status().as_u16(), "");
            response.retry_after = header("retry-after");
            response.bridge = header("x-edgelock-bridge");
            let mut pieces = pin!(answer.into_body().stream());
            while let Some(piece) = pieces.next().await {
                let piece = piece.map_err(interrupted)?;
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
        SendWrapper::new(within(request.timeout, async move {
            let answer = post(request).await?;
            let status = answer.status().as_u16();
            let mut pieces = pin!(answer.into_body().stream());
            while status == 200
                && let Some(piece) = pieces.next().await
            {
                hear(&piece.map_err(interrupted)?);
            }
            Ok(status)
        }))
    }
}

async fn post(request: Request<'_>) -> Result<http::Response, TransportError> {
    let mut post = http::Request::post(request.url).header("content-length", request.body.len());
    for (name, value) in request.headers {
        post = post.header(*name, value);
    }
    let post = post.body(request.body);
    let post = post.map_err(|error| TransportError::NotSent(error.to_string()))?;
    http::send(post).await.map_err(|code| match code {
        ErrorCode::DnsTimeout
        | ErrorCode::DnsError(_)
        | ErrorCode::DestinationNotFound
        | ErrorCode::DestinationIpProhibited
        | ErrorCode::ConnectionRefused
        | ErrorCode::HttpRequestDenied => TransportError::NotSent(code.to_string()),
        _ => TransportError::NoResponse(code.to_string()),
    })
}

fn interrupted(code: ErrorCode) -> TransportError {
    TransportError::Interrupted(code.to_string())
}

/// If the time is over, the exchange is dropped, which aborts it.
async fn within<O>(
    timeout: Duration,
    exchange: impl Future<Output = Result<O, TransportError>>,
) -> Result<O, TransportError> {
    match select(pin!(exchange), pin!(sleep(timeout))).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(_) => Err(TransportError::TimedOut),
    }
}

/// Spin's clock, timers, random bytes, and tasks that go on behind the response.
pub struct Spin {
    began: std::time::Instant,
}

impl Spin {
    pub fn new() -> Self {
        Self { began: std::time::Instant::now() }
    }
}

impl Runtime for Spin {
    fn now(&self) -> Instant {
        Instant::from_origin(self.began.elapsed())
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        SendWrapper::new(sleep(duration))
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        let drawn = wasip3::random::random::get_random_bytes(bytes.len() as u64);
        drawn.get(..bytes.len()).map(|drawn| bytes.copy_from_slice(drawn)).ok_or(EntropyUnavailable)
    }

    fn spawn(&self, task: Task) {
        wasip3::spawn(task);
    }
}
