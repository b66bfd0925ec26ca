//! The bridges that promises are kept over, each with a real Redis.

use std::path::PathBuf;

use edgelock::Bridge;
use redis::ConnectionLike;
use xtask::{paths, stack};

use super::{TestClient, TestLock, client_of};

/// How a promise gets its stack, and which bridge is in it.
pub(crate) type Spawn = fn() -> Stack;

/// Makes a test of each promise over each bridge, or on an older Redis: `webdis::a_promise`.
macro_rules! over {
    ([$($bridge:ident),+] $promises:tt) => { $( over!($bridge $promises); )+ };
    ($bridge:ident { $($promise:ident,)+ }) => {
        mod $bridge {
            use crate::support::Stack;
            $( #[test] fn $promise() { super::$promise(Stack::$bridge); } )+
        }
    };
}
pub(crate) use over;

/// A bridge and its Redis, for one test alone.
pub(crate) struct Stack {
    /// Ours, whose Redis is before whichever bridge the clients have.
    pub(crate) bridge: stack::Bridge,
    other: Option<Other>,
    pub(crate) redis: redis::Connection,
}

/// A bridge that is not ours.
enum Other {
    Webdis(stack::Webdis),
    HumanWhoCodes(stack::HumanWhoCodes),
}

impl Stack {
    /// Clients have our bridge.
    pub(crate) fn spawn() -> Self {
        Self::of(stack::Bridge::spawn())
    }

    /// The same, and Redis is the oldest that the scripts are held to.
    pub(crate) fn on_redis_6_2() -> Self {
        Self::on(paths::python("redis-server"), "redis_version:6.2.")
    }

    /// The same on Valkey, the newest server.
    pub(crate) fn on_valkey_9() -> Self {
        Self::on(
            paths::valkey_server().expect("a server"),
            "valkey_version:9.",
        )
    }

    fn on(server: PathBuf, version: &str) -> Self {
        let bridge = stack::Bridge::options().redis_server(server).start();
        let mut stack = Self::of(bridge.expect("a bridge"));
        let info: String = stack.redis("INFO server");
        assert!(info.contains(version), "{info}");
        stack
    }

    fn of(bridge: stack::Bridge) -> Self {
        let redis = bridge.redis().get_connection().expect("redis");
        Self {
            bridge,
            other: None,
            redis,
        }
    }

    pub(crate) fn upstash() -> Self {
        Self::spawn()
    }

    /// Clients have Debian's webdis.
    pub(crate) fn webdis() -> Self {
        Self::webdis_that_allows(&["EVAL", "EVALSHA", "SUBSCRIBE"])
    }

    pub(crate) fn webdis_that_allows(commands: &[&str]) -> Self {
        let mut stack = Self::spawn();
        let webdis = stack::Webdis::start(stack.bridge.redis_socket(), commands);
        stack.other = Some(Other::Webdis(webdis.expect("a webdis")));
        stack
    }

    /// Clients have a bridge of Upstash's dialect that has no subscriptions.
    pub(crate) fn humanwhocodes() -> Self {
        let mut stack = Self::spawn();
        let bridge = stack::HumanWhoCodes::start(stack.bridge.redis_socket());
        stack.other = Some(Other::HumanWhoCodes(bridge.expect("a bridge")));
        stack
    }

    /// The address of the bridge that clients have.
    pub(crate) fn url(&self) -> String {
        match &self.other {
            None => self.bridge.url().to_owned(),
            Some(Other::Webdis(webdis)) => webdis.url(),
            Some(Other::HumanWhoCodes(bridge)) => bridge.url(),
        }
    }

    /// How clients reach it.
    pub(crate) fn route(&self) -> Bridge {
        self.route_by(&self.url())
    }

    /// How they reach it by what stands before it at `url`.
    pub(crate) fn route_by(&self, url: &str) -> Bridge {
        let route = match &self.other {
            None => Bridge::upstash(url, self.bridge.token()),
            Some(Other::Webdis(webdis)) => Bridge::webdis(url, webdis.user(), webdis.password()),
            Some(Other::HumanWhoCodes(bridge)) => Bridge::upstash(url, bridge.token()),
        };
        route.expect("a bridge")
    }

    /// The header with which clients show webdis who they are.
    pub(crate) fn basic(&self) -> String {
        let Some(Other::Webdis(webdis)) = &self.other else {
            panic!("this is no webdis")
        };
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

    /// The last fence of the lock `name` that was issued.
    pub(crate) fn last_fence(&mut self, name: &str) -> u64 {
        let kept: String = self.redis(&format!("GET {{{name}}}:fence"));
        let (last, _) = kept.split_once(' ').expect("more than the fence");
        last.parse().expect("a number")
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
