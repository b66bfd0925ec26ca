//! What Redis refuses because of its present state, and what only sounds like that.

use std::ffi::OsStr;
use std::time::Duration;

use crate::support::{Bridge, Redis, header, until};

/// Nothing was executed, and it is worth asking again.
#[tokio::test]
async fn what_redis_cannot_do_now_is_unavailable_with_when_to_come_back() {
    let redis = Redis::start().await;
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    assert_eq!(bridge.run(r#"["SET","k","v"]"#).await.0, 200);
    let mut direct = redis.connect().await;
    redis::cmd("CONFIG")
        .arg("SET")
        .arg("maxmemory")
        .arg("1")
        .exec_async(&mut direct)
        .await
        .expect("a setting");
    // Redis refuses a transaction when its command is queued.
    for (path, request) in [
        ("/", r#"["SET","k","w"]"#),
        ("/multi-exec", r#"[["GET","k"],["SET","k","w"]]"#),
    ] {
        let refused = bridge.post(path, request).send().await.unwrap();
        assert_eq!(refused.status(), 503);
        assert_eq!(header(&refused, "retry-after"), "1");
        let body = refused.text().await.unwrap();
        assert!(
            body.starts_with(r#"{"error":"OOM "#) && body.ends_with(r#","executed":false}"#),
            "{body}"
        );
    }
    // Reads are still served.
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
}

#[tokio::test]
async fn a_valkey_that_is_busy_is_unavailable_as_a_redis_is() {
    let valkey = xtask::paths::valkey_server().expect("`cargo xtask setup` installs it");
    let spawn = ["--redis", "spawn", "--redis-server"].map(OsStr::new);
    let bridge = Bridge::start(spawn.into_iter().chain([valkey.as_os_str()])).await;
    let endless = r#"["EVAL","redis.call('SET','k',1) while true do end",0]"#;
    let endless = bridge.post("/", endless).timeout(Duration::from_secs(1));
    assert!(endless.send().await.is_err());
    let busy = async || bridge.post("/", r#"["PING"]"#).send().await.unwrap();
    let mut refused = busy().await;
    until("it is busy", async || {
        refused = busy().await;
        refused.status() != 200
    })
    .await;
    assert_eq!(refused.status(), 503);
    assert_eq!(header(&refused, "retry-after"), "1");
    let body = refused.text().await.unwrap();
    assert!(
        body.starts_with(r#"{"error":"BUSY Valkey is busy "#)
            && body.ends_with(r#","executed":false}"#),
        "{body}"
    );
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
        assert!(
            status == 400 && !body.contains("executed"),
            "{said}: {status} {body}"
        );
    }
}
