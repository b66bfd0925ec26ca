//! Scripts written for Upstash.

use std::ops::RangeInclusive;

use sha1::{Digest as _, Sha1};

use crate::support::{Bridge, connect, counted, is, says};

const SCRIPT: &str = "#!lua flags=allow-key-locking\nreturn KEYS[1]";
const NOSCRIPT: &str = r#"{"error":"NOSCRIPT No matching script. Please use EVAL."}"#;

fn sha(script: &str) -> String {
    Sha1::digest(script).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json(script: &str) -> String {
    serde_json::to_string(script).unwrap()
}

#[tokio::test]
async fn a_flagged_script_runs_and_is_known_by_its_own_sha() {
    let bridge = Bridge::with(["--dangerous-commands"]).await;
    let evalsha = format!(r#"["EVALSHA","{}",1,"k"]"#, sha(SCRIPT).to_uppercase());
    assert_eq!(bridge.run(&evalsha).await, (400, NOSCRIPT.to_owned()));
    let (_, body) = bridge.run(&format!(r#"["EVAL",{},1,"k"]"#, json(SCRIPT))).await;
    assert_eq!(body, r#"{"result":"k"}"#);
    assert_eq!(bridge.run(&evalsha).await.1, r#"{"result":"k"}"#);
    let exists = format!(r#"["SCRIPT","EXISTS","{}","{}"]"#, sha(SCRIPT), sha("x"));
    assert_eq!(bridge.run(&exists).await.1, r#"{"result":[1,0]}"#);

    // When Redis forgets a script, the bridge does too.
    bridge.run(r#"["SCRIPT","FLUSH"]"#).await;
    assert_eq!(bridge.run(&evalsha).await, (400, NOSCRIPT.to_owned()));
}

#[tokio::test]
async fn loading_a_flagged_script_answers_with_its_own_sha() {
    let bridge = Bridge::spawn().await;
    let load = format!(r#"["script","load",{}]"#, json(SCRIPT));
    let (_, body) = bridge.run(&load).await;
    assert_eq!(body, format!(r#"{{"result":"{}"}}"#, sha(SCRIPT)));
    let transaction = format!(r#"[{load},["evalsha","{}",1,"k"]]"#, sha(SCRIPT));
    let expected = format!(r#"[{{"result":"{}"}},{{"result":"k"}}]"#, sha(SCRIPT));
    for path in ["/pipeline", "/multi-exec"] {
        is(bridge.ask(path, transaction.clone()).await, 200, &expected);
    }
    // For a script that does not compile there is no SHA-1 to answer with.
    let broken = json("#!lua flags=allow-key-locking\nreturn (");
    let told = bridge.run(&format!(r#"["SCRIPT","LOAD",{broken}]"#)).await;
    says(told, 400, "Error compiling script");
}

#[tokio::test]
async fn other_flags_and_other_scripts_stay_as_they_are() {
    let bridge = Bridge::spawn().await;
    let write = "redis.call('SET',KEYS[1],1) return redis.call('GET',KEYS[1])";
    let read_only = "Write commands are not allowed from read-only scripts";
    for (line, outcome) in [
        ("#!lua flags=allow-key-locking,no-writes", read_only),
        ("#!lua flags=no-writes,allow-key-locking", read_only),
        ("#!lua flags=no-writes", read_only),
        ("#!lua   flags=allow-key-locking", r#"{"result":"1"}"#),
        ("#!lua", r#"{"result":"1"}"#),
        ("#!lua flags=nonsense", "Unexpected flag in script shebang: nonsense"),
        ("-- #!lua flags=allow-key-locking", r#"{"result":"1"}"#),
        ("", r#"{"result":"1"}"#),
    ] {
        let script = json(&format!("{line}\n{write}"));
        let (_, body) = bridge.run(&format!(r#"["EVAL",{script},1,"k"]"#)).await;
        assert!(body.contains(outcome), "{line}: {body}");
    }
    let third = json("#!lua flags=allow-key-locking\n\nerror('here')");
    let third = bridge.run(&format!(r#"["EVAL",{third},0]"#)).await;
    says(third, 400, "user_script:3: here");
}

const COUNT: &str = r#"["EVAL","return redis.call('INCR',KEYS[1])",1,"k"]"#;

/// Each of these runs counts once.
async fn counts(bridge: &Bridge, runs: RangeInclusive<u64>) {
    for times in runs {
        let (_, answer) = bridge.run(COUNT).await;
        assert_eq!(answer, format!(r#"{{"result":{times}}}"#));
    }
}

#[tokio::test]
async fn a_script_that_ran_before_goes_to_redis_without_its_text() {
    let bridge = Bridge::with(["--dangerous-commands"]).await;
    let mut direct = connect(&bridge.redis_url()).await;
    counts(&bridge, 1..=5).await;
    assert_eq!(counted(&mut direct, "eval", "calls").await, 1);
    // It runs once, also if Redis has forgotten it.
    bridge.run(r#"["SCRIPT","FLUSH"]"#).await;
    counts(&bridge, 6..=7).await;
    assert_eq!(counted(&mut direct, "eval", "calls").await, 2);
}

#[tokio::test]
async fn a_script_that_says_that_redis_does_not_know_it_runs_once() {
    let bridge = Bridge::spawn().await;
    let run = async |says: &str| {
        let script =
            "redis.call('INCR',KEYS[1]) if ARGV[1]=='' then return 1 end return {err=ARGV[1]}";
        let eval = format!(r#"["EVAL","{script}",1,"k","{says}"]"#);
        bridge.run(&eval).await
    };
    for says in ["", "", "NOSCRIPT of my own", "NOPERM of my own", ""] {
        run(says).await;
    }
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"5"}"#);
}

#[tokio::test]
async fn a_user_who_may_not_send_evalsha_may_send_eval() {
    let bridge = Bridge::with(["--dangerous-commands"]).await;
    let mut direct = connect(&bridge.redis_url()).await;
    let mut forbid = redis::cmd("ACL");
    forbid.arg("SETUSER").arg("default").arg("-evalsha");
    let _: () = forbid.query_async(&mut direct).await.unwrap();
    counts(&bridge, 1..=3).await;
}
