//! From HTTP to commands.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::{Stream, StreamExt as _};
use percent_encoding::percent_decode_str;
use serde_json::value::RawValue;

use crate::command::Command;
use crate::reply::Failure;

/// The whole body, up to `limit` bytes.
pub(crate) async fn body(body: Body, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Failure::bad_request("ERR the request's body broke off"))?;
        if bytes.len() + chunk.len() > limit {
            drain(chunks, limit).await;
            let text = format!("ERR max request size exceeded. Limit: {limit} bytes");
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads on and throws away, within bounds: a connection that is closed on a client that still writes is reset, and the
/// answer lost.
pub(crate) async fn drain(
    mut chunks: impl Stream<Item = Result<Bytes, axum::Error>> + Unpin,
    limit: usize,
) {
    let mut dropped = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        dropped += chunk.len();
        if dropped > limit {
            return;
        }
    }
}

/// `["SET","key","value"]`
pub(crate) fn command(body: &[u8]) -> Result<Command<'_>, Failure> {
    let elements: Vec<&RawValue> = serde_json::from_slice(body).map_err(|_| {
        Failure::bad_request("ERR the body must be a JSON array: a command and its arguments")
    })?;
    one(&elements)
}

/// `[["SET","key","value"],["GET","key"]]`
pub(crate) fn commands(body: &[u8]) -> Result<Vec<Command<'_>>, Failure> {
    let lists: Vec<Vec<&RawValue>> = serde_json::from_slice(body).map_err(|_| {
        Failure::bad_request("ERR the body must be a JSON array of arrays: one for each command")
    })?;
    lists.iter().map(|elements| one(elements)).collect()
}

/// `/SET/key/value?EX=100`; a body is the last argument before the query's.
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
        // `?NX` and `?NX=`: tools that build queries cannot leave the sign away.
        if !value.is_empty() {
            parts.push(decoded(value));
        }
    }
    Command::new(parts).ok_or_else(empty_command)
}

/// The bytes that a percent-encoded piece of a path or a query stands for; `+` is a plus.
pub(crate) fn decoded(text: &str) -> Cow<'_, [u8]> {
    percent_decode_str(text).into()
}

pub(crate) fn empty_command() -> Failure {
    Failure::bad_request("ERR empty command")
}

fn one<'a>(elements: &[&'a RawValue]) -> Result<Command<'a>, Failure> {
    let parts = elements
        .iter()
        .map(|element| argument(element.get()))
        .collect::<Result<_, _>>()?;
    Command::new(parts).ok_or_else(empty_command)
}

/// Strings by value; numbers and booleans as they are written, so that no digit is lost.
fn argument(json: &str) -> Result<Cow<'_, [u8]>, Failure> {
    match json.as_bytes() {
        [b'"', plain @ .., b'"'] if !plain.contains(&b'\\') => Ok(Cow::Borrowed(plain)),
        [b'"', ..] => match serde_json::from_str::<String>(json) {
            Ok(text) => Ok(Cow::Owned(text.into_bytes())),
            Err(_) => Err(Failure::bad_request(
                "ERR a string of the command is not valid JSON",
            )),
        },
        [b'n' | b'[' | b'{', ..] => Err(Failure::bad_request(
            "ERR arguments must be strings, numbers or booleans, not null, arrays or objects",
        )),
        plain => Ok(Cow::Borrowed(plain)),
    }
}
