//! Upstash's dialect: JSON arrays, and server-sent events.

use edgelock::{Request, Response};
use serde_json::{Value, json};

use super::{Asked, Wait, answer, unescaped};
use crate::redis::Reply;

pub(super) fn asked(request: &Request<'_>) -> Asked {
    if !request.url.ends_with("/pipeline") {
        let words = serde_json::from_str(&request.body).expect("an array of strings");
        return Asked { words, wait: None };
    }
    let commands: [Vec<String>; 2] = serde_json::from_str(&request.body).expect("two commands");
    let [words, wait] = commands;
    let wait: Vec<&str> = wait.iter().map(String::as_str).collect();
    let ["WAIT", count, ms] = wait[..] else {
        panic!("{wait:?} behind a script");
    };
    let wait =
        Wait { count: count.parse().expect("a count"), ms: ms.parse().expect("milliseconds") };
    Asked { words, wait: Some(wait) }
}

pub(super) fn response(reply: &Reply) -> Response {
    match reply {
        Reply::Error(text) => refusal(400, text),
        reply => answer(200, &said(reply)),
    }
}

pub(super) fn responses(replies: [&Reply; 2]) -> Response {
    answer(200, &replies.map(said).into_iter().collect())
}

fn said(reply: &Reply) -> Value {
    match reply {
        Reply::Error(text) => json!({ "error": text }),
        reply => json!({ "result": value(reply) }),
    }
}

pub(super) fn unreachable() -> Response {
    let error = json!({ "error": "ERR Redis cannot be reached", "executed": false });
    answer(503, &error)
}

pub(super) fn refusal(status: u16, text: &str) -> Response {
    answer(status, &json!({ "error": text }))
}

fn value(reply: &Reply) -> Value {
    match reply {
        Reply::Nil => Value::Null,
        Reply::Int(number) => json!(number),
        Reply::Bulk(bytes) => json!(String::from_utf8_lossy(bytes)),
        Reply::Status(text) => json!(text),
        Reply::Error(text) => json!(text),
        Reply::Array(replies) => replies.iter().map(value).collect(),
    }
}

pub(super) fn channel(url: &str) -> Vec<u8> {
    let (_, path) = url.split_once("/subscribe/").expect("a subscription");
    unescaped(path)
}

pub(super) fn begun(channel: &[u8]) -> Vec<u8> {
    event(&[b"subscribe", channel, b"1"])
}

pub(super) fn message(channel: &[u8], text: &[u8]) -> Vec<u8> {
    event(&[b"message", channel, text])
}

fn event(fields: &[&[u8]]) -> Vec<u8> {
    [b"data: ", fields.join(&b',').as_slice(), b"\n\n"].concat()
}
