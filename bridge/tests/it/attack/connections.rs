//! Hundreds of connections on which little or nothing is sent.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{HonestClient, executed_nothing, many};
use testkit::stack::RedisServer;

use crate::support::{Bridge, LIMIT, until};

/// Connects from an address of this machine that nothing else uses.
async fn connect(bridge: &Bridge, from: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let address = Ipv4Addr::new(127, 0, 0, from);
    socket.bind((address, 0).into()).expect("an address of this machine");
    let to = bridge.address().parse().expect("an address");
    socket.connect(to).await.expect("a connection")
}

async fn silent(bridge: &Bridge, from: u8, count: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(connect(bridge, from).await);
    }
    streams
}

/// Waits until the bridge ends the connection. Returns what it said before.
async fn ends(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let ended = timeout(LIMIT, stream.read_to_end(&mut said)).await;
    // The connection may be reset.
    let _ = ended.expect("it ends");
    String::from_utf8_lossy(&said).into_owned()
}

/// Later clients are told that the bridge is full, and may still ask whether it is well.
#[tokio::test]
async fn a_full_bridge_serves_whom_it_has_tells_others_and_is_free_again() {
    let bridge = Bridge::with(["--max-connections", "40", "--log", "warn"]).await;
    let beside = HonestClient::of(&bridge).await;
    let others = silent(&bridge, 2, many(500)).await;
    bridge.until_logs("too many connections").await;
    // There is no line for each connection.
    let lines = bridge.log().lines().count();
    assert!(lines < 100, "{lines}");
    until("there is room to be told", async || {
        let told = reqwest::get(format!("{}/health", bridge.url())).await;
        told.is_ok_and(|told| told.status() == 200)
    })
    .await;
    let told = bridge.another_client().run(r#"["PING"]"#).await;
    assert!(told.0 == 200 || executed_nothing(&told), "{told:?}");
    beside.got_all().await;
    drop(others);
    until("the silent ones are gone", async || {
        bridge.another_client().run(r#"["PING"]"#).await.0 == 200
    })
    .await;
}

/// It may be the one that gives back the lock for which those who have the places wait.
#[tokio::test]
async fn a_request_that_finds_no_place_waits_until_one_is_free() {
    let bridge = Bridge::with(["--max-connections", "1", "--log", "warn"]).await;
    let first = connect(&bridge, 2).await;
    let mut second = bridge.posted("/", r#"["PING"]"#).await;
    bridge.until_logs("too many connections").await;
    drop(first);
    let answer = ends(&mut second).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

/// There are few places for those who ask for more than there is.
#[tokio::test]
async fn bodies_without_an_end_do_not_keep_others_from_health_when_there_is_no_place() {
    let bridge = Bridge::with(["--max-connections", "2", "--timeout", "600000"]).await;
    let _silent = silent(&bridge, 2, 2).await;
    let mut crowd = silent(&bridge, 1, 128).await;
    for stream in &mut crowd {
        let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n[";
        stream.write_all(head).await.expect("sent");
    }
    until("health is told", async || {
        let asked = reqwest::get(format!("{}/health", bridge.url())).await;
        asked.is_ok_and(|told| told.status() == 200)
    })
    .await;
}

/// Connections for which the system keeps no place are tried again a second later, also those of
/// other clients.
#[tokio::test]
async fn as_many_may_come_at_once_as_the_system_lets() {
    let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("Linux");
    let most: usize = most.trim().parse().expect("a number");
    let bridge = Bridge::spawn().await;
    bridge.signal("STOP").await;
    let came = timeout(LIMIT, silent(&bridge, 2, most.min(1_800))).await;
    bridge.signal("CONT").await;
    assert!(came.is_ok(), "some are not let in while others wait");
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}

#[tokio::test]
async fn descriptors_are_kept_for_redis_and_for_health() {
    let mut redis = RedisServer::start(&[]);
    let bridge = Bridge::with_files(300, ["--redis", &redis.url(), "--timeout", "1000"]).await;
    let beside = HonestClient::of(&bridge).await;
    let mut held = Vec::new();
    for from in 2..12 {
        held.append(&mut silent(&bridge, from, 60).await);
    }
    beside.got_all().await;
    redis.kill();
    bridge.until_ping(503).await;
    redis.restart().expect("it starts again");
    bridge.until_ping(200).await;
    assert_eq!(bridge.ask("/multi-exec", r#"[["PING"]]"#).await.0, 200);
    assert_eq!(bridge.health().await.0, 200);
    drop(held);
}

#[tokio::test]
async fn the_head_of_a_request_is_bounded() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let before = bridge.memory();
    let mut streams = Vec::new();
    let padding = "x".repeat(500_000);
    for _ in 0..many(100) {
        let mut stream = connect(&bridge, 2).await;
        let head = format!("GET /ping HTTP/1.1\r\nHost: x\r\nPadding: {padding}");
        // The bridge may refuse the request before it is sent to its end.
        let _ = stream.write_all(head.as_bytes()).await;
        streams.push(stream);
    }
    for stream in &mut streams {
        let said = ends(stream).await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 431 "), "{said}");
    }
    beside.got_all().await;
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 15_000_000, "{grown}");
}
