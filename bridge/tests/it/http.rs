//! HTTP around commands and answers.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::stream::iter;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Bridge, LIMIT, TOKEN, answer, header, is, send};

#[tokio::test]
async fn an_answer_is_framed_exactly() {
    let bridge = Bridge::spawn().await;
    let body = r#"["set","lock:a","tok","nx","px",30000]"#;
    let length = format!("Content-Length: {}", body.len());
    let header = format!("Upstash-Encoding: base64\r\n{length}\r\nConnection: close");
    let mut stream = bridge.sent("POST /", &header, body).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let varying =
        |line: &&str| !line.starts_with("upstash-sync-token: ") && !line.starts_with("date: ");
    let lines: Vec<_> = answer.split("\r\n").filter(varying).collect();
    let expected = [
        "HTTP/1.1 200 OK",
        "content-type: application/json",
        "x-edgelock-bridge: push",
        "connection: close",
        "content-length: 15",
        "",
        r#"{"result":"OK"}"#,
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn every_answer_has_a_new_sync_token() {
    let bridge = Bridge::spawn().await;
    let mut seen = Vec::new();
    for (path, body) in [
        ("/", r#"["PING"]"#),
        ("/", r#"["PING"]"#),
        ("/", "?"),
        ("/pipeline", "[]"),
        ("/multi-exec", "[]"),
    ] {
        let request = bridge.post(path, body).header("upstash-sync-token", "");
        let response = send(request).await;
        let token = header(&response, "upstash-sync-token").to_owned();
        let is_new = !token.is_empty() && !seen.contains(&token);
        assert!(is_new, "{token} after {seen:?}");
        seen.push(token);
    }
}

#[tokio::test]
async fn the_type_of_the_body_is_not_insisted_on() {
    let bridge = Bridge::spawn().await;
    for kind in
        ["application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded"]
    {
        let request = bridge.post("/", r#"["PING"]"#).header("content-type", kind);
        is(answer(request).await, 200, r#"{"result":"PONG"}"#);
    }
}

#[tokio::test]
async fn other_formats_of_answers_are_refused() {
    let bridge = Bridge::spawn().await;
    let refused = r#"{"error":"ERR Upstash-Response-Format: only json is served"}"#;
    for (format, status, body) in [("json", 200, r#"{"result":"PONG"}"#), ("resp2", 400, refused)] {
        let asked = bridge.post("/", r#"["PING"]"#);
        let told = answer(asked.header("Upstash-Response-Format", format)).await;
        is(told, status, body);
    }
}

#[tokio::test]
async fn other_methods_are_refused() {
    let bridge = Bridge::spawn().await;
    for (method, path) in [
        (Method::DELETE, "/"),
        (Method::PATCH, "/get/k"),
        (Method::OPTIONS, "/pipeline"),
        (Method::GET, "/pipeline"),
        (Method::HEAD, "/multi-exec"),
        (Method::PUT, "/subscribe/c"),
        (Method::PUT, "/psubscribe/*"),
    ] {
        let request = bridge.request(method.clone(), path).bearer_auth(TOKEN);
        let response = send(request).await;
        assert_eq!(response.status(), 405, "{method} {path}");
        let allowed = header(&response, "allow");
        assert!(!allowed.contains(method.as_str()), "{method} {path}");
        if method != Method::HEAD {
            let told = r#"{"error":"ERR this method is not allowed here"}"#;
            assert_eq!(response.text().await.unwrap(), told);
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_in_json() {
    let bridge = Bridge::spawn().await;
    let command = |size: usize| format!(r#"["SET","k","{}"]"#, "x".repeat(size - 14));
    assert_eq!(bridge.run(&command(10 << 20)).await.0, 200);
    let refused =
        (413, r#"{"error":"ERR max request size exceeded. Limit: 10485760 bytes"}"#.to_owned());
    assert_eq!(bridge.run(&command((10 << 20) + 1)).await, refused);

    // A body of unknown length, in many pieces.
    let piece = Bytes::from("x".repeat(110_000));
    let frame = move |_| Ok::<_, Infallible>(Frame::data(piece.clone()));
    let pieces = iter((0..100).map(frame));
    let stream = reqwest::Body::wrap(StreamBody::new(pieces));
    assert_eq!(bridge.ask("/", stream).await, refused);
    let (_, body) = bridge.run(r#"["STRLEN","k"]"#).await;
    assert_eq!(body, r#"{"result":10485746}"#);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let bridge = Bridge::with(["--timeout", "100"]).await;
    let mut stream = bridge.sent("POST /", "Content-Length: 9", "[").await;
    let mut answer = String::new();
    let read = timeout(LIMIT, stream.read_to_string(&mut answer));
    read.await.expect("the connection ends").unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let end = r#"{"error":"ERR the request's body did not arrive in time"}"#;
    assert!(answer.ends_with(end), "{answer}");
}

/// If the connection were closed while the client still writes, it would be reset, and the answer
/// lost.
#[tokio::test]
async fn a_refused_request_leaves_its_connection_usable() {
    let bridge = Bridge::spawn().await;
    let mut stream = TcpStream::connect(bridge.address()).await.unwrap();
    for (token, status) in [("wrong", "401 "), (TOKEN, "200 ")].repeat(2) {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 8\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // By now an answer would be here that does not wait for the body.
        let early = timeout(Duration::from_millis(50), stream.peek(&mut [0])).await;
        assert!(early.is_err(), "not before the body was sent");
        stream.write_all(br#"["PING"]"#).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"}") {
            let read = timeout(LIMIT, stream.read_buf(&mut answer)).await.unwrap();
            assert!(read.unwrap() > 0, "closed");
        }
        let answer = String::from_utf8(answer).unwrap();
        let begin = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&begin), "{answer}");
    }
}
