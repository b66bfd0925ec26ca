//! The HTTP side: which request may ask for what, in which form, and the frame of every answer.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::answer::{Body, Failure, PUSH, SYNC_TOKEN, json};
use crate::auth::{Access, Credentials, Given};
use crate::budget::{Full, Limits};
use crate::connection_limits::Places;
use crate::cors::Cors;
use crate::metrics::Metrics;
use crate::reply::Encoding;
use crate::request;
use crate::script::Scripts;
use crate::upstream::Upstream;

pub(crate) struct Bridge {
    pub(crate) upstream: Upstream,
    pub(crate) scripts: Scripts,
    pub(crate) settings: Settings,
    pub(crate) places: Arc<Places>,
    pub(crate) streams: Arc<Places>,
    /// The other end is dropped when the bridge stops.
    pub(crate) stopping: watch::Receiver<()>,
    credentials: Credentials,
    /// If somebody may read them.
    metrics: Option<Metrics>,
    /// Of the next answer. Clients send the last one back, in order to read what they wrote. One
    /// Redis always shows that, so the bridge reads nothing from them. But clients rely on every
    /// answer's token being new.
    sync_token: AtomicU64,
}

pub(crate) struct Settings {
    pub(crate) cors: Cors,
    /// Whether commands are served that throw away others' data.
    pub(crate) dangerous_commands: bool,
    pub(crate) limits: Limits,
}

/// Commands of a pipeline, at most.
const MOST_COMMANDS: usize = 10_000;

/// Commands of a transaction, at most. Redis serves nobody else between them.
const MOST_OF_TRANSACTION: usize = 100;

/// How long the bridge reads the body of a request whose connection is beyond the limit. It serves
/// few such connections, and `/health` and `/metrics` need one.
const READ_OFF: Duration = Duration::from_millis(100);

impl Bridge {
    pub(crate) fn new(
        given: Given,
        upstream: Upstream,
        settings: Settings,
        places: Arc<Places>,
        stopping: watch::Receiver<()>,
    ) -> Self {
        let streams = places.for_streams();
        let of_metrics = |reader| {
            let counted = [&streams, &places].map(Arc::clone);
            Metrics::new(reader, counted, settings.limits.budget.clone())
        };
        let started = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self {
            upstream,
            scripts: Scripts::default(),
            metrics: given.metrics.map(of_metrics),
            settings,
            streams,
            places,
            stopping,
            credentials: given.clients,
            sync_token: AtomicU64::new(started.as_nanos() as u64),
        }
    }

