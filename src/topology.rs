//! Where a client's locks live: behind one bridge, behind the majority of several, or behind one of
//! several by name. The leases that it has of them.

mod majority;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::bridge::Bridge;
use crate::name::Name;
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::tasks::locked;
use crate::transport::Response;

pub(crate) use majority::{Count, judge};

/// The bridges of a client, and how often and for how long they are asked.
#[derive(Clone)]
pub(crate) struct Topology {
    shared: Arc<Shared>,
    pub(crate) layout: Layout,
    pub(crate) request_timeout: Duration,
    pub(crate) attempts: u32,
    /// How long a server of a quorum must have been up to have a say.
    pub(crate) quarantine: Duration,
    /// How long Redis remembers the last fence of a name.
    pub(crate) fence_life: Duration,
}

struct Shared {
    endpoints: Vec<Arc<Endpoint>>,
    /// Requests so far, so that each has a nonce of its own.
    requests: AtomicU64,
    holds: Holds,
}

/// One bridge, and what was learned of it.
pub(crate) struct Endpoint {
    pub(crate) bridge: Bridge,
    /// Has answered, and in an answer said that it can be listened to.
    answered: AtomicBool,
    announced: AtomicBool,
    refusals: Mutex<Refusals>,
}

/// The subscriptions that a bridge refused as if it had none. A single answer proves nothing: it
/// can come from a proxy, or from a Redis that is busy. So the bridge is asked again, ever more
/// seldom.
struct Refusals {
    ask_at: Instant,
    pause: Nanos,
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
        let endpoints = bridges.into_iter().map(Endpoint::new).map(Arc::new).collect();
        Self {
            shared: Arc::new(Shared {
                endpoints,
                requests: AtomicU64::new(0),
                holds: Holds::default(),
            }),
            layout,
            request_timeout: Duration::from_secs(2),
            attempts: 3,
            quarantine: Duration::ZERO,
            fence_life: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }

    pub(crate) fn endpoints(&self) -> &[Arc<Endpoint>] {
        &self.shared.endpoints
    }

    /// Those that one call asks. A lock of a sharded client has the topology of its one bridge.
    pub(crate) fn asked(&self) -> &[Arc<Endpoint>] {
        match self.single() {
            Some(endpoint) => std::slice::from_ref(endpoint),
            None => self.endpoints(),
        }
    }

    /// Whether a majority of its bridges decides.
    pub(crate) fn is_voted(&self) -> bool {
        self.single().is_none()
    }

    /// The leases of the client.
    pub(crate) fn holds(&self) -> &Holds {
        &self.shared.holds
    }

    /// `text` from outside as part of a message, without the credential of any bridge.
    pub(crate) fn quote(&self, text: &str) -> String {
        let clean = |text: String, endpoint: &Arc<Endpoint>| endpoint.bridge.quote(&text);
        self.endpoints().iter().fold(text.to_owned(), clean)
    }

    /// A number that no other request has.
    pub(crate) fn count_request(&self) -> u64 {
        self.shared.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// How many requests one call may send to each bridge. An attempt sends a second one where
    /// Redis does not know its script.
    pub(crate) fn requests_of_a_call(&self) -> u32 {
        let caches = |endpoint: &Arc<Endpoint>| endpoint.bridge.caches_scripts();
        let of_an_attempt = 1 + u32::from(self.endpoints().iter().any(caches));
        self.attempts.saturating_mul(of_an_attempt)
    }

    /// One of its bridges alone.
    pub(crate) fn of(&self, endpoint: usize) -> Arc<Self> {
        Arc::new(Self { layout: Layout::Single(endpoint), ..self.clone() })
    }

    /// Where the lock called `name` lives.
    pub(crate) fn for_name(self: &Arc<Self>, name: &Name) -> Arc<Self> {
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
            Layout::Sharded(ids) => Some(place(ids.iter().map(String::as_str), name.tag())),
            Layout::Single(_) | Layout::Quorum => None,
        }
    }

    /// Of a quorum, the bridge that all who want `name` ask first.
    pub(crate) fn first_of(&self, name: &Name) -> Arc<Self> {
        let urls = self.endpoints().iter().map(|endpoint| endpoint.bridge.url());
        self.of(place(urls, name.key()))
    }

