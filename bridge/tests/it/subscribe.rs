//! Messages as server-sent events.

use futures_util::future::join_all;
use reqwest::{Method, Response};
use testkit::stack::RedisServer;
use tokio::time::timeout;

use crate::support::{Bridge, LIMIT, TOKEN, header, is, send, until};

/// Clients skip comments, but people who look at a stream read them.
const LOST: &str = ": the connection to redis was lost";

/// A subscription that is read event by event.
struct Events {
    response: Response,
    arrived: String,
}

impl Events {
    async fn open(bridge: &Bridge, channel: &str) -> Self {
        Self::of("subscribe", bridge, channel).await
    }

    async fn of(command: &str, bridge: &Bridge, name: &str) -> Self {
        let response = send(bridge.post(&format!("/{command}/{name}"), "[]")).await;
        assert_eq!(response.status(), 200);
        let mut events = Self { response, arrived: String::new() };
        let begun = events.next().await.expect("a confirmation");
        let data = format!("data: {command},");
        assert!(begun.starts_with(&data) && begun.ends_with(",1"), "{begun}");
        events
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.arrived.split_once("\n\n") {
                let event = event.to_owned();
                self.arrived = rest.to_owned();
                return Some(event);
            }
            let chunk = timeout(LIMIT, self.response.chunk()).await.expect("an event, or an end");
            self.arrived.push_str(str::from_utf8(&chunk.ok()??).expect("whole characters"));
        }
    }
}

async fn publish(bridge: &Bridge, channel: &str, message: &str) -> String {
    let command = serde_json::to_string(&["PUBLISH", channel, message]).unwrap();
    bridge.run(&command).await.1
}

#[tokio::test]
async fn a_subscriber_hears_what_is_published() {
    let bridge = Bridge::spawn().await;
    for method in [Method::GET, Method::POST] {
        let request = bridge.request(method, "/subscribe/news").bearer_auth(TOKEN);
        let mut response = send(request.header("accept", "text/event-stream")).await;
        assert_eq!(header(&response, "content-type"), "text/event-stream");
        assert_eq!(header(&response, "cache-control"), "no-cache");
        for event in ["subscribe,news,1", "message,news,hello"] {
            let heard = response.chunk().await.unwrap().unwrap();
            assert_eq!(heard, format!("data: {event}\n\n"));
            publish(&bridge, "news", "hello").await;
        }
    }
}

