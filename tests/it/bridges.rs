//! What bridges cannot do, and what they do wrong. A reply that is not ours is no answer, and a
//! wait needs nothing but requests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use edgelock::Bridge;
use testkit::stack::{self, RedisServer, Webdis};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::faulty::{Proxy, forward, saying_nothing, serve};
use crate::support::kinds::Kind;
use crate::support::watched::watch;
use crate::support::{Stack, alone, client, client_of, eventually, ms, over, run};
use crate::waiting::{LONG, acquire, meanwhile};

alone! {
    a_bridge_without_subscriptions_is_asked_from_time_to_time,
    a_bridge_that_does_not_say_that_it_pushes_is_not_listened_to_unless_asked_for,
    what_webdis_forbids_is_unauthorized_and_says_what_its_acl_needs,
    a_stream_that_webdis_leaves_open_in_silence_costs_only_time,
    waiters_of_a_user_that_the_docs_limit_to_a_prefix_listen,
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_redis_that_hangs_is_timed_out_and_leaves_no_ghost,
        a_request_whose_connection_redis_drops_is_sent_again,
        cached_scripts_cost_one_request_each_and_one_more_when_redis_forgot_them,
    }
}

mod others {
    use super::*;

    over! {
        [webdis, humanwhocodes] {
            key_locking_is_refused_in_the_words_of_redis,
            without_redis_nothing_is_known,
        }
    }
}

impl Stack {
    /// Redis accepts commands, but executes none that could write.
    fn pause(&mut self) {
        let _: () = self.redis("CLIENT PAUSE 60000 WRITE");
    }

    fn unpause(&mut self) {
        let _: () = self.redis("CLIENT UNPAUSE");
    }

    /// Waits until so many commands wait for [`Stack::unpause`].
    async fn has_paused(&mut self, count: usize) {
        let is_paused = |line: &&str| line.contains(" flags=b");
        eventually(|| {
            let clients: String = self.redis("CLIENT LIST");
            clients.lines().filter(is_paused).count() == count
        })
        .await;
    }
}

async fn key_locking_is_refused_in_the_words_of_redis(stack: Stack) {
    let client = client_of(stack.route().key_locking(true));
    let error = client.lock("a").try_acquire().await.unwrap_err();
    // One of the bridges reports every error of Redis as a failure of its own.
    assert!(["refused", "unavailable"].contains(&error.code()));
    assert!(error.to_string().contains("allow-key-locking"), "{error}");
}

async fn a_redis_that_hangs_is_timed_out_and_leaves_no_ghost(mut stack: Stack) {
    stack.pause();
    let client = stack.client().max_attempts(2).request_timeout(ms(200));
    let error = client.lock("a").try_acquire().await.unwrap_err();
    assert_eq!(error.code(), "timed_out");
    assert!(error.is_outcome_unknown(), "{error}");
    // All requests arrive, late.
    stack.unpause();
    eventually(|| stack.redis::<Vec<String>>("KEYS {a}:gone:*").len() == 1).await;
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    let lease = stack.lock("a").try_acquire().await.unwrap();
    lease.release().await.unwrap();
}

async fn a_request_whose_connection_redis_drops_is_sent_again(mut stack: Stack) {
    // Enough attempts for the bridge to connect anew.
    let lock = stack.client().max_attempts(10).lock("a");
    stack.pause();
    let asking = meanwhile(async move { lock.try_acquire().await });
    stack.has_paused(1).await;
    let _: u64 = stack.redis("CLIENT KILL TYPE normal");
    stack.unpause();
    let lease = asking.await.unwrap().unwrap();
    assert_eq!(stack.redis::<String>("GET a"), lease.token().expose());
    lease.release().await.unwrap();
}

async fn without_redis_nothing_is_known(mut stack: Stack) {
    let lock = stack.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    // Redis hangs up and gives no answer.
    let _ = redis::cmd("SHUTDOWN").arg("NOSAVE").query::<()>(&mut *stack.redis.0);
    for error in [lock.try_acquire().await.unwrap_err(), lease.renew().await.unwrap_err()] {
        assert!(["unavailable", "timed_out"].contains(&error.code()));
        assert!(error.is_outcome_unknown());
    }
}

async fn a_bridge_without_subscriptions_is_asked_from_time_to_time() {
    let forbids = || Stack::webdis_that_allows(&["EVAL"]);
    for spawn in [forbids, Stack::humanwhocodes] {
        let stack = spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (client, seen) = watch(stack.route().push(true));
        let waiter = acquire(&client);
        eventually(|| seen.sent() >= 4).await;
        holder.release().await.unwrap();
        waiter.await.unwrap().unwrap().release().await.unwrap();
    }
}