    /// The bridge that pushes to waiters, if there is one.
    pub(crate) fn push_endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.single().filter(|endpoint| endpoint.pushes() == Some(true))
    }

    /// Whether waiters may listen later, as far as is known: before its first answer a bridge says
    /// nothing of itself.
    pub(crate) fn may_push(&self) -> bool {
        self.single().is_some_and(|endpoint| endpoint.pushes() != Some(false))
    }

    fn single(&self) -> Option<&Arc<Endpoint>> {
        match self.layout {
            Layout::Single(endpoint) => self.endpoints().get(endpoint),
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
            refusals: Mutex::new(Refusals::NONE),
        }
    }

    /// Whether waiters listen; before the first answer of some bridges, nobody knows.
    fn pushes(&self) -> Option<bool> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
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

    /// From when on it may be asked for a subscription.
    pub(crate) fn listen_at(&self) -> Instant {
        locked(&self.refusals).ask_at
    }

    pub(crate) fn refused_to_push(&self, now: Instant) {
        let mut refusals = locked(&self.refusals);
        // Waiters that asked together got one refusal.
        if refusals.ask_at <= now {
            refusals.ask_at = now.after(refusals.pause);
            refusals.pause = (refusals.pause * 2).min(Refusals::LONGEST);
        }
    }

    pub(crate) fn pushed(&self) {
        *locked(&self.refusals) = Refusals::NONE;
    }
}

impl Refusals {
    const NONE: Self = Self { ask_at: Instant::ORIGIN, pause: Nanos::ms(1_000) };
    const LONGEST: Nanos = Nanos::ms(60_000);
}

/// The place among `ids` of the bridge that `name` belongs to; 0 if there are none.
///
/// This is rendezvous hashing: each bridge's id and the name make a score, and the highest score
/// has the name (Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998).
/// So one more bridge takes its share from all the others, and nothing moves between those. Clients
/// of every version and language must compute the same scores.
fn place<'a>(ids: impl Iterator<Item = &'a str>, name: &str) -> usize {
    ids.enumerate().max_by_key(|(_, id)| score(id, name)).map_or(0, |(place, _)| place)
}

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>) of both with a NUL between them, which no
/// id contains. Its high bits hardly depend on the last bytes. So they are mixed like the last step
/// of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn score(id: &str, name: &str) -> u64 {
    let bytes = id.bytes().chain([0]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// What is known of a lease.
pub(crate) trait Holding: Send + Sync {
    fn is_held(&self, now: Instant) -> bool;
}

/// A client has few at a time, so they are searched one after the other.
#[derive(Default)]
pub(crate) struct Holds(Mutex<Vec<(Name, Weak<dyn Holding>)>>);

impl Holds {
    pub(crate) fn enter(&self, name: &Name, holding: Weak<dyn Holding>) {
        let mut all = locked(&self.0);
        all.retain(|(_, other)| other.strong_count() > 0);
        all.push((name.clone(), holding));
    }

    /// Whether the client has a lease of this name.
    pub(crate) fn has(&self, name: &str, now: Instant) -> bool {
        let is_held = |holding: Arc<dyn Holding>| holding.is_held(now);
        let all = locked(&self.0);
        let mut of_name = all.iter().filter(|(other, _)| {
            other.key() == name || other.others().iter().any(|other| other.key() == name)
        });
        of_name.any(|(_, holding)| holding.upgrade().is_some_and(is_held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(ids: &[String], name: &str) -> usize {
        super::place(ids.iter().map(String::as_str), name)
    }

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("redis-{at}")).collect()
    }

    fn names() -> impl Iterator<Item = String> {
        (0..60_000).map(|at| format!("sku:{at}"))
    }

    #[test]
    fn every_client_comes_to_the_same_place() {
        assert_eq!(score("", ""), 2_737_183_428_366_584_608);
        let places: Vec<_> = names().take(16).map(|name| place(&ids(3), &name)).collect();
        assert_eq!(places, [2, 0, 0, 0, 2, 0, 2, 1, 1, 2, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn each_bridge_gets_its_share() {
        let mut shares = [0; 6];
        for name in names() {
            shares[place(&ids(6), &name)] += 1;
        }
        // Of 10,000 each, five standard deviations.
        assert!(shares.iter().all(|share| (9_540..=10_460).contains(share)), "{shares:?}");
    }

    #[test]
    fn one_more_bridge_takes_its_share_and_moves_nothing_else() {
        let (before, after) = (ids(5), ids(6));
        let moved: Vec<_> = names()
            .filter(|name| place(&before, name) != place(&after, name))
            .map(|name| place(&after, &name))
            .collect();
        assert!(moved.iter().all(|place| *place == 5));
        assert!((9_540..=10_460).contains(&moved.len()), "{}", moved.len());
    }

    #[test]
    fn the_order_of_the_bridges_does_not_matter() {
        let ids = ids(4);
        let mut reversed = ids.clone();
        reversed.reverse();
        for name in names().take(1_000) {
            assert_eq!(ids[place(&ids, &name)], reversed[place(&reversed, &name)]);
        }
    }
}
