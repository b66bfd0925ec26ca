//! Commands that would take the connection, or Redis itself, from everybody.

use reqwest::Method;

use super::{HonestClient, many};
use crate::support::{Bridge, READ_ONLY_TOKEN, TOKEN, answer, as_json, connect, counted, is, says};

/// Redis closes a connection on which it reads `POST` or `Host:`, to guard itself against HTTP.
#[tokio::test]
async fn nobody_can_have_redis_close_the_connection_that_others_share() {
    let bridge = Bridge::spawn().await;
    let beside = HonestClient::of(&bridge).await;
    for _ in 0..many(20) {
        for command in [r#"["POST"]"#, r#"["pOsT","/"]"#, r#"["hOsT:","x"]"#, r#"["HOST:"]"#] {
            says(bridge.run(command).await, 400, "is not served here");
            let list = format!("[{command}]");
            for path in ["/pipeline", "/multi-exec"] {
                let (_, body) = bridge.ask(path, list.clone()).await;
                assert!(body.contains("is not served here"), "{body}");
            }
        }
        for path in ["/POST", "/host%3A/x"] {
            let asked = bridge.request(Method::GET, path).bearer_auth(TOKEN);
            assert_eq!(answer(asked).await.0, 400);
        }
    }
    beside.got_all().await;
}

/// The options of `XREADGROUP` have no order, and a group or stream may be called like an option.
#[tokio::test]
async fn no_read_of_a_stream_blocks_however_it_is_written() {
    let bridge = Bridge::with(["--timeout", "2000"]).await;
    for group in ["g", "STREAMS", "BLOCK"] {
        let create = format!(r#"["XGROUP","CREATE","s","{group}","$","MKSTREAM"]"#);
        assert_eq!(bridge.run(&create).await.0, 200);
    }
    let beside = HonestClient::of(&bridge).await;
    for command in [
        "XREADGROUP BLOCK 0 GROUP g c STREAMS s >",
        "XREADGROUP GROUP STREAMS c BLOCK 0 STREAMS s >",
        "XREADGROUP GROUP g STREAMS BLOCK 0 STREAMS s >",
        "XREADGROUP NOACK block 0 COUNT 1 GROUP g c STREAMS s >",
        "XREADGROUP GROUP BLOCK c BLOCK 0 STREAMS s >",
        "XREADGROUP COUNT 7 GROUP STREAMS STREAMS NOACK BLOCK 0 STREAMS s >",
        "XREAD BLOCK 0 STREAMS s $",
        "XREAD COUNT 1 BLOCK 0 STREAMS s $",
    ] {
        let told = bridge.run(&as_json(command)).await;
        says(told, 400, "it blocks the connection");
    }
    beside.got_all().await;
    // Here `BLOCK` is only a name, so the command is allowed.
    for command in [
        "XREADGROUP GROUP STREAMS BLOCK STREAMS s >",
        "XREADGROUP GROUP BLOCK STREAMS NOACK STREAMS s >",
        "XREAD COUNT 1 STREAMS BLOCK 0",
    ] {
        let told = bridge.run(&as_json(command)).await;
        is(told, 200, r#"{"result":null}"#);
    }
}

/// Redis compares words as C does, up to the first NUL.
#[tokio::test]
async fn nothing_gets_past_the_bridge_behind_a_nul() {
    let args = ["--redis", "spawn", "--dangerous-commands"];
    let bridge = Bridge::start(args.into_iter().chain(["--timeout", "2000"])).await;
    let beside = HonestClient::of(&bridge).await;
    let refused = async |request: reqwest::RequestBuilder| {
        let (_, body) = answer(request).await;
        assert!(body.contains("is not served here"), "{body}");
    };
    for command in [
        r#"["POST\u0000"]"#,
        r#"["Host:\u0000x"]"#,
        r#"["multi\u0000"]"#,
        r#"["BLPOP\u0000","none",0]"#,
        r#"["WAIT\u0000",1,0]"#,
        r#"["\u0000"]"#,
        r#"["GET\u0000","beside"]"#,
        r#"["CLIENT","REPLY\u0000","OFF"]"#,
        r#"["SCRIPT","debug\u0000","YES"]"#,
        r#"["XREAD","block\u0000",0,"STREAMS","s","$"]"#,
        r#"["XREAD","COUNT\u0000","1","BLOCK",0,"STREAMS","s","$"]"#,
        r#"["XREADGROUP","GROUP\u0000","g","STREAMS","BLOCK\u0000x",0,"STREAMS","s",">"]"#,
    ] {
        let list = format!("[{command}]");
        refused(bridge.post("/", command)).await;
        refused(bridge.post("/pipeline", list.clone())).await;
        refused(bridge.post("/multi-exec", list)).await;
        let read_only = bridge.request(Method::POST, "/");
        refused(read_only.bearer_auth(READ_ONLY_TOKEN).body(command)).await;
    }
    for path in ["/POST%00", "/quit%00/x", "/XREAD/BLOCK%00/0/STREAMS/s/$"] {
        refused(bridge.request(Method::GET, path).bearer_auth(TOKEN)).await;
    }
    beside.got_all().await;
    // A NUL elsewhere means nothing.
    let command = r#"["SET","k\u0000","v\u0000"]"#;
    assert_eq!(bridge.run(command).await.0, 200);
}

/// Redis executes what it was sent, even if nobody waits for it any more.
#[tokio::test]
async fn a_pipeline_of_slow_commands_does_not_keep_redis_from_others() {
    // The credential that locks use may not run such commands.
    let bridge = Bridge::with(["--timeout", "1000", "--dangerous-commands"]).await;
    bridge.set("text", &"x".repeat(1500)).await;
    let beside = HonestClient::of(&bridge).await;
    let slow = vec![r#"["LCS","text","text","LEN"]"#; 1000].join(",");
    let told = bridge.read_only("/pipeline", format!("[{slow}]")).await;
    says(told, 504, "unknown");
    let calls = counted(&mut connect(&bridge.redis_url()).await, "lcs", "calls").await;
    assert!((1..1000).contains(&calls), "{calls}");
    beside.got_all().await;
}

/// Redis serves nobody else until the whole transaction is done, and nobody could end it.
#[tokio::test]
async fn a_transaction_of_slow_commands_does_not_keep_redis_from_others() {
    let bridge = Bridge::with(["--timeout", "1000"]).await;
    bridge.set("text", &"x".repeat(5000)).await;
    let beside = HonestClient::of(&bridge).await;
    let slow = |count| vec![r#"["LCS","text","text","LEN"]"#; count].join(",");
    for (count, expected) in [(many(200), (413, "too many commands")), (100, (400, "NOPERM"))] {
        let body = format!("[{}]", slow(count));
        let told = bridge.read_only("/multi-exec", body).await;
        says(told, expected.0, expected.1);
    }
    beside.got_all().await;
}
