//! Replies that the bridge could not read, or not keep in memory.

use super::{HonestClient, many};
use crate::support::{Bridge, says, send, signal};

/// Most programs that read replies give the connection up when they read such a one.
#[tokio::test]
async fn a_reply_that_is_nested_too_deep_costs_nobody_else_anything() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    let deep = "local t = 1 for _ = 1, 130 do t = {t} end return t";
    for _ in 0..many(50) {
        let told = bridge.run(&format!(r#"["EVAL","{deep}",0]"#)).await;
        says(told, 400, "TOODEEP");
        let body = format!(r#"[["ECHO","a"],["EVAL","{deep}",0],["ECHO","b"]]"#);
        let (_, body) = bridge.ask("/pipeline", body).await;
        assert!(body.starts_with(r#"[{"result":"a"},{"error":"TOODEEP "#), "{body}");
        assert!(body.ends_with(r#",{"result":"b"}]"#), "{body}");
    }
    beside.got_all().await;
}

/// Requests that are broken off while Redis does not read count as sent. So they must be sent, or
/// the replies would be given to the wrong requests.
#[tokio::test]
async fn requests_that_are_broken_off_cost_nobody_else_an_answer() {
    let bridge = Bridge::with(["--max-reply", "1000000", "--timeout", "600000"]).await;
    bridge.set("k", &"x".repeat(20_000)).await;
    let id = bridge.redis_id().await;
    // The bridge refuses `?` without asking Redis. Once it has, it has also read what came before.
    let is_served = async || {
        for _ in 0..10 {
            assert_eq!(bridge.run("?").await.0, 400);
        }
    };

    signal(id, "STOP").await;
    let mut streams = Vec::new();
    // The first requests fill the system's buffers towards Redis.
    let fills = format!(r#"[["SET","l","{}"]]"#, "x".repeat(200_000));
    let pings = format!("[{}]", vec![r#"["PING"]"#; 300].join(","));
    for body in [vec![fills; 5], vec![pings; many(20)]].concat() {
        streams.push(bridge.posted("/pipeline", &body).await);
        is_served().await;
    }
    drop(streams);
    is_served().await;
    signal(id, "CONT").await;
    for _ in 0..many(100) {
        let (status, body) = bridge.run(r#"["GET","k"]"#).await;
        assert_eq!(status, 200, "{body}");
    }
}

/// In JSON a control character has six bytes, and one that is not UTF-8 three.
#[tokio::test]
async fn no_answer_is_larger_than_it_may_be_whatever_it_is_made_of() {
    let most = 1_000_000;
    let bridge = Bridge::with(["--max-reply", "1000000"]).await;
    let beside = HonestClient::of(&bridge).await;
    for script in [
        "return string.rep('\\1', 900000)",
        "return {string.rep('\\255', 900000)}",
        "return {ok = string.rep('\\1', 900000)}",
        "return redis.error_reply(string.rep('\\1', 900000))",
        "return {{redis.error_reply(string.rep('\\1', 900000))}}",
    ] {
        let script = serde_json::to_string(&["EVAL", script, "0"]).expect("text");
        let (status, body) = bridge.run(&script).await;
        assert!(body.len() < most, "{script}: {}", body.len());
        says((status, body), 400, "TOOLARGE");
        let body = format!(r#"[["ECHO","a"],{script},["ECHO","b"]]"#);
        for path in ["/pipeline", "/multi-exec"] {
            let (status, body) = bridge.ask(path, body.clone()).await;
            assert!(body.len() < most, "{script}: {}", body.len());
            says((status, body), 200, r#"[{"result":"a"},{"error":"TOOLARGE "#);
        }
    }
    let mut stream = send(bridge.post("/subscribe/c", "")).await;
    let message = "redis.call('PUBLISH', 'c', string.rep('\\n', 900000))";
    let publish = serde_json::to_string(&["EVAL", message, "0"]).expect("text");
    assert_eq!(bridge.run(&publish).await.0, 200);
    let mut heard = 0;
    while let Ok(Some(piece)) = stream.chunk().await {
        heard += piece.len();
    }
    assert!(heard < most, "{heard}");
    beside.got_all().await;
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_not_held_and_costs_nobody_else_anything() {
    let bridge = Bridge::with(["--max-reply", "1000000", "--timeout", "600000"]).await;
    let beside = HonestClient::of(&bridge).await;
    let before = bridge.memory();
    for script in [
        "return string.rep(string.rep('x', 10000), 6000)",
        "return {ok = string.rep(string.rep('x', 10000), 6000)}",
        "local t = {} for n = 1, 100000 do t[n] = n end return t",
        "local x = {ok = string.rep('x', 100000)} local t = {} for n = 1, 500 do t[n] = x end return t",
    ] {
        let (status, body) = bridge.run(&format!(r#"["EVAL","{script}",0]"#)).await;
        let said = &body[..body.len().min(200)];
        assert!(status == 400 && said.contains("TOOLARGE"), "{script}: {said}");
    }
    beside.got_all().await;
    // If it kept one of the replies, the bridge would have grown by twice as much.
    let grown = bridge.memory().saturating_sub(before);
    assert!(grown < 30_000_000, "{grown}");
    let (status, body) = bridge.run(r#"["EVAL","return string.rep('x', 999000)",0]"#).await;
    assert_eq!((status, body.len()), (200, 999_013));
}
