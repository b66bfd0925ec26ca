//! The bridge: Upstash's dialect on the model of Redis, as `edgelock-bridge` speaks it.

use edgelock::Response;
use serde_json::{Value, json};

use super::redis::Reply;
use super::rng::Rng;

/// Redis's answer as the response of a bridge.
pub(crate) fn response(reply: &Reply) -> Response {
    match reply {
        Reply::Error(text) => answer(400, &json!({ "error": text })),
        reply => answer(200, &json!({ "result": value(reply) })),
    }
}

/// What the bridge says when it could not reach Redis.
pub(crate) fn unreachable() -> Response {
    answer(
        503,
        &json!({ "error": "ERR Redis cannot be reached", "executed": false }),
    )
}

/// What stands before the bridge says when it lost the answer: about itself, in words that Redis has too.
pub(crate) fn unavailable(rng: &Rng) -> Response {
    let text = rng.pick(&[
        "redis is not available",
        "upstream too busy",
        "BUSY",
        "LOADING the next release",
        "readonly: nothing was executed",
    ]);
    answer(503, &json!({ "error": text }))
}

/// What the bridge says to whom it turns away.
pub(crate) fn unauthorized() -> Response {
    answer(401, &json!({ "error": "Unauthorized" }))
}

fn answer(status: u16, body: &Value) -> Response {
    Response {
        status,
        bridge: Some("push".to_owned()),
        body: body.to_string().into_bytes(),
        ..Response::default()
    }
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

/// The channel that a client asks to listen to.
pub(crate) fn channel(url: &str) -> Vec<u8> {
    let (_, path) = url.split_once("/subscribe/").expect("a subscription");
    let mut channel = Vec::new();
    let mut parts = path.split('%');
    channel.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let (code, rest) = part.split_at(2);
        channel.push(u8::from_str_radix(code, 16).expect("an escape"));
        channel.extend_from_slice(rest.as_bytes());
    }
    channel
}

/// What a stream says once Redis has taken the subscription.
pub(crate) fn begun(channel: &[u8]) -> Vec<u8> {
    event(&[b"subscribe", channel, b"1"])
}

pub(crate) fn message(channel: &[u8], text: &[u8]) -> Vec<u8> {
    event(&[b"message", channel, text])
}

fn event(fields: &[&[u8]]) -> Vec<u8> {
    [b"data: ", fields.join(&b',').as_slice(), b"\n\n"].concat()
}
