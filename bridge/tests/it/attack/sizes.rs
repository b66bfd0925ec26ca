//! Requests and answers that are larger than memory in sum.

use futures_util::future::join_all;

use super::{HonestClient, executed_nothing, many};
use crate::support::{Bridge, is, signal, until};

const MEGABYTE: usize = 1024 * 1024;

/// How much the bridge may keep of all that is sent and not read, with a little more for what is
/// under way.
const HELD: u64 = 256 * MEGABYTE as u64;

#[tokio::test]
async fn large_bodies_are_held_up_to_a_bound_and_small_ones_always() {
    // This test is about memory, not about time.
    let bridge = Bridge::with(["--timeout", "600000"]).await;
    let beside = HonestClient::of(&bridge).await;
    let before = bridge.memory();
    let value = "x".repeat(9 * MEGABYTE);
    let body: &'static str = Box::leak(format!(r#"["SET","large","{value}"]"#).into_boxed_str());
    let answers = join_all((0..many(80)).map(|_| bridge.ask("/", body))).await;
    beside.got_all().await;
    let done = answers.iter().filter(|answer| answer.0 == 200).count();
    let is_told = |answer: &&_| executed_nothing(answer);
    let refused = answers.iter().filter(is_told).count();
    assert_eq!(done + refused, answers.len());
    assert!(done > 0);
    let grown = bridge.memory().saturating_sub(before);
    // That is half of all that was sent. The allocator gives large blocks back a moment after they
    // were freed.
    assert!(grown < 3 * HELD / 2, "{grown}");
}

/// Whoever announces a large body need not send it.
#[tokio::test]
async fn a_body_that_is_only_announced_takes_no_memory() {
    let bridge = Bridge::spawn().await;
    let before = bridge.memory();
    let mut streams = Vec::new();
    let connections = many(400);
    for _ in 0..connections {
        let length = format!("Content-Length: {}", 9 * MEGABYTE);
        streams.push(bridge.sent("POST /", &length, "[").await);
    }
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
    let grown = bridge.memory().saturating_sub(before);
    // Each announces 9 MB. A connection takes some 100 kB without a body.
    assert!(grown < (connections * MEGABYTE / 5) as u64, "{grown}");
}