#[tokio::test]
async fn messages_keep_their_content_and_order() {
    let bridge = Bridge::spawn().await;
    let mut events = Events::open(&bridge, "c").await;
    for (message, event) in [
        ("a,b,,", "data: message,c,a,b,,"),
        ("", "data: message,c,"),
        ("tök 😀", "data: message,c,tök 😀"),
        // Each line of the data becomes a `data:` line of its own.
        ("one\ntwo\r\nthree\rfour", "data: message,c,one\ndata: two\ndata: three\ndata: four"),
        ("data: x\n\nevent: y", "data: message,c,data: x\ndata: \ndata: event: y"),
    ] {
        assert_eq!(publish(&bridge, "c", message).await, r#"{"result":1}"#);
        assert_eq!(events.next().await.unwrap(), event);
    }
    let publish = "redis.call('PUBLISH','c'";
    let script = format!("for i=1,100 do {publish},i) end {publish},'\\\\255')");
    bridge.run(&format!(r#"["EVAL","{script}",0]"#)).await;
    for number in 1..=100 {
        let event = format!("data: message,c,{number}");
        assert_eq!(events.next().await, Some(event));
    }
    assert_eq!(events.next().await.unwrap(), "data: message,c,\u{fffd}");
}

/// Each message is sent after the one before was heard. If each were delayed anywhere, the sum
/// would be beyond the limit.
#[tokio::test]
async fn a_message_does_not_wait_for_others() {
    let bridge = Bridge::spawn().await;
    let mut events = Events::open(&bridge, "c").await;
    let lockstep = async {
        for number in 0..1000 {
            publish(&bridge, "c", &number.to_string()).await;
            let mut event = events.next().await.unwrap();
            // On a busy machine this takes so long that the stream shows that it is still open.
            while event == ": ping" {
                event = events.next().await.unwrap();
            }
            assert_eq!(event, format!("data: message,c,{number}"));
        }
    };
    timeout(LIMIT, lockstep).await.expect("a thousand messages one by one");
}

/// Each waiter for a lock has a channel of its own. `PUBSUB NUMSUB` and the reply of `PUBLISH` tell
/// whether it listens.
#[tokio::test]
async fn redis_knows_the_listeners_and_forgets_those_that_went() {
    let bridge = Bridge::spawn().await;
    let count = async |channel: &str| {
        let asked = format!(r#"["PUBSUB","NUMSUB","{channel}"]"#);
        let (_, body) = bridge.run(&asked).await;
        let count = body.strip_prefix(&format!(r#"{{"result":["{channel}","#));
        let count = count.and_then(|count| count.strip_suffix("]}"));
        count.expect("a count").to_owned()
    };
    let channels: Vec<_> = (0..10).map(|number| format!("waiter:{number}")).collect();
    let mut listeners = join_all(channels.iter().map(|name| Events::open(&bridge, name))).await;
    for name in &channels {
        assert_eq!(count(name).await, "1", "{name}");
    }
    for gone in (0..10).rev() {
        drop(listeners.pop());
        until("it is known to be gone", async || count(&channels[gone]).await == "0").await;
        for name in &channels[..gone] {
            assert_eq!(count(name).await, "1", "{name}");
        }
    }
}

#[tokio::test]
async fn listeners_of_one_channel_all_hear_it_until_the_last_is_gone() {
    let bridge = Bridge::spawn().await;
    let mut listeners = join_all((0..5).map(|_| Events::open(&bridge, "c"))).await;
    while let Some(mut last) = listeners.pop() {
        assert_eq!(publish(&bridge, "c", "to all").await, r#"{"result":1}"#);
        for listener in listeners.iter_mut().chain([&mut last]) {
            assert_eq!(listener.next().await.unwrap(), "data: message,c,to all");
        }
    }
    until("nobody is left", async || publish(&bridge, "c", "?").await == r#"{"result":0}"#).await;
}

/// On one channel, listeners come while others go.
#[tokio::test]
async fn whoever_was_told_that_it_listens_hears_all_that_follows() {
    let bridge = Bridge::spawn().await;
    let come_and_go = join_all((0..8).map(|_| async {
        for _ in 0..50 {
            let mut events = Events::open(&bridge, "c").await;
            let sent = format!("{:p}", &raw const events);
            assert_eq!(publish(&bridge, "c", &sent).await, r#"{"result":1}"#);
            while !events.next().await.expect("it goes on").ends_with(&sent) {}
        }
    }));
    timeout(LIMIT, come_and_go).await.expect("nothing is missed");
}

#[tokio::test]
async fn a_channel_is_all_that_follows_in_the_path() {
    let bridge = Bridge::spawn().await;
    for (path, channel) in [
        ("lock:%7Ba%7D", "lock:{a}"),
        ("a/b", "a/b"),
        ("a%2Fb", "a/b"),
        ("a+b%20c", "a+b c"),
        ("k%C3%B6nig", "könig"),
    ] {
        let mut events = Events::open(&bridge, path).await;
        assert_eq!(publish(&bridge, channel, "x").await, r#"{"result":1}"#, "{path}");
        assert_eq!(events.next().await.unwrap(), format!("data: message,{channel},x"));
    }
    for path in [
        "/subscribe/",
        "/subscribe/a,b",
        "/subscribe/a%0Ab",
        "/subscribe/a%0D",
        "/psubscribe/",
        "/psubscribe/a,b",
    ] {
        let error = r#"{"error":"ERR the name of a channel, or a pattern, must not be empty, nor hold a comma, CR or LF"}"#;
        is(bridge.ask(path, "").await, 400, error);
    }
    for path in ["/subscribe", "/psubscribe", "/monitor"] {
        assert_eq!(bridge.ask(path, "[]").await.0, 400, "{path}");
    }
}

#[tokio::test]
async fn a_pattern_hears_all_channels_that_match_it_and_says_which() {
    let bridge = Bridge::spawn().await;
    let mut events = Events::of("psubscribe", &bridge, "news.*%5Bab%5D").await;
    for (channel, listeners) in [("news.1a", 1), ("news.1c", 0), ("news.\u{f6}b", 1)] {
        let told = format!("{{\"result\":{listeners}}}");
        assert_eq!(publish(&bridge, channel, "x,y").await, told, "{channel}");
    }
    for channel in ["news.1a", "news.\u{f6}b"] {
        let heard = format!("data: pmessage,news.*[ab],{channel},x,y");
        assert_eq!(events.next().await.unwrap(), heard);
    }
    drop(events);
    until("the subscription is dropped", async || {
        publish(&bridge, "news.1a", "?").await == r#"{"result":0}"#
    })
    .await;
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_open() {
    let bridge = Bridge::spawn().await;
    let mut events = Events::open(&bridge, "c").await;
    assert_eq!(events.next().await.unwrap(), ": ping");
    publish(&bridge, "c", "x").await;
    assert_eq!(events.next().await.unwrap(), "data: message,c,x");
}

#[tokio::test]
async fn a_stream_ends_with_redis() {
    let mut redis = RedisServer::start(&[]);
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    let mut events = Events::open(&bridge, "c").await;
    redis.kill();
    assert_eq!(events.next().await.as_deref(), Some(LOST));
    assert_eq!(events.next().await, None);
    bridge.until_logs("the connection for messages was lost").await;
}

/// Otherwise the stream would stay open, and silent, for ever.
#[tokio::test]
async fn a_stream_ends_when_redis_hangs() {
    let redis = RedisServer::start(&[]);
    let bridge = Bridge::start(["--redis", &redis.url(), "--timeout", "100"]).await;
    let mut events = Events::open(&bridge, "c").await;
    redis.freeze();
    assert_eq!(events.next().await.as_deref(), Some(LOST));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_stream_ends_with_the_bridge() {
    let mut bridge = Bridge::with(["--timeout", "600000"]).await;
    let mut events = Events::open(&bridge, "c").await;
    bridge.signal("TERM").await;
    assert_eq!(events.next().await, None);
    assert!(bridge.exit().await.success());
}

/// The library that carries the subscription says only that it failed.
#[tokio::test]
async fn a_channel_that_redis_forbids_is_told_as_redis_puts_it() {
    let user = "--user default on nopass +@all ~* resetchannels".split(' ');
    let redis = RedisServer::start(&user.collect::<Vec<_>>());
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    let (status, body) = bridge.ask("/subscribe/c", "").await;
    assert!(status == 400 && body.starts_with(r#"{"error":"NOPERM "#), "{status} {body}");
}
