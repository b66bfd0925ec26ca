//! What Prometheus may read: how many requests, of what outcome, how long they took, and what is
//! open now. No label has a key, a value or a name of a client.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
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
    /// Streams, and all connections.
    counted: [Arc<Places>; 2],
    budget: Budget,
    registry: Registry,
    requests: Family<Outcome, Counter>,
    durations: Family<Route, Histogram>,
    /// As many as `page` sets, in the same order.
    gauges: [Gauge; 4],
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Outcome {
    route: &'static str,
    status: u16,
}

type Route = [(&'static str, &'static str); 1];

impl Metrics {
    pub(crate) fn new(credentials: Credentials, counted: [Arc<Places>; 2], budget: Budget) -> Self {
        let mut metrics = Self {
            credentials,
            counted,
            budget,
            registry: Registry::with_prefix("edgelock_bridge"),
            requests: Family::default(),
            // From half a millisecond to eight seconds: longer than a request may take by default.
            durations: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.0005, 2.0, 15))
            }),
            gauges: Default::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let all = &mut self.registry;
        all.register("requests", "Requests answered", self.requests.clone());
        let help = "Time from the head of a request to the head of its answer";
        let durations = self.durations.clone();
        all.register_with_unit("request_duration", help, Unit::Seconds, durations);
        let [streams, connections, in_flight, redis_up] = self.gauges.clone();
        all.register("streams", "Subscriptions that are open", streams);
        all.register("connections", "Connections of clients", connections);
        let help = "Large requests and answers that are held, as they are bounded";
        all.register_with_unit("in_flight", help, Unit::Bytes, in_flight);
        all.register("redis_up", "1 while Redis answers, else 0", redis_up);
    }

    pub(crate) fn answered(&self, route: &'static str, status: u16, took: Duration) {
        let outcome = Outcome { route, status };
        self.requests.get_or_create(&outcome).inc();
        let durations = self.durations.get_or_create(&[("route", route)]);
        durations.observe(took.as_secs_f64());
    }

    /// Whether this request may read them.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), Failure> {
        let query = parts.uri.query().unwrap_or_default();
        let access = self.credentials.check(&parts.headers, query);
        access.map_err(|denied| {
            let text = "/metrics takes that of --metrics-credential, and no other";
            Failure::new(StatusCode::UNAUTHORIZED, format!("{denied}; {text}"))
        })?;
        match parts.method {
            Method::GET | Method::HEAD => Ok(()),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    pub(crate) fn page(&self, is_redis_up: bool) -> Response<Body> {
        let [streams, connections] = self.counted.each_ref().map(|places| places.in_use());
        let counts = [streams, connections, self.budget.in_use(), is_redis_up.into()];
        for (gauge, count) in self.gauges.iter().zip(counts) {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let mut page = String::new();
        encode(&mut page, &self.registry).expect("a string takes all that is written to it");
        let mut response = Response::new(Either::Left(Full::new(Bytes::from(page))));
        (response.headers_mut()).insert(header::CONTENT_TYPE, OPEN_METRICS);
        response
    }
}
