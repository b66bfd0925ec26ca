//! Upstash's dialect: JSON arrays, and server-sent events.

use edgelock::Response;
use serde_json::{Value, json};

use super::{answer, unescaped};
use crate::redis::Reply;

pub(super) fn words(body: &str) -> Vec<String> {
    serde_json::from_str(body).expect("an array of strings")
}

pub(super) fn response(reply: &Reply) -> Response {
    match reply {
        Reply::Error(text) => refusal(400, text),
        reply => answer(200, &json!({ "result": value(reply) })),
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
