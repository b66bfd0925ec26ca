//! Upstash's dialect, byte for byte.

use crate::support::{Bridge, answer};

/// Commands in order, each with the status and the body of its answer. Numbers keep every digit,
/// and errors are as Redis sent them.
const REPLIES: &str = r##"
["SET","k","v"] 200 {"result":"OK"}
["get","k"] 200 {"result":"v"}
["GET","none"] 200 {"result":null}
["PING"] 200 {"result":"PONG"}
["ECHO",""] 200 {"result":""}
["ECHO","tök \"\\\n\u0001<&>"] 200 {"result":"tök \"\\\n\u0001<&>"}
["ECHO","\ud83d\ude00"] 200 {"result":"😀"}
["EVAL","return '\\255\\0a'",0] 200 {"result":"�\u0000a"}
["EVAL","return {1,{2,'x',{4}},{ok='OK'},{ok='FINE'},false,{},'y'}",0] 200 {"result":[1,[2,"x",[4]],"OK","FINE",null,[],"y"]}
["SET","n",9007199254740993] 200 {"result":"OK"}
["INCRBY","n",2] 200 {"result":9007199254740995}
["INCRBY","max",9223372036854775807] 200 {"result":9223372036854775807}
["INCRBY","min",-9223372036854775808] 200 {"result":-9223372036854775808}
["ECHO",1.50] 200 {"result":"1.50"}
[ "ECHO" , -1e+06 ] 200 {"result":"-1e+06"}
["ECHO",true] 200 {"result":"true"}
["EVALSHA","ffffffffffffffffffffffffffffffffffffffff",0] 400 {"error":"NOSCRIPT No matching script. Please use EVAL."}
["LPUSH","k","v"] 400 {"error":"WRONGTYPE Operation against a key holding the wrong kind of value"}
["GET"] 400 {"error":"ERR wrong number of arguments for 'get' command"}
["EVAL","return redis.error_reply('MOVED 1 127.0.0.1:7000')",0] 400 {"error":"MOVED 1 127.0.0.1:7000"}
["EVAL","return redis.error_reply('MYERR  two blanks: café ')",0] 400 {"error":"MYERR  two blanks: café "}
["EVAL","return {1,{redis.error_reply('MYERR in a list')}}",0] 200 {"result":[1,[{"error":"MYERR in a list"}]]}
["NOSUCH","x"] 400 {"error":"ERR unknown command 'NOSUCH', with args beginning with: 'x' "}
"##;

#[tokio::test]
async fn every_kind_of_reply_has_its_shape() {
    let bridge = Bridge::spawn().await;
    for line in REPLIES.trim().lines() {
        let split = |status| Some((line.split_once(&format!(" {status} "))?, status));
        let found = split(200).or_else(|| split(400));
        let ((command, body), status) = found.expect("a status");
        assert_eq!(bridge.run(command).await, (status, body.to_owned()));
    }
}