#[tokio::test]
async fn answers_that_nobody_reads_are_held_up_to_a_bound() {
    let bridge = Bridge::spawn().await;
    bridge.set("large", &"x".repeat(4 * MEGABYTE)).await;
    let beside = HonestClient::of(&bridge).await;
    let before = bridge.memory();
    let mut silent = Vec::new();
    for _ in 0..many(40) {
        silent.push(bridge.sent("GET /get/large", "Accept: */*", "").await);
    }
    until("all are answered", async || {
        let mut first = [0; 12];
        let mut answered = 0;
        for stream in &silent {
            answered += usize::from(stream.peek(&mut first).await.is_ok_and(|read| read == 12));
        }
        answered == silent.len()
    })
    .await;
    beside.got_all().await;
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < HELD, "{grown}");
    // When those clients are gone, their share is free again.
    drop(silent);
    until("others are served", async || bridge.run(r#"["GET","large"]"#).await.0 == 200).await;
}

/// Nobody waits for these requests any more, but they are still on their way to Redis.
#[tokio::test]
async fn requests_that_are_broken_off_while_redis_is_busy_are_held_up_to_a_bound() {
    let bridge = Bridge::with(["--timeout", "600000"]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
    let id = bridge.redis_id().await;
    signal(id, "STOP").await;
    let before = bridge.memory();
    let body = format!(r#"["SET","k","{}"]"#, "x".repeat(200_000));
    for _ in 0..many(30) {
        let mut streams = Vec::new();
        for _ in 0..50 {
            streams.push(bridge.posted("/", &body).await);
        }
        // The bridge refuses `?` without asking Redis. Once it has, it has also read what came
        // before.
        for _ in 0..10 {
            assert_eq!(bridge.run("?").await.0, 400);
        }
    }
    let refused = bridge.run(r#"["PING"]"#).await;
    assert!(executed_nothing(&refused), "{refused:?}");
    let grown = bridge.memory().saturating_sub(before);
    signal(id, "CONT").await;
    assert!(grown < HELD, "{grown}");
    bridge.until_ping(200).await;
}

/// On a shared connection, a client that asks behind them would wait for all of them.
#[tokio::test]
async fn large_values_that_many_ask_for_at_once_are_not_in_the_way_of_small_ones() {
    let bridge = Bridge::spawn().await;
    bridge.set("large", &"x".repeat(MEGABYTE)).await;
    let small = bridge.connection(r#"["GET","small"]"#).await;
    let large = bridge.connection(r#"["GET","large"]"#).await;
    assert_ne!(small, large);
    let beside = HonestClient::of(&bridge).await;
    let asked = (0..many(80)).map(|_| bridge.ask("/", r#"["GET","large"]"#));
    let answers = join_all(asked).await;
    assert!(answers.iter().any(|answer| answer.0 == 200));
    beside.got_all().await;
    assert_eq!(bridge.connection(r#"["GET","small"]"#).await, small);
}

/// Otherwise a client that may only read could make others' keys wait behind all that is large.
#[tokio::test]
async fn a_small_key_stays_beside_what_is_large_though_it_is_read_by_the_thousand() {
    let bridge = Bridge::spawn().await;
    assert_eq!(bridge.run(r#"["SET","small","x"]"#).await.0, 200);
    let before = bridge.connection(r#"["GET","small"]"#).await;
    let often = vec![r#"["GET","small"]"#; 10_000].join(",");
    let (status, _) = bridge.read_only("/pipeline", format!("[{often}]")).await;
    assert_eq!(status, 200);
    assert_eq!(bridge.connection(r#"["GET","small"]"#).await, before);
}

#[tokio::test]
async fn a_pipeline_of_too_many_commands_is_refused_before_they_are_kept() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let pings = |count| format!("[{}]", vec![r#"["PING"]"#; count].join(","));
    let before = bridge.memory();
    let refused = r#"{"error":"ERR too many commands, or arguments, in one request"}"#;
    for (path, most) in [("/pipeline", 10_000), ("/multi-exec", 100)] {
        assert_eq!(bridge.ask(path, pings(most)).await.0, 200);
        for count in [most + 1, MEGABYTE] {
            let (status, body) = bridge.ask(path, pings(count)).await;
            assert_eq!((status, body.as_str()), (413, refused), "{path} {count}");
        }
    }
    // The name counts too.
    let most = 128 * 1024;
    for (count, status, told) in
        [(most - 1, 200, r#"{"result":0}"#), (most, 413, refused), (4 * MEGABYTE, 413, refused)]
    {
        let many = format!(r#"["DEL"{}]"#, ",1".repeat(count));
        is(bridge.run(&many).await, status, told);
        let (asked, _) = bridge.ask("/pipeline", format!("[{many}]")).await;
        assert_eq!(asked, status, "{count}");
    }
    // Commas within a text separate nothing.
    bridge.set("k", &r#"\","#.repeat(2 * most)).await;
    beside.got_all().await;
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 80 * MEGABYTE as u64, "{grown}");
}

/// Each answer alone is small enough.
#[tokio::test]
async fn the_answers_to_one_pipeline_count_together() {
    let bridge = Bridge::with(["--timeout", "600000"]).await;
    bridge.set("large", &"x".repeat(MEGABYTE)).await;
    let beside = HonestClient::of(&bridge).await;
    let before = bridge.memory();
    let gets = format!("[{}]", vec![r#"["GET","large"]"#; 300].join(","));
    let (status, body) = bridge.ask("/pipeline", gets).await;
    assert_eq!(status, 200);
    assert_eq!(body.matches("TOOLARGE").count(), 291);
    assert!(body.len() < 11 * MEGABYTE);
    beside.got_all().await;
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 80 * MEGABYTE as u64, "{grown}");
}
