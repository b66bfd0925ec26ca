//! Redis is away, comes back, or gives no answer.

use testkit::stack::RedisServer;

use crate::support::{Bridge, connect, is, says, until, until_busy};

const UNREACHABLE: &str =
    r#"{"error":"ERR Redis cannot be reached; nothing was executed","executed":false}"#;
const BROKEN: &str = r#"{"error":"ERR the connection to Redis was lost; whether the command was executed is unknown"}"#;
const LATE: &str =
    r#"{"error":"ERR Redis did not answer in time; whether the command was executed is unknown"}"#;

#[tokio::test]
async fn a_lost_redis_is_told_at_once_and_its_return_found_by_itself() {
    let mut redis = RedisServer::start(&[]);
    let bridge = Bridge::start(["--redis", &redis.url(), "--timeout", "600000"]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);

    redis.kill();
    until("the loss is noticed", async || {
        bridge.run(r#"["PING"]"#).await == (503, UNREACHABLE.to_owned())
    })
    .await;
    for path in ["/pipeline", "/multi-exec"] {
        is(bridge.ask(path, r#"[["PING"]]"#).await, 503, UNREACHABLE);
    }
    is(bridge.ask("/subscribe/c", "").await, 503, UNREACHABLE);
    let told = bridge.health().await;
    is(told, 503, r#"{"error":"ERR Redis does not answer"}"#);

    redis.restart().expect("it starts again");
    bridge.until_logs("redis is back").await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
    assert_eq!(bridge.ask("/multi-exec", r#"[["PING"]]"#).await.0, 200);
    assert_eq!(bridge.health().await.0, 200);
}

#[tokio::test]
async fn a_bridge_starts_without_redis_and_finds_it_later() {
    let mut redis = RedisServer::start(&[]);
    redis.kill();
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    is(bridge.run(r#"["PING"]"#).await, 503, UNREACHABLE);
    redis.restart().expect("it starts again");
    bridge.until_ping(200).await;
}

/// The outcome is unknown. The bridge does not say that nothing was executed, and does not try
/// again, since that would run in the new Redis.
#[tokio::test]
async fn a_command_in_flight_when_redis_dies_is_unknown_and_not_sent_again() {
    let mut redis = RedisServer::start(&["--busy-reply-threshold", "10"]);
    let bridge = Bridge::start(["--redis", &redis.url(), "--timeout", "600000"]).await;
    let endless = r#"["EVAL","redis.call('SET',KEYS[1],1) while true do end",1,"k"]"#;
    let asked = tokio::spawn(bridge.ask("/", endless));
    until_busy(&mut connect(&redis.url()).await).await;
    redis.kill();
    redis.restart().expect("it starts again");
    assert_eq!(asked.await.unwrap(), (503, BROKEN.to_owned()));
    bridge.until_ping(200).await;
    assert_eq!(bridge.run(r#"["EXISTS","k"]"#).await.1, r#"{"result":0}"#);
}

#[tokio::test]
async fn a_redis_that_hangs_is_not_waited_for_beyond_the_time_out() {
    let redis = RedisServer::start(&[]);
    let bridge = Bridge::start(["--redis", &redis.url(), "--timeout", "300"]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
    redis.freeze();
    let answers = futures_util::future::join_all((0..20).map(|_| bridge.run(r#"["PING"]"#)));
    for answer in answers.await {
        assert!(
            answer == (504, LATE.to_owned()) || answer == (503, UNREACHABLE.to_owned()),
            "{answer:?}"
        );
    }
    // By now the bridge has given the connection up: it refuses the next command before it sends
    // anything.
    until("the hang is known", async || {
        bridge.run(r#"["PING"]"#).await == (503, UNREACHABLE.to_owned())
    })
    .await;
    redis.wake();
    bridge.until_ping(200).await;
}

/// Redis quotes 128 bytes of the arguments of an unknown command, which here end in half an `é`.
/// Scripts may answer with any bytes.
#[tokio::test]
async fn one_clients_unreadable_error_costs_no_other_its_answer() {
    let bridge = Bridge::spawn().await;
    let before = bridge.run(r#"["CLIENT","ID"]"#).await;
    let unknown = format!(r#"["NOSUCH","x{}"]"#, "é".repeat(100));
    says(bridge.run(&unknown).await, 400, "éé\u{fffd}'");
    let (status, _) = bridge.run(r#"["EVAL","return redis.error_reply('\\255')",0]"#).await;
    assert_eq!(status, 400);
    let (status, _) = bridge.run(r#"["EVAL","return {ok='\\255'}",0]"#).await;
    assert_eq!(status, 200);
    // The connection is still the same.
    assert_eq!(bridge.run(r#"["CLIENT","ID"]"#).await, before);
}

#[tokio::test]
async fn a_connection_that_redis_closes_is_replaced() {
    let redis = RedisServer::start(&[]);
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    for _ in 0..5 {
        let (_, id) = bridge.run(r#"["CLIENT","ID"]"#).await;
        let id: String = id.chars().filter(char::is_ascii_digit).collect();
        // The bridge's connection is there to be closed.
        assert_eq!(redis.ask::<u64>(&format!("CLIENT KILL ID {id}")), 1);
        bridge.until_ping(200).await;
    }
}

#[tokio::test]
async fn why_redis_cannot_be_reached_is_in_the_log() {
    let redis = RedisServer::start(&[]);
    let mut only = connect(&redis.url()).await;
    let full =
        redis::cmd("CONFIG").arg("SET").arg("maxclients").arg("1").exec_async(&mut only).await;
    full.expect("a setting");
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    // If Redis closes a new connection before its reason was read, all that the bridge knows is
    // that it cannot be reached.
    until("it says when to come back", async || {
        let refused = bridge.post("/", r#"["PING"]"#).send().await.unwrap();
        assert_eq!(refused.status(), 503);
        let second = refused.headers().get("retry-after").cloned();
        let body = refused.text().await.unwrap();
        assert!(body.ends_with(r#"nothing was executed","executed":false}"#));
        second.is_some_and(|second| second == "1")
    })
    .await;
    bridge.until_logs("max number of clients reached").await;
    bridge.until_logs("see how many clients it has").await;
}