/// Only `OK` stays as it is. Numbers, nil and errors are not strings.
#[tokio::test]
async fn base64_keeps_every_byte_of_every_string() {
    let bridge = Bridge::spawn().await;
    for (command, body) in [
        (r#"["SET","k","tök1"]"#, r#"{"result":"OK"}"#),
        (r#"["GET","k"]"#, r#"{"result":"dMO2azE="}"#),
        (r#"["GET","none"]"#, r#"{"result":null}"#),
        (r#"["STRLEN","k"]"#, r#"{"result":5}"#),
        (r#"["PING"]"#, r#"{"result":"UE9ORw=="}"#),
        (r#"["ECHO",""]"#, r#"{"result":""}"#),
        (r#"["EVAL","return '\\255\\0a'",0]"#, r#"{"result":"/wBh"}"#),
        (
            r#"["EVAL","return {1,{2,'three',{4}},{ok='OK'},{ok='FINE'},false,'tail'}",0]"#,
            r#"{"result":[1,[2,"dGhyZWU=",[4]],"T0s=","RklORQ==",null,"dGFpbA=="]}"#,
        ),
        (
            r#"["LPUSH","k","v"]"#,
            r#"{"error":"WRONGTYPE Operation against a key holding the wrong kind of value"}"#,
        ),
    ] {
        let request = bridge.post("/", command).header("Upstash-Encoding", "base64");
        assert_eq!(answer(request).await.1, body, "{command}");
    }
    let pipeline = r#"[["GET","k"],["GET","none"],["SET","k","OK"],["GET","k"]]"#;
    let expected = r#"[{"result":"dMO2azE="},{"result":null},{"result":"OK"},{"result":"T0s="}]"#;
    for path in ["/pipeline", "/multi-exec"] {
        bridge.run(r#"["SET","k","tök1"]"#).await;
        let request = bridge.post(path, pipeline).header("upstash-encoding", "base64");
        assert_eq!(answer(request).await.1, expected, "{path}");
    }
}

#[tokio::test]
async fn what_is_no_command_is_told_so() {
    let bridge = Bridge::spawn().await;
    let array = "ERR the body must be a JSON array: a command and its arguments";
    let arrays = "ERR the body must be a JSON array of arrays: one for each command";
    let scalar = "ERR arguments must be strings, numbers or booleans, not null, arrays or objects";
    for (path, body, error) in [
        ("/", "", array),
        ("/", "{}", array),
        ("/", "\"PING\"", array),
        ("/", "[\"PING\"", array),
        ("/", "[\"PING\"] x", array),
        ("/", "[\"PING\", 01]", array),
        ("/", "[]", "ERR empty command"),
        ("/", "[[\"PING\"]]", scalar),
        ("/", "[\"SET\",\"k\",null]", scalar),
        ("/", "[\"SET\",\"k\",{}]", scalar),
        ("/", "[\"SET\",\"k\",\"\\ud800\"]", "ERR a string of the command is not valid JSON"),
        ("/pipeline", "[\"PING\"]", arrays),
        ("/pipeline", "[[\"SET\",\"k\",1],[]]", "ERR empty command"),
        ("/multi-exec", "{}", arrays),
        ("/multi-exec", "[[\"SET\",\"k\",1],[[]]]", scalar),
    ] {
        let expected = (400, format!("{{\"error\":\"{error}\"}}"));
        assert_eq!(bridge.ask(path, body).await, expected, "{path} {body}");
    }
    let broken = bridge.post("/", &b"[\"SET\",\"k\",\"\xff\"]"[..]);
    assert_eq!(answer(broken).await.0, 400);
    assert_eq!(bridge.run(r#"["EXISTS","k"]"#).await.1, r#"{"result":0}"#);
}

const WRONGTYPE: &str =
    r#"{"error":"WRONGTYPE Operation against a key holding the wrong kind of value"}"#;
const UNKNOWN: &str = "ERR unknown command 'NOSUCH', with args beginning with: ";
const MULTI: &str = r#"{"error":"ERR 'MULTI' is not served here: use /multi-exec"}"#;

#[tokio::test]
async fn a_pipeline_answers_each_command_in_order() {
    let bridge = Bridge::spawn().await;
    for (body, expected) in [
        ("[]", "[]".to_owned()),
        (r#"[["MULTI"],["MULTI"]]"#, format!("[{MULTI},{MULTI}]")),
        (
            r#"[["SET","k",1],["LPUSH","k",2],["NOSUCH"],["MULTI"],["INCR","k"]]"#,
            format!(
                r#"[{{"result":"OK"}},{WRONGTYPE},{{"error":"{UNKNOWN}"}},{MULTI},{{"result":2}}]"#
            ),
        ),
    ] {
        let asked = bridge.ask("/pipeline", body).await;
        assert_eq!(asked, (200, expected), "{body}");
    }
}

#[tokio::test]
async fn a_transaction_runs_as_a_whole_or_not_at_all() {
    let bridge = Bridge::spawn().await;
    let aborted = "EXECABORT Transaction discarded because of: ";
    for (body, status, expected) in [
        ("[]", 200, "[]".to_owned()),
        (
            r#"[["SET","k",1],["NOSUCH"],["SET","k",2]]"#,
            400,
            format!(r#"{{"error":"{aborted}{UNKNOWN}"}}"#),
        ),
        (r#"[["SET","k",1],["MULTI"]]"#, 400, MULTI.to_owned()),
        (r#"[["EXISTS","k"]]"#, 200, r#"[{"result":0}]"#.to_owned()),
        (
            r#"[["SET","k",1],["LPUSH","k",2],["INCR","k"]]"#,
            200,
            format!(r#"[{{"result":"OK"}},{WRONGTYPE},{{"result":2}}]"#),
        ),
    ] {
        let asked = bridge.ask("/multi-exec", body).await;
        assert_eq!(asked, (status, expected), "{body}");
    }
}

/// Two clients that count in transactions lose increments if other commands come between.
#[tokio::test]
async fn transactions_do_not_mix() {
    let bridge = Bridge::spawn().await;
    let count = r#"[["INCR","n"],["INCR","n"]]"#;
    let counts = (0..50).map(|_| bridge.ask("/multi-exec", count));
    for (_, body) in futures_util::future::join_all(counts).await {
        let results: Vec<u64> =
            body.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        assert!(matches!(results[..], [first, second] if second == first + 1), "{body}");
    }
}