/// Such a bridge may have a single connection to Redis, which a subscription would take from
/// everybody.
async fn a_bridge_that_does_not_say_that_it_pushes_is_not_listened_to_unless_asked_for() {
    let mut stack = Stack::upstash();
    let (bridge, paths) = (stack.url(), Rc::new(RefCell::new(Vec::new())));
    let seen = paths.clone();
    // This bridge has subscriptions, but does not announce them.
    let silent = serve(move |asked| {
        let (bridge, seen) = (bridge.clone(), seen.clone());
        async move {
            seen.borrow_mut().push(asked.path().to_owned());
            Some(saying_nothing(&forward(&bridge, &asked).await))
        }
    })
    .await;
    let route = stack.route_by(&silent);
    for (route, subscribes) in [(route.clone(), false), (route.push(true), true)] {
        paths.borrow_mut().clear();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (client, seen) = watch(route);
        let waiter = acquire(&client);
        eventually(|| seen.sent() >= 4).await;
        holder.release().await.unwrap();
        waiter.await.unwrap().unwrap().release().await.unwrap();
        let is_subscription = |path: &String| path.starts_with("/subscribe/");
        let subscribed = paths.borrow().iter().any(is_subscription);
        assert_eq!(subscribed, subscribes, "{:?}", paths.borrow());
        assert_eq!(stack.waiters(), 0);
    }
}

async fn cached_scripts_cost_one_request_each_and_one_more_when_redis_forgot_them(
    mut stack: Stack,
) {
    let proxy = Proxy::before(&stack, []).await;
    let cached = client_of(stack.route_by(&proxy.url).script_cache(true));
    let lock = cached.lock("a");
    for flush in [false, false, true] {
        if flush {
            let _: () = stack.redis("SCRIPT FLUSH");
        }
        lock.try_acquire().await.unwrap().release().await.unwrap();
    }
    let verbs: Vec<String> = proxy.seen().into_iter().map(|words| words[0].clone()).collect();
    let cold = ["EVALSHA", "EVAL", "EVALSHA", "EVAL"];
    assert_eq!(verbs, [&cold[..], &["EVALSHA", "EVALSHA"], &cold].concat());
}

async fn what_webdis_forbids_is_unauthorized_and_says_what_its_acl_needs() {
    let mut stack = Stack::webdis_that_allows(&["EVAL"]);
    let guessed = Bridge::webdis(&stack.url(), "edgelock", "guessed").unwrap();
    for route in [stack.route().script_cache(true), guessed] {
        let lock = client_of(route).lock("a");
        let error = lock.try_acquire().await.unwrap_err();
        assert_eq!(error.code(), "unauthorized");
        assert!(!error.is_outcome_unknown(), "{error}");
        assert!(error.to_string().contains("its acl"), "{error}");
    }
    assert!(!stack.redis::<bool>("EXISTS a"));
    let lease = stack.lock("a").try_acquire().await.unwrap();
    lease.release().await.unwrap();
}

