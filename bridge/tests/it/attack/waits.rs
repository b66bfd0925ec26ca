//! Requests that keep a connection to Redis for themselves.

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::{HonestClient, executed_nothing, many};
use crate::support::{Bridge, says};

/// How many connections to the bridge's Redis were ever opened.
async fn connections(bridge: &Bridge) -> u32 {
    let info = bridge.told("INFO", "stats").await;
    let count = (info.lines()).find_map(|line| line.strip_prefix("total_connections_received:"));
    count.expect("a line").parse().expect("a number")
}

#[tokio::test]
async fn waits_for_replicas_beyond_those_that_may_are_refused_at_once() {
    let bridge = Bridge::with(["--timeout", "600000"]).await;
    let beside = HonestClient::of(&bridge).await;
    let wait = r#"[["SET","k","v"],["WAIT",1,500000]]"#;
    let mut waits: FuturesUnordered<_> =
        (0..many(200)).map(|_| bridge.ask("/pipeline", wait)).collect();
    for _ in 0..many(200) - 64 {
        let refused = waits.next().await.expect("one of them");
        assert!(executed_nothing(&refused), "{refused:?}");
    }
    assert!(connections(&bridge).await < 80);
    beside.got_all().await;
}

#[tokio::test]
async fn transactions_share_a_few_connections() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let asked = (0..many(200)).map(|_| bridge.ask("/multi-exec", r#"[["PING"]]"#));
    for answer in join_all(asked).await {
        assert_eq!(answer, (200, r#"[{"result":"PONG"}]"#.to_owned()));
    }
    assert!(connections(&bridge).await < 32);
    beside.got_all().await;
}

/// A script that nobody has seen runs apart from the waits, so such a request is sent in parts.
#[tokio::test]
async fn a_request_that_waits_again_and_again_has_no_more_time_than_others() {
    let bridge = Bridge::with(["--timeout", "1000"]).await;
    let beside = HonestClient::of(&bridge).await;
    let waits = [r#"["EVAL","return 1",0],["WAIT",1,800]"#; 5].join(",");
    let told = bridge.ask("/pipeline", format!("[{waits}]")).await;
    says(told, 504, "unknown");
    beside.got_all().await;
}

#[tokio::test]
async fn the_answers_between_waits_count_together() {
    let bridge = Bridge::with(["--timeout", "600000"]).await;
    bridge.set("large", &"x".repeat(1 << 20)).await;
    let beside = HonestClient::of(&bridge).await;
    let before = bridge.memory();
    let gets = vec![r#"["GET","large"],["WAIT",0,1]"#; 300].join(",");
    let unseen = r#"["EVAL","return 1",0]"#;
    let (status, body) = bridge.ask("/pipeline", format!("[{unseen},{gets}]")).await;
    assert_eq!(status, 200);
    assert!(body.len() < 11 << 20, "{}", body.len());
    beside.got_all().await;
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 80 << 20, "{grown}");
}
