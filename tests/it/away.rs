//! A wait goes on while the bridge is away, or asks to be left alone for a while.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use edgelock::Error;
use testkit::stack::{self, RedisServer};

use crate::support::faulty::Fault::LoseRequest;
use crate::support::faulty::{Proxy, json, serve};
use crate::support::watched::watch;
use crate::support::{Stack, alone, client, client_of, eventually, ms, over};
use crate::waiting::{LONG, acquire, meanwhile};

alone! {
    a_wait_asks_again_when_the_bridge_said,
    a_wait_ends_at_once_where_the_bridge_is_away_for_longer_and_says_for_how_long,
    a_wait_is_for_a_redis_that_is_away,
    a_waiter_whose_stream_broke_or_is_refused_listens_again_within_the_same_wait,
}

over! {
    [spawn] {
        a_waiter_whose_first_request_gets_lost_listens_as_others_do,
    }
}

/// A bridge that answers the first requests like this, and then grants the lock. Returns its
/// address, and when it was asked.
async fn sheds(status: u16, retry_after: u64, times: usize) -> (String, Rc<RefCell<Vec<Instant>>>) {
    let asked: Rc<RefCell<Vec<Instant>>> = Rc::default();
    let notes = asked.clone();
    let url = serve(move |request| {
        notes.borrow_mut().push(Instant::now());
        let shed = format!(
            "HTTP/1.1 {status} X\r\nretry-after: {retry_after}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let granted = format!(r#"{{"result":[1,"{}",7,""]}}"#, request.nonce());
        let is_shed = notes.borrow().len() <= times;
        std::future::ready(Some(match is_shed {
            true => shed.into_bytes(),
            false => json(200, &granted),
        }))
    })
    .await;
    (url, asked)
}

async fn a_wait_asks_again_when_the_bridge_said() {
    for status in [429, 503] {
        let (url, asked) = sheds(status, 1, 2).await;
        // One attempt for each operation, so that only the wait asks again.
        let lock = client(&url, "credential").max_attempts(1).lock("a");
        let _lease = lock.wait_timeout(LONG).acquire().await.unwrap();
        let asked = asked.borrow();
        assert_eq!(asked.len(), 3);
        assert!(asked.windows(2).all(|pair| pair[1] - pair[0] >= ms(1_000)));
    }
}

async fn a_waiter_whose_first_request_gets_lost_listens_as_others_do(stack: Stack) {
    let _held = stack.lock("a").try_acquire().await.unwrap();
    let route = |url: &str| stack.route_by(url).push(true);
    let proxy = Proxy::to(&stack.url(), route, [LoseRequest]).await;
    let lock = proxy
        .client
        .clone()
        .max_attempts(1)
        .lock("a")
        .wait_timeout(LONG);
    let listens = || proxy.seen().iter().any(|words| words[0] == "SUBSCRIBE");
    tokio::select! {
        got = lock.acquire() => panic!("{got:?}"),
        () = eventually(listens) => {}
    }
}

async fn a_wait_ends_at_once_where_the_bridge_is_away_for_longer_and_says_for_how_long() {
    let (url, asked) = sheds(503, 60, usize::MAX).await;
    let lock = client(&url, "credential").max_attempts(1).lock("a");
    let error = lock.wait_timeout(ms(5_000)).acquire().await.unwrap_err();
    let Error::Unavailable { retry_after, .. } = error else {
        panic!("{error}")
    };
    // The outcome may be unknown, so a second request may have given the acquisition up.
    assert_eq!(retry_after, Some(Duration::from_secs(60)));
    assert!((1..=2).contains(&asked.borrow().len()));
}

async fn a_wait_is_for_a_redis_that_is_away() {
    let mut redis = RedisServer::start(&["--unixsocket", "redis.sock"]);
    let socket = redis.folder().join("redis.sock");
    let socket = socket.to_str().unwrap().to_owned();
    let bridge = stack::Bridge::options().redis(format!("unix://{socket}"));
    let bridge = bridge.start().unwrap();
    let route = || edgelock::Bridge::upstash(bridge.url(), bridge.token()).unwrap();
    redis.kill();
    let (client, seen) = watch(route());
    let waiter = acquire(&client);
    // A call that does not wait would have stopped at three.
    eventually(|| seen.sent() > 3).await;
    let error = client_of(route()).lock("a").try_acquire().await;
    assert_eq!(error.unwrap_err().code(), "unavailable");
    let again = RedisServer::start(&["--unixsocket", &socket]);
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(again.ask::<String>("GET a"), lease.token().expose());
    lease.release().await.unwrap();
}

async fn a_waiter_whose_stream_broke_or_is_refused_listens_again_within_the_same_wait() {
    let mut stack = Stack::upstash();
    let holder = stack.lock("a").ttl(LONG * 5);
    let holder = holder.acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let waiter = acquire(&client);
    stack.has_listeners(1).await;
    eventually(|| seen.waits_quietly(3)).await;
    let _: u64 = stack.redis("CLIENT KILL TYPE pubsub");
    eventually(|| seen.sent() > 3).await;
    stack.has_listeners(1).await;
    holder.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();

    // A bridge that refuses the subscription once, and is asked again.
    let refused = Rc::new(Cell::new(0));
    let (refuses, bridge) = (refused.clone(), stack.url());
    let url = serve(move |asked| {
        let is_subscription = asked.head.starts_with("POST /subscribe/");
        refuses.set(refuses.get() + u32::from(is_subscription));
        let bridge = bridge.clone();
        async move {
            match is_subscription {
                true => Some(json(503, r#"{"error":"too many listen"}"#)),
                false => Some(crate::support::faulty::forward(&bridge, &asked).await),
            }
        }
    })
    .await;
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, _) = watch(stack.route_by(&url).push(true));
    let lock = client.lock("a").wait_timeout(LONG).max_requests(1_000);
    let waiter = meanwhile(async move { lock.acquire().await });
    eventually(|| refused.get() >= 2).await;
    holder.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
}
