//! A bridge, its Redis, Workers, and their callers.

mod api;
pub(crate) mod caller;
pub(crate) mod far;
pub(crate) mod meddler;

use std::fmt::Debug;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use redis::{Connection, FromRedisValue};
use serde_json::Value;
use xtask::stack::{Bridge, Worker, WorkerConfig};
use xtask::worker_build::{SALE, as_users_do};

use caller::Caller;
use meddler::{Meddler, Mischief, Of};

/// Far more time than anything here takes.
const LIMIT: Duration = Duration::from_secs(20);

/// The parts of one test. They end with it.
pub(crate) struct Stack {
    pub(crate) workers: Vec<Worker>,
    pub(crate) bridge: Bridge,
    pub(crate) config: WorkerConfig,
}

impl Stack {
    /// A stack with one flash sale.
    pub(crate) fn start() -> Self {
        Self::of(SALE)
    }

    /// A stack with one lock service.
    pub(crate) fn locks() -> Self {
        Self::of("lock-service")
    }

    /// A stack with one lottery.
    pub(crate) fn lottery() -> Self {
        Self::of("lottery")
    }

    /// A stack with the Worker of this folder.
    pub(crate) fn of(folder: &str) -> Self {
        let mut stack = Self::without_workers();
        stack.config = config_of(folder, &stack.bridge);
        stack.start_worker();
        stack
    }

    pub(crate) fn without_workers() -> Self {
        Self::behind(Bridge::spawn())
    }

    /// A stack on this bridge, without Workers.
    pub(crate) fn behind(bridge: Bridge) -> Self {
        let config = config_of(SALE, &bridge);
        Self { workers: Vec::new(), bridge, config }
    }

    /// Starts one more Worker, with the present configuration.
    pub(crate) fn start_worker(&mut self) -> Caller {
        let worker = Worker::spawn(&self.config);
        let caller = Caller::new(&worker, &self.config);
        self.workers.push(worker);
        caller
    }

    /// Starts a lottery beside the other Workers.
    pub(crate) fn start_lottery(&mut self) -> Caller {
        let sale = self.config.clone();
        let url = sale.binding("EDGELOCK_BRIDGE_URL");
        self.config = config_of("lottery", &self.bridge).bind("EDGELOCK_BRIDGE_URL", url);
        let caller = self.start_worker();
        self.config = sale;
        caller
    }

    /// Starts one more Worker, with a meddler between it and the bridge.
    pub(crate) async fn start_meddled(
        &mut self,
        of: Of,
        mischief: Mischief,
    ) -> (Arc<Meddler>, Caller) {
        let (meddler, url) = meddler::start(&self.bridge, of, mischief).await;
        let honest = self.config.clone();
        self.config = honest.clone().bind("EDGELOCK_BRIDGE_URL", url);
        let caller = self.start_worker();
        self.config = honest;
        (meddler, caller)
    }

    /// What all Workers logged as JSON.
    pub(crate) fn logged(&self) -> Vec<Value> {
        let logs: Vec<_> = self.workers.iter().map(Worker::log).collect();
        let lines = logs.iter().flat_map(|log| log.lines());
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// A caller of the first Worker.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(&self.workers[0], &self.config)
    }

    /// Waits until nobody holds the lock of this sale. A refusal does not wait for its release.
    pub(crate) async fn until_released(&self, sku: &str) {
        until(("the lock is released", sku), || {
            let held: bool = self.redis().run(&format!("EXISTS sale:{{{sku}}}:lock"));
            async move { !held }
        })
        .await;
    }

    /// A connection to Redis, past the bridge.
    pub(crate) fn redis(&self) -> Redis {
        Redis::connect(self.bridge.redis_socket())
    }
}

fn config_of(folder: &str, bridge: &Bridge) -> WorkerConfig {
    WorkerConfig::new(as_users_do(folder).expect("a Worker"), bridge)
}

pub(crate) struct Redis(Connection);

impl Redis {
    pub(crate) fn connect(socket: &Path) -> Self {
        let url = format!("redis+unix://{}", socket.display());
        let client = redis::Client::open(url).expect("an address of Redis");
        Self(client.get_connection().expect("a connection to Redis"))
    }

    /// Runs a command that is written as in a shell.
    #[track_caller]
    pub(crate) fn run<T: FromRedisValue>(&mut self, command: &str) -> T {
        let mut words = command.split_ascii_whitespace();
        let mut built = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            built.arg(word);
        });
        built.query(&mut self.0).expect(command)
    }

    #[track_caller]
    pub(crate) fn query<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> T {
        command.query(&mut self.0).expect("Redis answers")
    }

    /// How many wait for a lock. Its record has a line for each of the first ones, behind that of
    /// its holds; the others are in the queue, each twice.
    pub(crate) fn waiters_for(&mut self, lock: &str) -> usize {
        let record: Option<String> = self.run(&format!("GET {lock}:fence"));
        let first = record.map_or(0, |record| record.matches(',').count() - 1);
        first + self.run::<usize>(&format!("ZCARD {lock}:queue")) / 2
    }

    /// Every key with its value, for comparison.
    pub(crate) fn dump(&mut self) -> Vec<(String, Vec<u8>)> {
        let mut keys: Vec<String> = self.run("KEYS *");
        keys.sort();
        keys.into_iter()
            .map(|key| {
                let value: Option<Vec<u8>> =
                    redis::cmd("DUMP").arg(&key).query(&mut self.0).expect("DUMP");
                (key, value.unwrap_or_default())
            })
            .collect()
    }

    /// The same as [`Redis::dump`] without the keys of locks: a refused order leaves fences and
    /// receipts, too.
    pub(crate) fn records(&mut self) -> Vec<(String, Vec<u8>)> {
        let mut dump = self.dump();
        dump.retain(|(key, _)| !key.contains(":lock"));
        dump
    }

    /// How many scripts were executed: one for each request of the Workers.
    pub(crate) fn scripts_run(&mut self) -> u64 {
        let stats: String = self.run("INFO commandstats");
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_eval:calls="));
        let calls = calls.and_then(|calls| calls.split(',').next());
        calls.map_or(0, |calls| calls.parse().expect("a number"))
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
pub(crate) async fn until<F: Future<Output = bool>>(
    what: impl Debug,
    mut condition: impl FnMut() -> F,
) {
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
