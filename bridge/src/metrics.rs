//! What Prometheus may read: how many requests, of what outcome, how long they took, and what is
//! open now. No label has a key, a value or a name of a client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt as _;
use http_body_util::{Either, Full, StreamBody};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::answer::{Body, Failure};
use crate::auth::Credentials;
use crate::budget::Budget;
use crate::connection_limits::Places;

/// The version of the format that the library writes.
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

pub(crate) struct Metrics {
    /// Their reader has a credential that is good for nothing else.
    credentials: Credentials,
    places: Arc<Places>,
    budget: Budget,
    registry: Registry,
    requests: Family<Outcome, Counter>,
    durations: Family<Asked, Histogram>,
    streams: Gauge,
    connections: Gauge,
    in_flight: Gauge,
    redis_up: Gauge,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Outcome {
    route: &'static str,
    status: u16,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Asked {
    route: &'static str,
}

/// A stream that is open, until it is dropped.
struct Open(Gauge);

impl Metrics {
    pub(crate) fn new(credentials: Credentials, places: Arc<Places>, budget: Budget) -> Self {
        let mut metrics = Self {
            credentials,
            places,
            budget,
            registry: Registry::with_prefix("edgelock_bridge"),
            requests: Family::default(),
            // From half a millisecond to eight seconds: longer than a request may take by default.
            durations: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.0005, 2.0, 15))
            }),
            streams: Gauge::default(),
            connections: Gauge::default(),
            in_flight: Gauge::default(),
            redis_up: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let all = &mut self.registry;
        all.register("requests", "Requests answered", self.requests.clone());
        all.register_with_unit(
            "request_duration",
            "Time from the head of a request to the head of its answer",
            Unit::Seconds,
            self.durations.clone(),
        );
        for (name, help, gauge) in [
            ("streams", "Subscriptions that are open", &self.streams),
            ("connections", "Connections of clients", &self.connections),
            ("redis_up", "1 while Redis answers, else 0", &self.redis_up),
        ] {
            all.register(name, help, gauge.clone());
        }
        all.register_with_unit(
            "in_flight",
            "Large requests and answers that are held, as they are bounded",
            Unit::Bytes,
            self.in_flight.clone(),
        );
    }

    /// Counts an answer, and its stream for as long as it is open.
    pub(crate) fn answered(
        &self,
        route: &'static str,
        took: Duration,
        response: Response<Body>,
    ) -> Response<Body> {
        let status = response.status().as_u16();
        self.requests
            .get_or_create(&Outcome { route, status })
            .inc();
        self.durations
            .get_or_create(&Asked { route })
            .observe(took.as_secs_f64());
        response.map(|body| {
            let Either::Right(events) = body else {
                return body;
            };
            let open = Open::new(&self.streams);
            let events = events.inspect(move |_| {
                let _ = &open;
            });
            Either::Right(StreamBody::new(events.boxed()))
        })
    }

    /// Whether this request may read them.
    pub(crate) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        query: &str,
    ) -> Result<(), Failure> {
        self.credentials.check(headers, query).map_err(|denied| {
            let text = denied.text();
            let text = format!("{text}; /metrics takes that of --metrics-credential, and no other");
            Failure::new(StatusCode::UNAUTHORIZED, text)
        })?;
        match *method {
            Method::GET | Method::HEAD => Ok(()),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    pub(crate) fn page(&self, is_redis_up: bool) -> Response<Body> {
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.connections.set(gauge(self.places.in_use()));
        self.in_flight.set(gauge(self.budget.in_use()));
        self.redis_up.set(is_redis_up.into());
        let mut page = String::new();
        encode(&mut page, &self.registry).expect("a string takes all that is written to it");
        let mut response = Response::new(Either::Left(Full::new(Bytes::from(page))));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, OPEN_METRICS);
        response
    }
}

impl Open {
    fn new(streams: &Gauge) -> Self {
        streams.inc();
        Self(streams.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
