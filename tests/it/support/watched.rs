//! A runtime and a transport that record what a client does: its events, its timers, and its
//! requests under way.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgelock::{
    Bridge, Client, EntropyUnavailable, Event, EventKind, Instant, Request, Response, Runtime,
    Task, Transport, TransportError,
};

use super::{Http, Stack, Tokio};

/// What a watched client has done so far.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    events: Arc<Mutex<Vec<String>>>,
    retries: Arc<Mutex<Vec<String>>>,
    requests_of_grants: Arc<Mutex<Vec<u32>>>,
    requests_in_vain: Arc<Mutex<Vec<u32>>>,
    items_of_turns: Arc<Mutex<Vec<u64>>>,
    timers: Arc<AtomicUsize>,
    exchanges: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
    abandoned: Arc<AtomicUsize>,
}

impl Seen {
    /// The codes of all events so far.
    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().expect("events").clone()
    }

    /// Why each repeated request was sent again.
    pub(crate) fn retries(&self) -> Vec<String> {
        self.retries.lock().expect("retries").clone()
    }

    /// How many requests each acquisition sent until it had the lock.
    pub(crate) fn requests_of_grants(&self) -> Vec<u32> {
        self.requests_of_grants.lock().expect("requests").clone()
    }

    /// How many requests each failed wait sent.
    pub(crate) fn requests_in_vain(&self) -> Vec<u32> {
        self.requests_in_vain.lock().expect("requests").clone()
    }

    /// How many items each shared turn had.
    pub(crate) fn items_of_turns(&self) -> Vec<u64> {
        self.items_of_turns.lock().expect("items").clone()
    }

    /// How many timers run and requests are unanswered.
    pub(crate) fn under_way(&self) -> usize {
        self.timers.load(Ordering::Relaxed) + self.exchanges.load(Ordering::Relaxed)
    }

    /// Whether it sent so many requests, including the subscription, and only that and one timer
    /// are left.
    pub(crate) fn waits_quietly(&self, requests: usize) -> bool {
        let one = |count: &AtomicUsize| count.load(Ordering::Relaxed) == 1;
        self.sent() == requests && one(&self.exchanges) && one(&self.timers)
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// How many requests that give up an acquisition were sent.
    pub(crate) fn abandoned(&self) -> usize {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// Waits for `work`, and counts it meanwhile.
async fn counted<O>(counter: &AtomicUsize, work: impl Future<Output = O>) -> O {
    struct UnderWay<'a>(&'a AtomicUsize);
    impl Drop for UnderWay<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    counter.fetch_add(1, Ordering::Relaxed);
    let _under_way = UnderWay(counter);
    work.await
}

pub(crate) struct Watched<P>(P, Seen);

impl Runtime for Watched<Tokio> {
    fn now(&self) -> Instant {
        self.0.now()
    }

    async fn sleep(&self, duration: Duration) {
        counted(&self.1.timers, self.0.sleep(duration)).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.0.random(bytes)
    }

    fn spawn(&self, task: Task) {
        self.0.spawn(task);
    }

    fn observe(&self, event: &Event<'_>) {
        let code = event.kind.code().to_owned();
        self.1.events.lock().expect("events").push(code);
        match event.kind {
            EventKind::Acquired { requests, .. } => {
                let mut all = self.1.requests_of_grants.lock().expect("requests");
                all.push(requests);
            }
            EventKind::GaveUp { requests, .. } => {
                let mut all = self.1.requests_in_vain.lock().expect("requests");
                all.push(requests);
            }
            EventKind::Grouped { items, .. } => {
                self.1.items_of_turns.lock().expect("items").push(items);
            }
            EventKind::Retried { error, .. } => {
                let mut all = self.1.retries.lock().expect("retries");
                all.push(error.to_string());
            }
            _ => {}
        }
    }
}

/// Whether a request gives an acquisition up. Of the scripts of a lock, which have five keys or
/// more, only that one has three arguments.
pub(crate) fn abandons(body: &str) -> bool {
    let of_webdis = || body.split('/').map(str::to_owned).collect();
    let words: Vec<String> = serde_json::from_str(body).unwrap_or_else(|_| of_webdis());
    let keys = words.get(2).and_then(|count| count.parse::<usize>().ok());
    keys.is_some_and(|keys| keys >= 5 && words.len() == 3 + keys + 3)
}

impl Transport for Watched<Http> {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        self.1.sent.fetch_add(1, Ordering::Relaxed);
        let abandons = usize::from(abandons(&request.body));
        self.1.abandoned.fetch_add(abandons, Ordering::Relaxed);
        counted(&self.1.exchanges, self.0.send(request)).await
    }

    async fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        self.1.sent.fetch_add(1, Ordering::Relaxed);
        counted(&self.1.exchanges, self.0.listen(request, hear)).await
    }
}

pub(crate) type WatchedClient = Client<Watched<Http>, Watched<Tokio>>;

/// A client of this bridge, and a record of what it does.
pub(crate) fn watch(bridge: Bridge) -> (WatchedClient, Seen) {
    let seen = Seen::default();
    let transport = Watched(Http::default(), seen.clone());
    let runtime = Watched(Tokio::default(), seen.clone());
    (Client::new(bridge, transport, runtime), seen)
}

impl Stack {
    pub(crate) fn watched(&self) -> (WatchedClient, Seen) {
        watch(self.route())
    }
}
