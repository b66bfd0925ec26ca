//! Replies that the bridge could not read, or not hold.

use reqwest::Method;

use super::{Beside, many};
use crate::support::{Bridge, READ_ONLY_TOKEN, TOKEN, answer};

/// The Redis library gives a connection up on which it reads one.
#[tokio::test]
async fn a_reply_that_is_nested_too_deep_costs_nobody_else_anything() {
    let bridge = Bridge::start(["--redis", "spawn", "--read-only-scripts"]).await;
    let beside = Beside::of(&bridge).await;
    let deep = "local t = 1 for _ = 1, 130 do t = {t} end return t";
    for _ in 0..many(50) {
        for (token, command) in [(READ_ONLY_TOKEN, "EVAL_RO"), (TOKEN, "EVAL")] {
            let body = format!(r#"["{command}","{deep}",0]"#);
            let asked = bridge.request(Method::POST, "/").bearer_auth(token);
            let (status, body) = answer(asked.body(body)).await;
            assert!(status == 400 && body.contains("TOODEEP"), "{body}");
        }
        let body = format!(r#"[["ECHO","a"],["EVAL","{deep}",0],["ECHO","b"]]"#);
        let (_, body) = answer(bridge.post("/pipeline", body)).await;
        assert!(
            body.starts_with(r#"[{"result":"a"},{"error":"TOODEEP "#),
            "{body}"
        );
        assert!(body.ends_with(r#",{"result":"b"}]"#), "{body}");
    }
    beside.got_all().await;
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_not_held_and_costs_nobody_else_anything() {
    let options = ["--max-reply", "1000000", "--timeout", "600000"];
    let bridge = Bridge::start(["--redis", "spawn"].into_iter().chain(options)).await;
    let beside = Beside::of(&bridge).await;
    let before = bridge.memory();
    for script in [
        "return string.rep(string.rep('x', 10000), 2000)",
        "return {ok = string.rep(string.rep('x', 10000), 500)}",
        "local t = {} for n = 1, 100000 do t[n] = n end return t",
    ] {
        let (status, body) = bridge.run(&format!(r#"["EVAL","{script}",0]"#)).await;
        let said = &body[..body.len().min(200)];
        assert!(
            status == 400 && said.contains("TOOLARGE"),
            "{script}: {said}"
        );
    }
    beside.got_all().await;
    let grown = bridge.memory() - before;
    assert!(grown < 15_000_000, "{grown}");
    let (status, body) = bridge
        .run(r#"["EVAL","return string.rep('x', 999000)",0]"#)
        .await;
    assert_eq!((status, body.len()), (200, 999_013));
}
