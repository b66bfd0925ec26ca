//! Commands in the path of a URL.

use reqwest::Method;

use crate::support::{Bridge, TOKEN, answer, is};

#[tokio::test]
async fn a_path_is_a_command() {
    let bridge = Bridge::spawn().await;
    // The body is an argument, after those of the path and before those of the query. An escaped
    // slash is part of an argument, and an empty segment is an empty argument.
    let odd = "a/b ?=\u{0}";
    for (asked, body, result) in [
        ("GET /set/k/hello%20w+%C3%B6rld", "", r#""OK""#),
        ("GET /get/k", "", r#""hello w+örld""#),
        ("PUT /SET/k/v?EX=100&NX", "", "null"),
        ("POST /SET/k/v?EX=100&XX=", "", r#""OK""#),
        ("GET /ttl/k", "", "100"),
        ("POST /set/k?EX=50", odd, r#""OK""#),
        ("GET /get/k", "", r#""a/b ?=\u0000""#),
        ("GET /ttl/k", "", "50"),
        ("GET /get/k", "not looked at", r#""a/b ?=\u0000""#),
        ("GET /echo/a%2Fb", "", r#""a/b""#),
        ("GET /echo/", "", r#""""#),
        ("GET /publish/channel/message", "", "0"),
        ("GET /mget/k/none", "", r#"["a/b ?=\u0000",null]"#),
    ] {
        let (method, path) = asked.split_once(' ').expect("a method");
        let method = method.parse().expect("a method");
        let request = bridge.request(method, path).bearer_auth(TOKEN).body(body);
        let expected = format!("{{\"result\":{result}}}");
        assert_eq!(answer(request).await, (200, expected), "{asked}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_arrive() {
    let bridge = Bridge::spawn().await;
    assert_eq!(bridge.ask("/set/%FF%00", &b"\xfe\x00"[..]).await.0, 200);
    let request = bridge.post("/get/%ff%00", "").header("Upstash-Encoding", "base64");
    assert_eq!(answer(request).await.1, r#"{"result":"/gA="}"#);
}

#[tokio::test]
async fn errors_have_the_same_status_as_elsewhere() {
    let bridge = Bridge::spawn().await;
    for (path, error) in [
        ("/get", "ERR wrong number of arguments for 'get' command"),
        ("/nosuch/a", "ERR unknown command 'nosuch', with args beginning with: 'a' "),
        (
            "/select/1",
            "ERR 'SELECT' is not served here: it changes the state of a connection that others share",
        ),
    ] {
        let request = bridge.request(Method::GET, path).bearer_auth(TOKEN);
        assert_eq!(answer(request).await, (400, format!("{{\"error\":\"{error}\"}}")), "{path}");
    }
    let root = bridge.request(Method::GET, "/").bearer_auth(TOKEN);
    is(answer(root).await, 400, r#"{"error":"ERR empty command"}"#);
}

#[tokio::test]
async fn head_carries_out_a_command_and_answers_without_a_body() {
    let bridge = Bridge::spawn().await;
    let response =
        bridge.request(Method::HEAD, "/set/k/v").bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await.unwrap(), "");
    assert_eq!(bridge.run(r#"["GET","k"]"#).await.1, r#"{"result":"v"}"#);
}
