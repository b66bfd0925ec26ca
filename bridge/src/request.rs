//! From HTTP to commands.

#[cfg(test)]
mod fuzz;

use std::borrow::Cow;

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Body as _, Incoming};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::Failure;
use crate::budget::{Full, SMALL, Share};
use crate::command::Command;
use crate::topic::Topic;

/// The largest body, in bytes.
const LARGEST: usize = 10 * 1024 * 1024;

/// The most arguments of all commands of a request together.
const ARGUMENTS: usize = 128 * 1024;

/// How many copies of a body exist until Redis has it: as it arrived, as commands, and as it is
/// sent.
const COPIES: usize = 4;

/// The whole body, with its `share` of what the bridge holds.
pub(crate) async fn body(
    mut body: Incoming,
    mut share: Share,
) -> Result<(Vec<u8>, Share), Failure> {
    // A size that is only announced must take no more than what does not count.
    let known = body.size_hint().exact().unwrap_or_default();
    let mut bytes = Vec::with_capacity(usize::try_from(known).unwrap_or(SMALL).min(SMALL));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::bad_request("ERR the request's body broke off"))?;
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        let length = bytes.len() + chunk.len();
        let refused = match share.grow(length.saturating_mul(COPIES)) {
            _ if length > LARGEST => {
                let text = format!("ERR max request size exceeded. Limit: {LARGEST} bytes");
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            Err(Full) => Failure::refused_for_now(
                "ERR the bridge holds as much as it may of large requests and answers; nothing was executed",
            ),
            Ok(()) => {
                bytes.extend_from_slice(&chunk);
                continue;
            }
        };
        drop((bytes, share));
        drain(body).await;
        return Err(refused);
    }
    Ok((bytes, share))
}

/// Reads the rest and throws it away, within bounds. If the bridge closed a connection on which the
/// client still writes, the system would reset it, and the client would lose the answer.
pub(crate) async fn drain(mut body: Incoming) {
    let mut dropped = 0;
    while let Some(Ok(frame)) = body.frame().await {
        dropped += frame.data_ref().map_or(0, |chunk| chunk.len());
        if dropped > LARGEST {
            return;
        }
    }
}

/// `["SET","key","value"]`
pub(crate) fn command(body: &[u8]) -> Result<Command<'_>, Failure> {
    let elements: Vec<_> = parse(body, ": a command and its arguments")?;
    one(&elements)
}

/// `[["SET","key","value"],["GET","key"]]`, at most `most` of them.
pub(crate) fn commands(body: &[u8], most: usize) -> Result<Vec<Command<'_>>, Failure> {
    let lists: Vec<Vec<_>> = parse(body, " of arrays: one for each command")?;
    if lists.len() > most {
        return Err(too_many());
    }
    lists.iter().map(|elements| one(elements)).collect()
}

/// `/SET/key/value?EX=100`. A body is the last argument before those of the query.
pub(crate) fn from_path<'a>(
    path: &'a str,
    query: &'a str,
    body: &'a [u8],
) -> Result<Command<'a>, Failure> {
    let segments = path.strip_prefix('/').unwrap_or(path).split('/');
    let mut parts: Vec<_> = segments.map(decoded).collect();
    if !body.is_empty() {
        parts.push(Cow::Borrowed(body));
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name == "_token" {
            continue;
        }
        parts.push(decoded(name));
        // `?NX` and `?NX=` mean the same: tools that build queries always write the sign.
        if !value.is_empty() {
            parts.push(decoded(value));
        }
    }
    Command::new(parts).ok_or_else(empty_command)
}

/// The bytes for which a percent-encoded piece of a path or a query stands. `+` is a plus.
fn decoded(text: &str) -> Cow<'_, [u8]> {
    percent_decode_str(text).into()
}

/// The subscription that the path of a request asks for, if any.
pub(crate) fn topic(path: &str) -> Option<Topic> {
    let named = |name| decoded(name).into_owned();
    match path.strip_prefix("/subscribe/") {
        Some(name) => Some(Topic::Channel(named(name))),
        None => Some(Topic::Pattern(named(path.strip_prefix("/psubscribe/")?))),
    }
}

pub(crate) fn empty_command() -> Failure {
    Failure::bad_request("ERR empty command")
}

fn too_many() -> Failure {
    let text = "ERR too many commands, or arguments, in one request";
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8], what: &str) -> Result<T, Failure> {
    if elements(body) > ARGUMENTS {
        return Err(too_many());
    }
    let wrong = |_| Failure::bad_request(format!("ERR the body must be a JSON array{what}"));
    serde_json::from_slice(body).map_err(wrong)
}

/// How many elements the lists of a body have together, if it is long enough for too many: each has
/// two bytes at least. A list of elements takes several times as much memory as its text.
fn elements(body: &[u8]) -> usize {
    if body.len() <= 2 * ARGUMENTS {
        return 0;
    }
    let (mut bytes, mut is_in_text, mut elements) = (body.iter(), false, 1);
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_in_text = !is_in_text,
            b'\\' => drop(bytes.next()),
            b',' if !is_in_text => elements += 1,
            _ => {}
        }
    }
    elements
}

fn one<'a>(elements: &[&'a RawValue]) -> Result<Command<'a>, Failure> {
    let parts = elements.iter().map(|element| argument(element.get()));
    Command::new(parts.collect::<Result<_, _>>()?).ok_or_else(empty_command)
}

/// Strings by value. Numbers and booleans as they are written, so that no digit is lost.
fn argument(json: &str) -> Result<Cow<'_, [u8]>, Failure> {
    match json.as_bytes() {
        [b'"', plain @ .., b'"'] if !plain.contains(&b'\\') => Ok(Cow::Borrowed(plain)),
        [b'"', ..] => match serde_json::from_str::<String>(json) {
            Ok(text) => Ok(Cow::Owned(text.into_bytes())),
            Err(_) => Err(Failure::bad_request("ERR a string of the command is not valid JSON")),
        },
        [b'n' | b'[' | b'{', ..] => Err(Failure::bad_request(
            "ERR arguments must be strings, numbers or booleans, not null, arrays or objects",
        )),
        plain => Ok(Cow::Borrowed(plain)),
    }
}
