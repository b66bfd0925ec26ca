//! What a credential may do, and what it may not do even by a script.

use std::time::Duration;

use testkit::stack::{LatencyProxy, RedisServer};

use super::executed_nothing;
use crate::support::{Bridge, says};

/// A command that runs `redis.call` with these words.
fn script(words: &str) -> String {
    let words: Vec<_> = words.split(' ').map(|word| format!("'{word}'")).collect();
    let script = format!("return redis.call({})", words.join(","));
    serde_json::to_string(&["EVAL", &script, "0"]).expect("text")
}

/// The number of a database separates nothing, unless Redis itself enforces it.
#[tokio::test]
async fn no_script_leaves_its_database_or_reaches_other_servers() {
    let bridge = Bridge::spawn().await;
    for words in [
        "SELECT 1",
        "SWAPDB 0 1",
        "MOVE k 1",
        "COPY k l DB 1",
        "MIGRATE 127.0.0.1 1 k 0 10",
        "FLUSHALL",
        "FLUSHDB",
        "FUNCTION FLUSH",
        "SLOWLOG RESET",
        "CONFIG SET maxmemory 1",
        "ACL LIST",
        "KEYS *",
        "DEBUG OBJECT k",
        "CLIENT LIST",
        "REPLICAOF NO ONE",
    ] {
        let (status, body) = bridge.run(&script(words)).await;
        assert!(
            status == 400
                && (body.contains("can't run this command")
                    || body.contains("not allowed from script")),
            "{words}: {status} {body}"
        );
    }
    // What locks need, and what most applications need beside them, is allowed.
    for words in ["INFO server", "TIME", "SET k v", "PUBLISH c m", "PUBSUB NUMSUB c"] {
        let (status, body) = bridge.run(&script(words)).await;
        assert_eq!(status, 200, "{words}: {body}");
    }
}

#[tokio::test]
async fn commands_that_throw_away_what_others_have_are_served_where_the_operator_says_so() {
    let commands = [
        r#"["FLUSHALL"]"#,
        r#"["flushdb"]"#,
        r#"["SCRIPT","FLUSH"]"#,
        r#"["FUNCTION","FLUSH"]"#,
        r#"["SLOWLOG","RESET"]"#,
        r#"["LATENCY","RESET"]"#,
        r#"["MEMORY","PURGE"]"#,
    ];
    let bridge = Bridge::spawn().await;
    let dangerous = Bridge::with(["--dangerous-commands"]).await;
    for command in commands {
        let told = bridge.run(command).await;
        says(told, 400, "it needs --dangerous-commands");
        let (status, body) = dangerous.run(command).await;
        assert_eq!(status, 200, "{command}: {body}");
    }
    // Valkey's name of the slow log. Redis does not know it.
    let (_, body) = bridge.run(r#"["COMMANDLOG","RESET","slow"]"#).await;
    assert!(body.contains("it needs --dangerous-commands"), "{body}");
    for command in [
        r#"["SCRIPT","EXISTS","x"]"#,
        r#"["SCRIPT","LOAD","return 1"]"#,
        r#"["MEMORY","USAGE","k"]"#,
    ] {
        let (status, body) = bridge.run(command).await;
        assert_eq!(status, 200, "{command}: {body}");
    }
}

#[test]
fn the_user_that_the_docs_have_operators_set_up_is_the_one_that_is_tried_here() {
    let shipped = include_str!("../../../redis/edgelock.acl").trim();
    assert!(include_str!("../../../../docs/bridges.md").contains(shipped));
}

/// The bridge asks Redis about each that does more than read.
#[tokio::test]
async fn whoever_may_only_read_has_no_more_time_than_others() {
    let redis = RedisServer::start(&[]);
    let far = LatencyProxy::open(redis.address(), Duration::from_millis(200)).expect("a port");
    let url = format!("redis://{}", far.address());
    let bridge = Bridge::start(["--redis", &url, "--timeout", "1000"]).await;
    for path in ["/pipeline", "/multi-exec"] {
        let writes = [r#"["SET","k","v"]"#; 20].join(",");
        let told = bridge.read_only(path, format!("[{writes}]")).await;
        assert!(executed_nothing(&told), "{told:?}");
    }
}
