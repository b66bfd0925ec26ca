//! What the bridge writes about itself.

use reqwest::Method;
use serde_json::Value;
use testkit::stack::RedisServer;

use crate::support::{Bridge, READ_ONLY_TOKEN, TOKEN, answer, until};

#[tokio::test]
async fn logs_are_json_and_hold_no_secret_key_or_value() {
    let mut redis = RedisServer::start(&["--requirepass", "redis-secret"]);
    let url = redis.url().replace("://", "://:redis-secret@");
    let bridge = Bridge::start(["--redis", &url, "--log", "debug"]).await;
    for (path, body) in [
        ("/", r#"["SET","the-key","the-value"]"#),
        ("/", r#"["the-value"]"#),
        ("/", r#"{"the-key":"the-value"#),
        ("/pipeline", r#"[["GET","the-key"],["BLPOP","the-key",0]]"#),
        ("/multi-exec", r#"[["LPUSH","the-key","the-value"]]"#),
        ("/set/the-key?XX", "the-value"),
        ("/subscribe/the-key,", ""),
        ("/the-key/the-value", ""),
    ] {
        bridge.ask(path, body).await;
        answer(bridge.request(Method::POST, path).bearer_auth("wrong-secret").body(body)).await;
    }
    answer(bridge.request(Method::GET, &format!("/get/the-key?_token={READ_ONLY_TOKEN}"))).await;
    redis.kill();
    until("an outage", async || bridge.run(r#"["GET","the-key"]"#).await.0 == 503).await;
    bridge.until_logs("redis cannot be reached").await;

    let log = bridge.log();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(log.contains(r#""route":"command in path""#), "{log}");
    // The log says which Redis is away.
    let server = redis.address();
    assert!(log.contains(&format!(r#""{server}","reason""#)), "{log}");
    for secret in [TOKEN, READ_ONLY_TOKEN, "redis-secret", "wrong-secret", "the-key", "the-value"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test]
async fn requests_are_not_logged_unless_asked_for() {
    let mut bridge = Bridge::spawn().await;
    bridge.run(r#"["PING"]"#).await;
    bridge.signal("TERM").await;
    bridge.exit().await;
    bridge.until_logs("stopping").await;
    assert!(!bridge.log().contains("request"), "{}", bridge.log());
}
