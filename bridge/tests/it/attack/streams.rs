//! Hundreds of subscriptions, and some that nobody reads.

use futures_util::future::join_all;
use testkit::beside::must_keep_half;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{HonestClient, SHORTLY, many, served_in};
use crate::support::{Bridge, LIMIT, until};

const MEGABYTE: usize = 1024 * 1024;

/// Subscribes, and reads up to the confirmation.
async fn listen(bridge: &Bridge, channel: &str) -> TcpStream {
    let mut stream = asked(bridge, channel, "Connection: close").await;
    until_says(&mut stream, &format!("subscribe,{channel},1")).await;
    stream
}

async fn asked(bridge: &Bridge, channel: &str, header: &str) -> TcpStream {
    let line = format!("GET /subscribe/{channel}");
    bridge.sent(&line, header, "").await
}

async fn until_says(stream: &mut TcpStream, text: &str) {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        let more = timeout(LIMIT, stream.read_buf(&mut read)).await;
        let more = more.expect("in time");
        assert!(more.expect("it is open") > 0, "it ended before {text}");
    }
}

/// Reads to the end of the stream. Returns how many bytes that were.
async fn rest(stream: &mut TcpStream) -> usize {
    let mut read = 0;
    let mut chunk = vec![0; MEGABYTE];
    loop {
        let more = timeout(LIMIT, stream.read(&mut chunk)).await;
        match more.expect("it ends") {
            Ok(0) | Err(_) => return read,
            Ok(more) => read += more,
        }
    }
}

async fn publish(bridge: &Bridge, channel: &str, bytes: usize) {
    let message = "x".repeat(bytes);
    let command = format!(r#"["PUBLISH","{channel}","{message}"]"#);
    assert_eq!(bridge.run(&command).await.0, 200);
}

#[tokio::test]
async fn subscriptions_take_one_connection_to_redis_however_many_they_are() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let numbers = 0..many(600).min(1000);
    let names: Vec<_> = numbers.map(|number| format!("c{number}")).collect();
    let mut streams = join_all(names.iter().map(|name| listen(&bridge, name))).await;
    let list = bridge.told("CLIENT", "LIST").await;
    assert!(list.lines().count() < 10, "{list}");
    for (name, stream) in names.iter().zip(&mut streams) {
        publish(&bridge, name, 3).await;
        until_says(stream, &format!("message,{name},xxx")).await;
    }
    drop(streams);
    until("redis knows that all are gone", async || {
        bridge.run(r#"["PUBSUB","CHANNELS"]"#).await.1 == r#"{"result":[]}"#
    })
    .await;
    beside.got_all().await;
}

/// Whoever holds a lock for which others wait needs a connection to give it back.
#[tokio::test]
async fn a_crowd_of_listeners_leaves_half_of_the_connections_to_the_others() {
    let bridge = Bridge::with(["--max-connections", "40"]).await;
    let alone = served_in(&bridge, SHORTLY).await;
    let (mut streams, mut refused) = (Vec::new(), 0);
    for number in 0..many(400) {
        let mut stream = asked(&bridge, &format!("c{number}"), "Accept: text/event-stream").await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.expect("an answer");
        match &head {
            b"HTTP/1.1 200" => streams.push(stream),
            b"HTTP/1.1 503" => {
                let mut rest = String::new();
                stream.read_to_string(&mut rest).await.expect("its end");
                let head = rest.to_lowercase();
                assert!(head.contains("\r\nretry-after: 1\r\n"), "{rest}");
                assert!(rest.ends_with(r#","executed":false}"#), "{rest}");
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((streams.len(), refused), (20, many(400) - 20));
    let beside = served_in(&bridge, SHORTLY).await;
    println!("beside a crowd of listeners: {beside} answers, alone {alone}");
    must_keep_half(beside, alone);
    drop(streams);
    until("others may listen", async || {
        let mut stream = asked(&bridge, "later", "Connection: close").await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.expect("an answer");
        &head == b"HTTP/1.1 200"
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_read_too_slowly_ends_and_costs_the_others_nothing() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let mut slow = listen(&bridge, "loud").await;
    let mut reads = listen(&bridge, "loud").await;
    let before = bridge.memory();
    for _ in 0..many(50) {
        publish(&bridge, "loud", MEGABYTE).await;
        until_says(&mut reads, "xxx\n\n").await;
    }
    beside.got_all().await;
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 40 * MEGABYTE as u64, "{grown}");
    assert!(rest(&mut slow).await < 20 * MEGABYTE);
    bridge.until_logs("read too slowly").await;
    // The other stream goes on.
    publish(&bridge, "loud", 10).await;
    until_says(&mut reads, "message,loud,xxxxxxxxxx").await;
}

/// Nobody asked for this message, so an error in its place must not be taken for an answer.
#[tokio::test]
async fn a_message_that_is_too_large_ends_the_streams_of_its_channel_only() {
    let bridge = Bridge::with(["--max-reply", "1000000"]).await;
    let mut other = listen(&bridge, "other").await;
    let mut large = listen(&bridge, "large").await;
    publish(&bridge, "large", 2 * MEGABYTE).await;
    assert!(rest(&mut large).await < MEGABYTE);
    publish(&bridge, "other", 3).await;
    until_says(&mut other, "message,other,xxx").await;
}

/// Redis closes a connection that reads more slowly than a script publishes, and nobody reads that
/// fast.
#[tokio::test]
async fn a_script_that_publishes_much_at_once_ends_no_other_stream() {
    let bridge = Bridge::spawn().await;
    let mut other = listen(&bridge, "other").await;
    let mut loud = listen(&bridge, "loud").await;
    let script =
        "local x = string.rep('x', 1048576) for n = 1, 90 do redis.call('PUBLISH', 'loud', x) end";
    let command = serde_json::to_string(&["EVAL", script, "0"]).expect("text");
    assert_eq!(bridge.run(&command).await.0, 200);
    rest(&mut loud).await;
    publish(&bridge, "other", 3).await;
    until_says(&mut other, "message,other,xxx").await;
}
