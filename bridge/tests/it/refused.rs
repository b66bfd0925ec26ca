//! Commands that would harm others who use the bridge.

use crate::support::{Bridge, as_json, connect, is, until_blocked};

const REFUSED: &str = "\
    BLPOP k 0, brpop k 0, BRPOPLPUSH a b 0, BLMOVE a b LEFT LEFT 0, BLMPOP 0 1 k LEFT, \
    BZPOPMIN k 0, BZPOPMAX k 0, BZMPOP 0 1 k MIN, XREAD COUNT 1 block 0 STREAMS s $, \
    XREADGROUP GROUP g c BLOCK 0 STREAMS s >, WAIT 1 0, WAIT 0 60000, WAIT 1 5000, \
    WAITAOF 0 1 0, SUBSCRIBE c, PSUBSCRIBE c, SSUBSCRIBE c, UNSUBSCRIBE, PUNSUBSCRIBE, \
    SUNSUBSCRIBE, MULTI, EXEC, DISCARD, WATCH k, UNWATCH, SELECT 1, MOVE k 1, \
    COPY k l DB 1, copy k l replace db 1, AUTH x, HELLO 3, RESET, QUIT, MONITOR, SYNC, \
    PSYNC ? -1, REPLCONF ACK 0, ASKING, READONLY, READWRITE, CLIENT REPLY OFF, \
    client reply skip, CLIENT SETNAME x, CLIENT TRACKING ON, CLIENT KILL TYPE normal, \
    CLIENT PAUSE 1000, CLIENT NO-EVICT ON, SCRIPT DEBUG YES, SHUTDOWN NOSAVE, \
    DEBUG SLEEP 1, CONFIG SET maxclients 1, config get *, REPLICAOF NO ONE, \
    SLAVEOF NO ONE, FAILOVER, CLUSTER RESET, ACL SETUSER x, MODULE LIST, \
    MIGRATE h 1 k 0 1, SAVE, BGSAVE, BGREWRITEAOF, SWAPDB 0 1";

#[tokio::test]
async fn commands_that_block_change_the_connection_or_administer_are_refused() {
    let bridge = Bridge::spawn().await;
    for command in REFUSED.split(", ") {
        let (status, body) = bridge.run(&as_json(command)).await;
        assert_eq!(status, 400, "{command}");
        assert!(
            body.contains(" is not served here: ")
                || body.contains("a wait for replicas must last"),
            "{command}: {body}"
        );
    }
    // None of them affected the next command: nothing is queued, muted, or in another database.
    let (_, body) = bridge.run(r#"["SET","k","v"]"#).await;
    assert_eq!(body, r#"{"result":"OK"}"#);
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
}

#[tokio::test]
async fn their_harmless_relatives_are_not() {
    let bridge = Bridge::spawn().await;
    for (command, expected) in [
        (r#"["WAIT",0,100]"#, r#"{"result":0}"#),
        (r#"["CLIENT","GETNAME"]"#, r#"{"result":null}"#),
        (r#"["LPOP","none"]"#, r#"{"result":null}"#),
        (r#"["WAIT","x","y"]"#, r#"{"error":"ERR value is not an integer or out of range"}"#),
    ] {
        assert_eq!(bridge.run(command).await.1, expected, "{command}");
    }
    assert_eq!(bridge.run(r#"["CLIENT","ID"]"#).await.0, 200);
}

#[tokio::test]
async fn a_wait_for_replicas_counts_the_writes_before_it() {
    let bridge = Bridge::spawn().await;
    let body = r#"[["SET","k","v"],["WAIT",1,10],["GET","k"]]"#;
    let expected = r#"[{"result":"OK"},{"result":0},{"result":"v"}]"#;
    is(bridge.ask("/pipeline", body).await, 200, expected);
}

/// `WAIT` keeps its connection until replicas answer, and here there are none.
#[tokio::test]
async fn a_wait_for_replicas_holds_up_nobody_else() {
    let bridge = Bridge::with(["--timeout", "600000"]).await;
    let body = r#"[["SET","k","v"],["WAIT",1,500000]]"#;
    let waiting = tokio::spawn(bridge.ask("/pipeline", body));
    let mut direct = connect(&bridge.redis_url()).await;
    until_blocked(&mut direct).await;
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
    assert!(!waiting.is_finished());
}
