//! A bridge, its Redis, Workers, and their callers.

mod api;
pub(crate) mod caller;
pub(crate) mod meddler;

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use testkit::stack::{Bridge, Redis, Worker, WorkerConfig};
use testkit::worker_build::{SALE, as_users_do};

use caller::Caller;
use meddler::{Meddler, Mischief, Of};

/// Far more time than anything here takes.
const LIMIT: Duration = Duration::from_secs(20);

/// The name of a Worker's variable.
pub(crate) const BRIDGE_URL: &str = "EDGELOCK_BRIDGE_URL";

/// The parts of one test. They end with it.
pub(crate) struct Stack {
    pub(crate) workers: Vec<Worker>,
    pub(crate) bridge: Bridge,
    /// That of the first Worker.
    pub(crate) config: WorkerConfig,
}

impl Stack {
    /// A stack with one flash sale.
    pub(crate) fn start() -> Self {
        Self::of(SALE)
    }

    /// A stack with one flash sale, which has opened these sales.
    pub(crate) async fn selling(skus: &[impl AsRef<str>], stock: u64, limit: u64) -> Self {
        let stack = Self::start();
        stack.caller().open_all(skus, stock, limit).await;
        stack
    }

    /// A stack with the Worker of this folder.
    pub(crate) fn of(folder: &str) -> Self {
        Self::behind(Bridge::spawn(), folder)
    }

    /// A stack with this bridge, and the Worker of this folder.
    pub(crate) fn behind(bridge: Bridge, folder: &str) -> Self {
        let config = WorkerConfig::new(as_users_do(folder).expect("a Worker"), &bridge);
        Self { workers: vec![Worker::spawn(&config)], bridge, config }
    }

    /// A caller of the first Worker.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(&self.workers[0], &self.config)
    }

    /// Starts one more Worker, as the first one.
    pub(crate) fn start_worker(&mut self) -> Caller {
        self.start_with(self.config.clone())
    }

    /// Starts one more Worker, with this configuration.
    pub(crate) fn start_with(&mut self, config: WorkerConfig) -> Caller {
        self.workers.push(Worker::spawn(&config));
        Caller::new(&self.workers[self.workers.len() - 1], &config)
    }

    /// Starts one more Worker, with a meddler between it and the bridge.
    pub(crate) async fn meddled(&mut self, of: Of, mischief: Mischief) -> (Arc<Meddler>, Caller) {
        let (meddler, url) = meddler::start(&self.bridge, of, mischief).await;
        (meddler, self.start_with(self.config.clone().bind(BRIDGE_URL, url)))
    }

    /// What all Workers logged as JSON.
    pub(crate) fn logged(&self) -> Vec<Value> {
        let logs: Vec<_> = self.workers.iter().map(Worker::log).collect();
        let lines = logs.iter().flat_map(|log| log.lines());
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// What they logged of such events.
    pub(crate) fn logged_of(&self, event: &str) -> Vec<Value> {
        self.logged().into_iter().filter(|line| line["event"] == event).collect()
    }

    /// Waits until nobody holds the lock of this sale. A refusal does not wait for its release.
    pub(crate) async fn until_released(&self, sku: &str) {
        until(("the lock is released", sku), async || {
            !self.redis().run::<bool>(&format!("EXISTS sale:{{{sku}}}:lock"))
        })
        .await;
    }

    /// What is left of a sale, as Redis has it.
    pub(crate) fn left(&self, sku: &str) -> u64 {
        self.redis().run(&format!("HGET sale:{{{sku}}} remaining"))
    }

    /// A connection to Redis, past the bridge.
    pub(crate) fn redis(&self) -> Redis {
        Redis::of(&self.bridge.redis())
    }
}

/// Does all of it at the same time. Returns what came of each, in the same order.
pub(crate) async fn at_once<F>(calls: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let calls: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(call.await.expect("no panic"));
    }
    outcomes
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: impl Debug, mut condition: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !condition().await {
        assert!(Instant::now() < end, "not within {LIMIT:?}: {what:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("after 1970").as_millis().try_into().expect("before 584942417")
}
