//! The bridges that promises are kept over, each with a real Redis.

use std::path::PathBuf;

use edgelock::Bridge;
use testkit::stack::Redis;
use testkit::{paths, stack};

use super::table::Served;
use super::{TestClient, TestLock, client_of};

/// How a test of a promise gets its stack; which bridge that has is the caller's choice.
pub(crate) type Spawn = fn() -> Stack;

/// Makes a test of each promise over each bridge, or on an older Redis. The tests are called
/// `webdis::a_promise` and so on. A promise is given a stack, or what makes one.
macro_rules! over {
    ([$($bridge:ident),+] $promises:tt) => { $( over!($bridge $promises); )+ };
    ($bridge:ident { $($promise:ident,)+ }) => {
        mod $bridge {
            use crate::support::{Spawn, Stack, run};
            $(
                #[test]
                fn $promise() {
                    run(async { super::$promise((Stack::$bridge as Spawn).into()).await });
                }
            )+
        }
    };
}
pub(crate) use over;

/// Makes a test of each promise that needs no stack, or one of its own.
macro_rules! alone {
    ($($promise:ident,)+) => {
        mod alone {
            $( #[test] fn $promise() { crate::support::run(super::$promise()); } )+
        }
    };
}
pub(crate) use alone;

impl From<Spawn> for Stack {
    fn from(spawn: Spawn) -> Self {
        spawn()
    }
}

/// A bridge and its Redis, for a single test.
pub(crate) struct Stack {
    /// Our own bridge. Its Redis is the Redis of whichever bridge the clients use.
    pub(crate) bridge: stack::Bridge,
    other: Option<Other>,
    pub(crate) redis: Redis,
}

/// A bridge of others.
enum Other {
    Webdis(stack::Webdis),
    HumanWhoCodes(stack::HumanWhoCodes),
    /// No bridge of a Redis at all, but what stands in for both in tests.
    Table(Served),
}

impl Stack {
    /// Clients use our bridge.
    pub(crate) fn spawn() -> Self {
        Self::of(stack::Bridge::spawn())
    }

    /// Clients use our bridge, and Redis is the oldest that the scripts support.
    pub(crate) fn on_redis_6_2() -> Self {
        Self::on(paths::python("redis-server"), "redis_version:6.2.")
    }

    /// Clients use our bridge, on the newest Redis that a package brings.
    pub(crate) fn on_redis_8() -> Self {
        Self::on(paths::redis_8().expect("a server"), "redis_version:8.")
    }

    /// Clients use our bridge, on Valkey, the newest server.
    pub(crate) fn on_valkey_9() -> Self {
        Self::on(paths::valkey_server().expect("a server"), "valkey_version:9.")
    }

    fn on(server: PathBuf, version: &str) -> Self {
        let bridge = stack::Bridge::options().redis_server(server).start();
        let mut stack = Self::of(bridge.expect("a bridge"));
        let info: String = stack.redis("INFO server");
        assert!(info.contains(version), "{info}");
        stack
    }

    pub(crate) fn of(bridge: stack::Bridge) -> Self {
        let redis = Redis::of(&bridge.redis());
        Self { bridge, other: None, redis }
    }

    pub(crate) fn upstash() -> Self {
        Self::spawn()
    }

    /// Clients use Debian's webdis.
    pub(crate) fn webdis() -> Self {
        Self::webdis_that_allows(&["EVAL", "EVALSHA", "SUBSCRIBE"])
    }

    pub(crate) fn webdis_that_allows(commands: &[&str]) -> Self {
        let mut stack = Self::spawn();
        let webdis = stack::Webdis::start(stack.bridge.redis_socket(), commands);
        stack.other = Some(Other::Webdis(webdis.expect("a webdis")));
        stack
    }

    /// Clients use a bridge of Upstash's dialect that has no subscriptions.
    pub(crate) fn humanwhocodes() -> Self {
        let mut stack = Self::spawn();
        let bridge = stack::HumanWhoCodes::start(stack.bridge.redis_socket());
        stack.other = Some(Other::HumanWhoCodes(bridge.expect("a bridge")));
        stack
    }

    /// Clients use the table of `edgelock::testing`, and so does whoever asks past the bridge.
    pub(crate) fn table() -> Self {
        let mut stack = Self::spawn();
        let table = Served::start();
        stack.redis = Redis(table.connection());
        stack.other = Some(Other::Table(table));
        stack
    }

    /// The address of the bridge that clients use.
    pub(crate) fn url(&self) -> String {
        match &self.other {
            None => self.bridge.url().to_owned(),
            Some(Other::Webdis(webdis)) => webdis.url(),
            Some(Other::HumanWhoCodes(bridge)) => bridge.url(),
            Some(Other::Table(table)) => table.url(),
        }
    }

    /// The bridge that clients use.
    pub(crate) fn route(&self) -> Bridge {
        self.route_by(&self.url())
    }

    /// The same, reached by what stands before it at `url`.
    pub(crate) fn route_by(&self, url: &str) -> Bridge {
        let route = match &self.other {
            None | Some(Other::Table(_)) => Bridge::upstash(url, self.bridge.token()),
            Some(Other::Webdis(webdis)) => Bridge::webdis(url, webdis.user(), webdis.password()),
            Some(Other::HumanWhoCodes(bridge)) => Bridge::upstash(url, bridge.token()),
        };
        route.expect("a bridge")
    }

    /// The header by which clients authenticate at webdis.
    pub(crate) fn basic(&self) -> String {
        let Some(Other::Webdis(webdis)) = &self.other else { panic!("this is no webdis") };
        let request = reqwest::Client::new()
            .post(webdis.url())
            .basic_auth(webdis.user(), Some(webdis.password()));
        let request = request.build().expect("a request");
        let header = request.headers()["authorization"].to_str();
        header.expect("ASCII").to_owned()
    }

    pub(crate) fn client(&self) -> TestClient {
        client_of(self.route())
    }

    pub(crate) fn lock(&self, name: &str) -> TestLock {
        self.client().lock(name)
    }

    /// The last fence that was issued for the lock `name`.
    pub(crate) fn last_fence(&mut self, name: &str) -> u64 {
        self.redis.last_fence(&format!("{{{name}}}"))
    }

    /// How many stand in the queue for the lock `name`, dead or alive.
    pub(crate) fn waiters_for(&mut self, name: &str) -> usize {
        self.redis.waiters_for(&format!("{{{name}}}"))
    }

    /// Stores a text as it is, for a day.
    pub(crate) fn store(&mut self, key: &str, text: &str) {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(text).arg("PX").arg(86_400_000);
        self.redis.query::<()>(&set);
    }

    /// Asks Redis directly, past bridge and client. Words are separated by blanks.
    pub(crate) fn redis<V: redis::FromRedisValue>(&mut self, command: &str) -> V {
        self.redis.run(command)
    }
}