async fn a_stream_that_webdis_leaves_open_in_silence_costs_only_time() {
    let mut redis = RedisServer::start(&["--unixsocket", "redis.sock"]);
    let socket = redis.folder().join("redis.sock");
    let webdis = Webdis::start(&socket, &["EVAL", "SUBSCRIBE"]).unwrap();
    let route = Bridge::webdis(&webdis.url(), webdis.user(), webdis.password()).unwrap();
    let (client, seen) = watch(route);
    let _: () = redis.ask("SET a theirs");
    // Waits long enough for Redis to come back, and asks often.
    let lock = client.max_attempts(10).lock("a").wait_timeout(LONG);
    let lock = lock.ttl(ms(1_000));
    let waiter = meanwhile(async move { lock.acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    // Redis stands still and goes on. What was asked meanwhile is lost, or executed late.
    redis.freeze();
    eventually(|| seen.sent() > 3).await;
    redis.wake();
    assert_eq!(redis.ask::<String>("GET a"), "theirs");
    // Redis dies, and comes back without the lock, the queue and the subscription.
    redis.kill();
    let again = RedisServer::start(&["--unixsocket", socket.to_str().unwrap()]);
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(again.ask::<String>("GET a"), lease.token().expose());
    assert!(again.ask::<Vec<String>>("PUBSUB CHANNELS *").is_empty());
    lease.release().await.unwrap();
}

async fn waiters_of_a_user_that_the_docs_limit_to_a_prefix_listen() {
    let docs = include_str!("../../docs/bridges.md");
    let at = docs.find("resetchannels ").unwrap();
    let words = docs[at..].lines().next().unwrap();
    let shipped = include_str!("../../bridge/redis/edgelock.acl").trim();
    let user = shipped.replace("user edgelock", "--user edgelock");
    let user = user.replace("~* &*", words);
    let redis = RedisServer::start(&user.split(' ').collect::<Vec<_>>());
    let url = redis.url().replace("://", "://edgelock:CHANGE-ME@");
    let bridge = stack::Bridge::options().redis(url).start().unwrap();
    let client = client(bridge.url(), bridge.token());
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Reader) {
        for names in [["app:a", "app:b"], ["app:{a}:c", "app:{a}:d"]] {
            let lock = |owner| kind.lock(&client, &names, owner).wait_timeout(LONG);
            let lease = lock("ann").acquire().await.unwrap();
            let waiting = lock("bob");
            let waiter = meanwhile(async move { waiting.acquire().await });
            eventually(|| redis.ask::<Vec<String>>("PUBSUB CHANNELS *").len() == 1).await;
            lease.release().await.unwrap();
            waiter.await.unwrap().unwrap().release().await.unwrap();
            eventually(|| redis.ask::<Vec<String>>("PUBSUB CHANNELS *").is_empty()).await;
        }
    }
    let denied: Vec<redis::Value> = redis.ask("ACL LOG");
    assert!(denied.is_empty(), "{denied:?}");
}

/// A bare connection to webdis: no client that would notice an unexpected reply.
struct Connection(TcpStream);

impl Connection {
    async fn to(stack: &Stack) -> Self {
        let address = stack.url()["http://".len()..].to_owned();
        Self(TcpStream::connect(address).await.unwrap())
    }

    async fn post(&mut self, stack: &Stack, command: &str) {
        let (basic, length) = (stack.basic(), command.len());
        let request = format!(
            "POST / HTTP/1.1\r\nauthorization: {basic}\r\ncontent-length: {length}\r\n\r\n{command}"
        );
        self.0.write_all(request.as_bytes()).await.unwrap();
    }

    /// The next bytes. They are few enough to come at once; none at the end of the stream.
    async fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let length = self.0.read(&mut bytes).await.unwrap();
        bytes.truncate(length);
        bytes
    }
}

#[test]
fn a_reply_that_webdis_gives_to_another_client_is_no_verdict() {
    // The reply of a grant, with a nonce of another request.
    const GRANT: &str = "EVAL/return%20%7B1%2C%20%27stranger%2E1%27%2C%207%2C%20%27%27%7D/0";
    run(async {
        let mut stack = Stack::webdis();
        let _: () = stack.redis("SET a theirs");
        stack.pause();
        let mut stranger = Connection::to(&stack).await;
        stranger.post(&stack, GRANT).await;
        stack.has_paused(1).await;
        // The stranger leaves before its reply comes, and the next client gets its place in webdis.
        stranger.0.shutdown().await.unwrap();
        assert!(stranger.read().await.is_empty());
        let mut next = Connection::to(&stack).await;
        next.post(&stack, "FORBIDDEN").await;
        assert!(next.read().await.starts_with(b"HTTP/1.1 403 "));
        stack.unpause();
        let reply = next.read().await;
        assert!(String::from_utf8_lossy(&reply).ends_with(r#"{"EVAL":[1,"stranger.1",7,""]}"#));

        // The same reply, as an answer to a client's own request.
        let (reply, webdis) = (Cell::new(Some(reply)), stack.url());
        let url = serve(move |asked| {
            let (reply, webdis) = (reply.take(), webdis.clone());
            async move {
                match reply {
                    Some(reply) => Some(reply),
                    None => Some(forward(&webdis, &asked).await),
                }
            }
        })
        .await;
        let (client, seen) = watch(stack.route_by(&url));
        let error = client.lock("a").try_acquire().await.unwrap_err();
        // The third request gives up the one whose answer was not ours.
        assert_eq!((error.code(), seen.sent()), ("held", 3));
        let why = r#"an unexpected reply: the reply to another request (for "a")"#;
        assert_eq!(seen.retries(), [why]);
    });
}
