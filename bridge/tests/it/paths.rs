//! Commands in the path of a URL.

use reqwest::Method;

use crate::support::{Bridge, TOKEN, answer};

#[tokio::test]
async fn a_path_is_a_command() {
    let bridge = Bridge::spawn().await;
    for (method, path, body, expected) in [
        (
            Method::GET,
            "/set/k/hello%20w+%C3%B6rld",
            "",
            r#"{"result":"OK"}"#,
        ),
        (Method::GET, "/get/k", "", r#"{"result":"hello w+örld"}"#),
        (Method::PUT, "/SET/k/v?EX=100&NX", "", r#"{"result":null}"#),
        (
            Method::POST,
            "/SET/k/v?EX=100&XX=",
            "",
            r#"{"result":"OK"}"#,
        ),
        (Method::GET, "/ttl/k", "", r#"{"result":100}"#),
        // The body is an argument, after those of the path and before those of the query.
        (
            Method::POST,
            "/set/k?EX=50",
            "a/b ?=\u{0}",
            r#"{"result":"OK"}"#,
        ),
        (Method::GET, "/get/k", "", r#"{"result":"a/b ?=\u0000"}"#),
        (Method::GET, "/ttl/k", "", r#"{"result":50}"#),
        (
            Method::GET,
            "/get/k",
            "not looked at",
            r#"{"result":"a/b ?=\u0000"}"#,
        ),
        // An escaped slash is part of an argument, and an empty segment is an empty argument.
        (Method::GET, "/echo/a%2Fb", "", r#"{"result":"a/b"}"#),
        (Method::GET, "/echo/", "", r#"{"result":""}"#),
        (
            Method::GET,
            "/publish/channel/message",
            "",
            r#"{"result":0}"#,
        ),
        (
            Method::GET,
            "/mget/k/none",
            "",
            r#"{"result":["a/b ?=\u0000",null]}"#,
        ),
    ] {
        let request = bridge
            .request(method.clone(), path)
            .bearer_auth(TOKEN)
            .body(body);
        assert_eq!(
            answer(request).await,
            (200, expected.to_owned()),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_arrive() {
    let bridge = Bridge::spawn().await;
    assert_eq!(
        answer(bridge.post("/set/%FF%00", &b"\xfe\x00"[..])).await.0,
        200
    );
    let request = bridge
        .post("/get/%ff%00", "")
        .header("Upstash-Encoding", "base64");
    assert_eq!(answer(request).await.1, r#"{"result":"/gA="}"#);
}

#[tokio::test]
async fn errors_have_the_same_status_as_elsewhere() {
    let bridge = Bridge::spawn().await;
    for (path, error) in [
        ("/get", "ERR wrong number of arguments for 'get' command"),
        (
            "/nosuch/a",
            "ERR unknown command 'nosuch', with args beginning with: 'a' ",
        ),
        (
            "/select/1",
            "ERR 'SELECT' is not served here: it changes the state of a connection that others share",
        ),
    ] {
        let request = bridge.request(Method::GET, path).bearer_auth(TOKEN);
        assert_eq!(
            answer(request).await,
            (400, format!("{{\"error\":\"{error}\"}}")),
            "{path}"
        );
    }
    let root = bridge.request(Method::GET, "/").bearer_auth(TOKEN);
    assert_eq!(
        answer(root).await,
        (400, r#"{"error":"ERR empty command"}"#.to_owned())
    );
}

#[tokio::test]
async fn head_carries_out_a_command_and_answers_without_a_body() {
    let bridge = Bridge::spawn().await;
    let response = bridge
        .request(Method::HEAD, "/set/k/v")
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await.unwrap(), "");
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
}
