//! What Redis refuses because of its present state, and what only sounds like that.

use std::time::Duration;

use reqwest::Method;
use testkit::stack::RedisServer;

use crate::support::{
    Bridge, READ_ONLY_TOKEN, answer, connect, counted, refused_for_now, until, until_busy,
};

/// Nothing was executed, and it is worth asking again.
#[tokio::test]
async fn what_redis_cannot_do_now_is_unavailable_with_when_to_come_back() {
    let redis = RedisServer::start(&[]);
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    assert_eq!(bridge.run(r#"["SET","k","v"]"#).await.0, 200);
    redis.limit_memory("1").expect("a setting");
    // Redis refuses a transaction when its command is queued.
    for (path, request) in
        [("/", r#"["SET","k","w"]"#), ("/multi-exec", r#"[["GET","k"],["SET","k","w"]]"#)]
    {
        let body = refused_for_now(bridge.post(path, request)).await;
        assert!(body.starts_with(r#"{"error":"OOM "#), "{body}");
    }
    // Reads are still served.
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
}

#[tokio::test]
async fn a_valkey_that_is_busy_is_unavailable_as_a_redis_is() {
    let valkey = testkit::paths::valkey_server().expect("`cargo xtask setup` installs it");
    let bridge = Bridge::start(["--redis", &format!("spawn:{}", valkey.display())]).await;
    let endless = r#"["EVAL","redis.call('SET','k',1) while true do end",0]"#;
    let endless = bridge.post("/", endless).timeout(Duration::from_secs(1));
    assert!(endless.send().await.is_err());
    bridge.until_ping(503).await;
    let body = refused_for_now(bridge.post("/", r#"["PING"]"#)).await;
    assert!(body.starts_with(r#"{"error":"BUSY Valkey is busy "#), "{body}");
}

/// A Redis that another program's script keeps busy, until `SCRIPT KILL`.
async fn busy(redis: &RedisServer) {
    let mut other = connect(&redis.url()).await;
    tokio::spawn(async move {
        let mut theirs = redis::cmd("EVAL");
        theirs.arg("while true do end").arg(0);
        // The client stops waiting before that, and the script goes on.
        let _ = theirs.exec_async(&mut other).await;
    });
    until_busy(&mut connect(&redis.url()).await).await;
}

async fn is_free_again(redis: &RedisServer) {
    let mut direct = connect(&redis.url()).await;
    redis.ask::<()>("SCRIPT KILL");
    until("it has ended", async || {
        let pong = redis::cmd("PING").exec_async(&mut direct).await;
        pong.is_ok()
    })
    .await;
}

const QUICKLY_BUSY: [&str; 2] = ["--lua-time-limit", "10"];

/// A client that is told 400 would conclude that there is nothing to listen to, or that it may not
/// read.
#[tokio::test]
async fn whatever_is_asked_of_a_busy_redis_is_unavailable_with_when_to_come_back() {
    let redis = RedisServer::start(&QUICKLY_BUSY);
    let listens = Bridge::start(["--redis", &redis.url()]).await;
    let mut stream = listens.post("/subscribe/other", "").send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let database = format!("{}/1", redis.url());
    let fresh = Bridge::start(["--redis", &database]).await;
    busy(&redis).await;
    for bridge in [&listens, &fresh] {
        let read = bridge.request(Method::POST, "/").bearer_auth(READ_ONLY_TOKEN);
        for asked in [
            bridge.post("/subscribe/c", ""),
            bridge.post("/psubscribe/c*", ""),
            bridge.post("/", r#"["GET","k"]"#),
            bridge.post("/", r#"["EVAL","return 1",0]"#),
            bridge.post("/multi-exec", r#"[["GET","k"]]"#),
            read.body(r#"["GET","k"]"#),
        ] {
            refused_for_now(asked).await;
        }
    }
    is_free_again(&redis).await;
    until("it is listened to", async || {
        let asked = listens.post("/subscribe/c", "").send().await;
        asked.unwrap().status() == 200
    })
    .await;
}

/// A release hands its lock to a waiter whose subscription Redis still counts.
#[tokio::test]
async fn a_listener_that_goes_while_redis_is_busy_is_forgotten_all_the_same() {
    let redis = RedisServer::start(&QUICKLY_BUSY);
    let metrics = ["--metrics-credential", "the-credential-of-metrics"];
    let args = ["--redis".to_owned(), redis.url()].into_iter();
    let bridge = Bridge::start(args.chain(metrics.map(str::to_owned))).await;
    let mut stays = bridge.post("/subscribe/stays", "").send().await.unwrap();
    assert!(stays.chunk().await.unwrap().is_some());
    let mut goes = bridge.post("/subscribe/goes", "").send().await.unwrap();
    assert!(goes.chunk().await.unwrap().is_some());
    busy(&redis).await;
    drop(goes);
    until("the bridge knows", async || {
        let read = bridge.request(Method::GET, "/metrics");
        let (_, page) = answer(read.bearer_auth(metrics[1])).await;
        page.contains("edgelock_bridge_streams 1")
    })
    .await;
    for _ in 0..10 {
        assert_eq!(bridge.run(r#"["PING"]"#).await.0, 503);
    }
    is_free_again(&redis).await;
    let mut direct = connect(&redis.url()).await;
    assert!(counted(&mut direct, "unsubscribe", "rejected_calls").await > 0);
    for (channel, heard) in [("goes", "0"), ("stays", "1")] {
        until(channel, async || {
            let publish = format!(r#"["PUBLISH","{channel}","x"]"#);
            bridge.run(&publish).await.1 == format!(r#"{{"result":{heard}}}"#)
        })
        .await;
    }
}

/// The script may have written before, so its words must not be read as "nothing was executed".
#[tokio::test]
async fn what_a_script_says_in_the_words_of_redis_is_its_own() {
    let bridge = Bridge::spawn().await;
    for said in [
        "BUSY of mine",
        "BUSY is busy running a script",
        "OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:1.",
        // What `redis.pcall` tells a script in an older Redis.
        "OOM command not allowed when used memory > 'maxmemory'.",
        "ERR max of mine",
    ] {
        let script = "return redis.error_reply(ARGV[1])";
        let command = serde_json::to_string(&["EVAL", script, "0", said]).unwrap();
        let (status, body) = bridge.run(&command).await;
        assert!(status == 400 && !body.contains("executed"), "{said}: {status} {body}");
    }
}
