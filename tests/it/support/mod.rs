//! The client on native parts: reqwest, tokio, and a real bridge with a real Redis.

pub(crate) mod faulty;
#[path = "../../../examples/first_lock/native.rs"]
mod native;
pub(crate) mod watched;

use std::future::Future;
use std::time::Duration;

use edgelock::{Bridge, Client, Lock};
use redis::ConnectionLike;
use tokio::task::LocalSet;
use xtask::{paths, stack};

pub(crate) use native::{Http, Tokio};

pub(crate) type TestClient = Client<Http, Tokio>;
pub(crate) type TestLock = Lock<Http, Tokio>;

/// No promise of a lock takes longer to keep, even where the bridge must be built first.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs `test` on one thread, with a place for background work, and fails it if it hangs.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let test = async {
        tokio::time::timeout(LIMIT, test)
            .await
            .expect("the test hangs")
    };
    LocalSet::new().block_on(&runtime, test);
}

/// A bridge and its Redis, for one test alone.
pub(crate) struct Stack {
    pub(crate) bridge: stack::Bridge,
    pub(crate) redis: redis::Connection,
}

impl Stack {
    pub(crate) fn spawn() -> Self {
        Self::before(stack::Bridge::spawn())
    }

    /// With the oldest Redis that the scripts are held to.
    pub(crate) fn on_redis_6_2() -> Self {
        let options = stack::Bridge::options().redis_server(paths::python("redis-server"));
        let mut stack = Self::before(
            options
                .start()
                .expect("a bridge; else run `cargo xtask setup`"),
        );
        let info: String = stack.redis("INFO server");
        assert!(info.contains("redis_version:6.2."), "{info}");
        stack
    }

    fn before(bridge: stack::Bridge) -> Self {
        let redis = bridge.redis().get_connection().expect("redis");
        Self { bridge, redis }
    }

    pub(crate) fn client(&self) -> TestClient {
        client(self.bridge.url(), self.bridge.token())
    }

    pub(crate) fn lock(&self, name: &str) -> TestLock {
        self.client().lock(name).expect("a name")
    }

    /// What Redis itself says, past bridge and client. Words are separated by blanks.
    pub(crate) fn redis<V: redis::FromRedisValue>(&mut self, command: &str) -> V {
        let mut words = command.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            cmd.arg(word);
        });
        let value = self.redis.req_command(&cmd).expect("redis answers");
        redis::from_redis_value(value).expect("the type asked for")
    }
}

pub(crate) fn client(url: &str, credential: &str) -> TestClient {
    let bridge = Bridge::upstash(url, credential).expect("a bridge");
    Client::new(bridge, Http::default(), Tokio::default())
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Waits until `done`, as something that happens in the background will make it, and fails where it does not.
#[track_caller]
pub(crate) fn eventually(mut done: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        for _ in 0..5_000 {
            if done() {
                return;
            }
            tokio::time::sleep(ms(2)).await;
        }
        panic!("it did not happen: {caller}");
    }
}