    /// `has_place` is false for a request whose connection is beyond the bound, and found none.
    pub(crate) async fn handle(
        &self,
        request: Request<Incoming>,
        has_place: bool,
    ) -> Response<Body> {
        // If anybody asks how long it took.
        let is_timed = self.metrics.is_some() || tracing::enabled!(tracing::Level::DEBUG);
        let started = is_timed.then(Instant::now);
        let (parts, body) = request.into_parts();
        let answered = match has_place {
            true => self.answer(&parts, body).await,
            false => Err(self.turn_away(body).await),
        };
        let mut response = answered.unwrap_or_else(Failure::into_response);
        let status = response.status();
        let headers = response.headers_mut();
        let token = self.sync_token.fetch_add(1, Ordering::Relaxed);
        headers.insert(SYNC_TOKEN, token.into());
        // For clients that subscribe only if a bridge says that it does no harm.
        headers.insert(PUSH, HeaderValue::from_static("push"));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            let allowed = HeaderValue::from_static(allowed(parts.uri.path()));
            headers.insert(header::ALLOW, allowed);
        }
        if let Some(started) = started {
            self.note(&parts, status, started.elapsed());
        }
        response
    }

    /// Notes an answer in the log and in the metrics.
    fn note(&self, parts: &Parts, status: StatusCode, took: Duration) {
        let (route, status) = (route(parts.uri.path()), status.as_u16());
        let micros = took.as_micros() as u64;
        tracing::debug!(method = %parts.method, route, status, micros, "request");
        if let Some(metrics) = &self.metrics {
            metrics.answered(route, status, took);
        }
    }

    async fn turn_away(&self, body: Incoming) -> Failure {
        self.read_off(body, READ_OFF).await;
        Failure::refused_for_now("ERR too many connections; nothing was executed")
    }

    async fn answer(&self, parts: &Parts, body: Incoming) -> Result<Response<Body>, Failure> {
        let path = parts.uri.path();
        let query = parts.uri.query().unwrap_or_default();
        if path == "/health" {
            return Box::pin(self.health()).await;
        }
        if path == "/metrics" {
            return Box::pin(self.metrics(parts)).await;
        }
        let limits = &self.settings.limits;
        let (access, encoding) = match self.enter(parts) {
            Ok(entered) => entered,
            Err(refused) => {
                self.read_off(body, limits.timeout).await;
                return Err(refused);
            }
        };
        let late = |_| {
            let text = "ERR the request's body did not arrive in time";
            Failure::new(StatusCode::REQUEST_TIMEOUT, text)
        };
        let body = within(limits.timeout, request::body(body, limits.budget.share()));
        let (body, _share) = body.await.map_err(late)??;

        if let Some(topic) = request::topic(path) {
            return Box::pin(self.subscription(access, topic)).await;
        }
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        let (status, body) = match path {
            "/" if reads => return Err(request::empty_command()),
            "/pipeline" => {
                let commands = request::commands(&body, MOST_COMMANDS)?;
                Box::pin(self.pipeline(access, commands, encoding)).await?
            }
            "/multi-exec" => {
                let commands = request::commands(&body, MOST_OF_TRANSACTION)?;
                Box::pin(self.transaction(access, commands, encoding)).await?
            }
            _ => {
                let command = match path {
                    "/" => request::command(&body)?,
                    _ if reads => request::from_path(path, query, &[])?,
                    _ => request::from_path(path, query, &body)?,
                };
                self.single(access, command, encoding).await?
            }
        };
        let body = limits.budget.carry(body).map_err(|Full| {
            let text =
                "ERR the bridge holds as much as it may of large answers; the command was executed";
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)
        })?;
        Ok(json(status, body))
    }

    /// Otherwise a client that still writes would find its connection reset instead of an answer.
    async fn read_off(&self, body: Incoming, limit: Duration) {
        let _ = timeout(limit, request::drain(body)).await;
    }

    /// What the head of a request says: first of all, whose credential it has.
    fn enter(&self, parts: &Parts) -> Result<(Access, Encoding), Failure> {
        let query = parts.uri.query().unwrap_or_default();
        let access = (self.credentials.check(&parts.headers, query))
            .map_err(|denied| Failure::new(StatusCode::UNAUTHORIZED, denied))?;
        let mut methods = allowed(parts.uri.path()).split(", ");
        if !methods.any(|method| parts.method == *method) {
            return Err(Failure::method_not_allowed());
        }
        Ok((access, Encoding::asked_by(&parts.headers)?))
    }

    async fn health(&self) -> Result<Response<Body>, Failure> {
        match self.upstream.trouble().await {
            None => Ok(json(StatusCode::OK, br#"{"status":"ok"}"#.as_slice())),
            Some(trouble) => Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, trouble)),
        }
    }

    async fn metrics(&self, parts: &Parts) -> Result<Response<Body>, Failure> {
        let Some(metrics) = &self.metrics else {
            let text = "ERR there are no metrics: start the bridge with --metrics-credential";
            return Err(Failure::new(StatusCode::NOT_FOUND, text));
        };
        metrics.check(parts)?;
        Ok(metrics.page(self.upstream.trouble().await.is_none()))
    }
}

/// The same as `timeout`, but without a timer for work that is ready at once: most bodies come with
/// their heads.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    let mut work = pin!(work);
    match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        Poll::Ready(done) => Ok(done),
        Poll::Pending => timeout(limit, work).await,
    }
}

/// The methods of the path, as in the header `Allow`.
fn allowed(path: &str) -> &'static str {
    match path {
        "/metrics" => "GET, HEAD",
        "/pipeline" | "/multi-exec" => "POST, PUT",
        _ if path.starts_with("/subscribe/") || path.starts_with("/psubscribe/") => "GET, POST",
        _ => "GET, HEAD, POST, PUT",
    }
}

/// Whether a request on a connection beyond the bound waits for a place: an operator's does not.
pub(crate) fn needs_place(path: &str) -> bool {
    !matches!(path, "/health" | "/metrics")
}

/// For the log and the metrics: a path may hold a command, with its keys and values.
fn route(path: &str) -> &'static str {
    match path {
        "/" => "/",
        "/pipeline" => "/pipeline",
        "/multi-exec" => "/multi-exec",
        "/health" => "/health",
        "/metrics" => "/metrics",
        _ if path.starts_with("/subscribe/") => "/subscribe",
        _ if path.starts_with("/psubscribe/") => "/psubscribe",
        _ => "command in path",
    }
}
