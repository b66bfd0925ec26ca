//! The table as a bridge that speaks Upstash's REST dialect.
//!
//! `POST /` has one command, `/pipeline` and `/multi-exec` several; nothing comes between those of
//! either. `/subscribe/<channel>` is a stream of server-sent events.

use serde_json::{Value, json};

use crate::reply::Reply;
use crate::table::Table;

/// The header by which a bridge says that its waiters may listen.
pub const HEADER: (&str, &str) = ("x-edgelock-bridge", "push");

impl Table {
    /// The status and the body of the response to a request.
    pub fn answer(&mut self, now_us: i64, path: &str, body: &str) -> (u16, String) {
        let refused = |status, why: &str| (status, refusal(why).1);
        let Ok(body) = serde_json::from_str(body) else {
            return refused(400, "ERR the body is not JSON");
        };
        match path {
            "" | "/" => match words(&body) {
                Some(words) => {
                    let (status, said) = said(&self.execute(now_us, &slices(&words)));
                    (status, said.to_string())
                }
                None => refused(400, "ERR the body is not an array of strings and numbers"),
            },
            "/pipeline" | "/multi-exec" => {
                let commands = body.as_array().and_then(|all| all.iter().map(words).collect());
                let Some(commands): Option<Vec<Vec<Vec<u8>>>> = commands else {
                    return refused(400, "ERR the body is not an array of commands");
                };
                let all =
                    commands.iter().map(|words| said(&self.execute(now_us, &slices(words))).1);
                (200, Value::Array(all.collect()).to_string())
            }
            _ => refused(404, "ERR the table answers /, /pipeline, /multi-exec and /subscribe"),
        }
    }
}

/// The status and the body of a response with an error of Redis.
pub fn refusal(error: &str) -> (u16, String) {
    (400, json!({ "error": error }).to_string())
}

/// The channel to which a request with this path listens.
pub fn channel(path: &str) -> Option<Vec<u8>> {
    let mut rest = path.strip_prefix("/subscribe/")?.bytes();
    let mut channel = Vec::new();
    while let Some(byte) = rest.next() {
        channel.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    Some(channel)
}

/// What a stream says once its subscription is active.
pub fn begun(channel: &[u8]) -> Vec<u8> {
    event(&[b"subscribe", channel, b"1"])
}

/// What a stream says of a message.
pub fn message(channel: &[u8], text: &[u8]) -> Vec<u8> {
    event(&[b"message", channel, text])
}

fn event(fields: &[&[u8]]) -> Vec<u8> {
    [b"data: ", fields.join(&b',').as_slice(), b"\n\n"].concat()
}

fn words(command: &Value) -> Option<Vec<Vec<u8>>> {
    let word = |word: &Value| match word {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Number(number) => Some(number.to_string().into_bytes()),
        _ => None,
    };
    command.as_array()?.iter().map(word).collect()
}

fn slices(words: &[Vec<u8>]) -> Vec<&[u8]> {
    words.iter().map(Vec::as_slice).collect()
}

fn said(reply: &Reply) -> (u16, Value) {
    match reply {
        Reply::Error(text) => (400, json!({ "error": text })),
        reply => (200, json!({ "result": value(reply) })),
    }
}

fn value(reply: &Reply) -> Value {
    match reply {
        Reply::Nil => Value::Null,
        Reply::Int(number) => json!(number),
        Reply::Bulk(bytes) => json!(String::from_utf8_lossy(bytes)),
        Reply::Status(text) | Reply::Error(text) => json!(text),
        Reply::Array(replies) => replies.iter().map(value).collect(),
    }
}
