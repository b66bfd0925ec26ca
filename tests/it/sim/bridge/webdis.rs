//! Webdis's dialect: words between slashes, and JSON objects keyed by the command.

use edgelock::Response;
use serde_json::{Value, json};

use super::{answer, unescaped};
use crate::redis::Reply;

pub(super) fn words(body: &str) -> Vec<String> {
    (body.split('/')).map(|word| String::from_utf8(unescaped(word)).expect("UTF-8")).collect()
}

pub(super) fn response(command: &str, reply: &Reply) -> Response {
    answer(200, &json!({ command: value(reply) }))
}

fn value(reply: &Reply) -> Value {
    match reply {
        Reply::Nil => Value::Null,
        Reply::Int(number) => json!(number),
        Reply::Bulk(bytes) => json!(String::from_utf8_lossy(bytes)),
        Reply::Status(text) => json!([true, text]),
        Reply::Error(text) => json!([false, text]),
        // Webdis drops nested arrays.
        Reply::Array(replies) => {
            (replies.iter()).filter(|reply| !matches!(reply, Reply::Array(_))).map(value).collect()
        }
    }
}

pub(super) fn channel(body: &str) -> Vec<u8> {
    unescaped(body.strip_prefix("SUBSCRIBE/").expect("a subscription"))
}

pub(super) fn begun(channel: &[u8]) -> Vec<u8> {
    said(&json!(["subscribe", String::from_utf8_lossy(channel), 1]))
}

pub(super) fn message(channel: &[u8], text: &[u8]) -> Vec<u8> {
    let [channel, text] = [channel, text].map(String::from_utf8_lossy);
    said(&json!(["message", channel, text]))
}

fn said(what: &Value) -> Vec<u8> {
    json!({ "SUBSCRIBE": what }).to_string().into_bytes()
}
