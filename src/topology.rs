//! Where a client's locks live: behind one bridge, behind the majority of several, or behind one of
//! several by name.

mod majority;
mod shard;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::bridge::Bridge;
use crate::name::Name;
use crate::transport::Response;

pub(crate) use majority::{Count, QuorumOutcome};

/// The bridges of a client, and how often and for how long they are asked.
#[derive(Clone)]
pub(crate) struct Topology {
    shared: Arc<Shared>,
    pub(crate) layout: Layout,
    pub(crate) request_timeout: Duration,
    pub(crate) attempts: u32,
    /// How long a server of a quorum must have been up to have a say.
    pub(crate) quarantine: Duration,
}

struct Shared {
    endpoints: Vec<Endpoint>,
    /// Requests so far, so that each has a nonce of its own.
    requests: AtomicU64,
}

/// One bridge, and what was learned of it.
pub(crate) struct Endpoint {
    pub(crate) bridge: Bridge,
    /// Has answered, and in an answer said that it can be listened to.
    answered: AtomicBool,
    announced: AtomicBool,
    /// Was found to have no subscriptions.
    no_pubsub: AtomicBool,
}

/// Which of the bridges a lock lives behind.
#[derive(Clone)]
pub(crate) enum Layout {
    Single(usize),
    /// All of them, and what a majority says counts.
    Quorum,
    /// One, by the lock's name. These are what the bridges are called.
    Sharded(Arc<[String]>),
}

impl Topology {
    /// With a time-out of 2 s for each request and up to 3 attempts for each operation.
    pub(crate) fn new(bridges: Vec<Bridge>, layout: Layout) -> Self {
        let endpoints = bridges.into_iter().map(Endpoint::new).collect();
        Self {
            shared: Arc::new(Shared {
                endpoints,
                requests: AtomicU64::new(0),
            }),
            layout,
            request_timeout: Duration::from_secs(2),
            attempts: 3,
            quarantine: Duration::ZERO,
        }
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.shared.endpoints
    }

    /// `endpoint` is a place among them.
    pub(crate) fn endpoint(&self, endpoint: usize) -> &Endpoint {
        &self.shared.endpoints[endpoint]
    }

    /// `text` from outside as part of a message, without the credential of any bridge.
    pub(crate) fn quote(&self, text: &str) -> String {
        let clean = |text: String, endpoint: &Endpoint| endpoint.bridge.quote(&text);
        self.endpoints().iter().fold(text.to_owned(), clean)
    }

    /// A number that no other request has.
    pub(crate) fn count_request(&self) -> u64 {
        self.shared.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// How many requests one call may send to each bridge. An attempt sends a second one where
    /// Redis does not know its script.
    pub(crate) fn requests_of_a_call(&self) -> u32 {
        let caches = |endpoint: &Endpoint| endpoint.bridge.caches_scripts();
        let of_an_attempt = 1 + u32::from(self.endpoints().iter().any(caches));
        self.attempts.saturating_mul(of_an_attempt)
    }

    /// One of its bridges alone.
    pub(crate) fn of(&self, endpoint: usize) -> Self {
        Self {
            layout: Layout::Single(endpoint),
            ..self.clone()
        }
    }

    /// Where the lock called `name` lives.
    pub(crate) fn for_name(&self, name: &Name) -> Self {
        match self.shard(name) {
            Some(endpoint) => self.of(endpoint),
            None => self.clone(),
        }
    }

    /// Whether both live at the same place.
    pub(crate) fn is_together(&self, one: &Name, other: &Name) -> bool {
        self.shard(one) == self.shard(other)
    }

    /// Which of several bridges `name` lives behind, if its name says so.
    fn shard(&self, name: &Name) -> Option<usize> {
        match &self.layout {
            Layout::Sharded(ids) => Some(shard::place(ids.iter().map(String::as_str), name.tag())),
            Layout::Single(_) | Layout::Quorum => None,
        }
    }

    /// Of a quorum, the bridge that all who want `name` ask first.
    pub(crate) fn first_of(&self, name: &Name) -> Self {
        let urls = self
            .endpoints()
            .iter()
            .map(|endpoint| endpoint.bridge.url());
        self.of(shard::place(urls, name.key()))
    }

    /// The bridge that pushes to waiters, if there is one.
    pub(crate) fn push_endpoint(&self) -> Option<usize> {
        self.single()
            .filter(|endpoint| self.endpoint(*endpoint).pushes() == Some(true))
    }

    /// Whether waiters listen.
    pub(crate) fn pushes(&self) -> bool {
        self.push_endpoint().is_some()
    }

    /// Whether waiters may listen later, as far as is known: before its first answer a bridge says
    /// nothing of itself.
    pub(crate) fn may_push(&self) -> bool {
        self.single()
            .is_some_and(|endpoint| self.endpoint(endpoint).pushes() != Some(false))
    }

    fn single(&self) -> Option<usize> {
        match self.layout {
            Layout::Single(endpoint) => Some(endpoint),
            Layout::Quorum | Layout::Sharded(_) => None,
        }
    }
}

impl Endpoint {
    const fn new(bridge: Bridge) -> Self {
        Self {
            bridge,
            answered: AtomicBool::new(false),
            announced: AtomicBool::new(false),
            no_pubsub: AtomicBool::new(false),
        }
    }

    /// Whether waiters listen; before the first answer of some bridges, nobody knows.
    fn pushes(&self) -> Option<bool> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if is(&self.no_pubsub) {
            return Some(false);
        }
        let announced = || is(&self.answered).then(|| is(&self.announced));
        self.bridge.pushes().or_else(announced)
    }

    /// Notes what the bridge says of itself. Only its answers count: a refusal can come from a
    /// proxy on the way.
    pub(crate) fn hear(&self, response: &Response) {
        if response.status == 200 {
            if Bridge::says_it_pushes(response) {
                self.announced.store(true, Ordering::Relaxed);
            }
            self.answered.store(true, Ordering::Relaxed);
        }
    }

    /// It has no subscriptions.
    pub(crate) fn found_no_pubsub(&self) {
        self.no_pubsub.store(true, Ordering::Relaxed);
    }
}
