//! Upstash's REST dialect, in the form that every bridge of this dialect accepts.
//!
//! <https://upstash.com/docs/redis/features/restapi>. `POST /` with one JSON array in which
//! everything is a string, since some bridges print numbers as floats. `application/json` exactly
//! so, `Bearer` with a capital B, and no base64: for each of these, some bridge accepts no other
//! form.

use super::Access;
use super::answer::{self, Answer};
use super::json::{self, Members};
use crate::command::Reply;
use crate::error::{Fault, Reason};
use crate::outside;
use crate::redact;
use crate::script::is_error_of_redis;
use crate::transport::Response;

pub(super) fn access(credential: &str) -> Result<Access, Fault> {
    let credential = credential.trim();
    if credential.is_empty() {
        let what = "the bridge's credential is empty; is its variable set?";
        return Err(Fault::invalid(what));
    }
    if !credential.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = "the bridge's credential has a blank or another character that no bearer token has; copy it again";
        return Err(Fault::invalid(what));
    }
    let bearer = || ("authorization", ["Bearer ", credential].concat());
    Ok(Access {
        headers: [bearer(), ("content-type", "application/json".to_owned())],
        listening_headers: [bearer(), ("accept", "text/event-stream".to_owned())],
        secrets: vec![credential.to_owned()],
    })
}

pub(super) fn body(words: &[&str]) -> String {
    json::array(words)
}

/// The address for several commands that run one after the other on one connection.
pub(super) fn pipeline(url: &str) -> String {
    [url, "/pipeline"].concat()
}

pub(super) fn pipeline_body(commands: [&[&str]; 2]) -> String {
    let [first, second] = commands.map(json::array);
    ["[", &first, ",", &second, "]"].concat()
}

/// The address that subscribes to `channel`, by a request without a body.
pub(super) fn subscription(url: &str, channel: &str) -> String {
    let mut url = [url, "/subscribe/"].concat();
    outside::percent(channel, &mut url);
    url
}

const NEITHER: &str = "neither a result nor an error";
const NO_PAIR: &str = "not an answer for each of two commands";

/// An answer is `{"result": …}` or `{"error": "…"}`.
pub(super) fn decode(response: &Response) -> Result<Reply, Fault> {
    let mut answer = Answer::read(response, |members| &mut members.result);
    if let Some(refusal) = answer.refusal() {
        return Err(refusal);
    }
    let (result, said) = answer.take()?;
    let status = response.status;
    if status >= 500 {
        // Only a text that is marked as Redis's own counts: anything on the way to Redis may say
        // that it is busy.
        let passed_on = said.as_deref().and_then(|text| text.strip_prefix(PASSED_ON));
        let of_redis = passed_on.filter(|text| is_error_of_redis(text));
        return of_redis
            .map(|text| Reply::Error(text.to_owned()))
            .ok_or_else(|| answer.unavailable(true));
    }
    match (said, result) {
        (Some(text), _) => error_of(text),
        (None, Some(reply)) if status < 300 => Ok(reply),
        _ => Err(Fault::unexpected(NEITHER)),
    }
}

/// What `@humanwhocodes/upstash-redis-server` puts before an error of Redis, with a status of 500.
const PASSED_ON: &str = "Failed to execute Redis command: ";

/// An error whose status blames the request: Redis's error, or the bridge's own about a request
/// that it refused.
fn error_of(text: String) -> Result<Reply, Fault> {
    if redact::contains(&text, "authorization header") {
        Err(Fault::unauthorized(text))
    } else if text.starts_with("Invalid ") {
        Err(Fault::refused(text, false))
    } else if redact::contains(&text, "body must be") {
        Err(Fault::refused(text, false).because(Some(Reason::PathIsCommand)))
    } else {
        Ok(Reply::Error(text))
    }
}

/// As [`decode`], for a list of two. If it is not a list, it is the answer to both.
#[inline(never)]
pub(super) fn decode_both(response: &Response) -> Result<[Reply; 2], Fault> {
    let is_list = response.body.trim_ascii_start().starts_with(b"[");
    if response.status != 200 || !is_list {
        return decode(response).map(|reply| [reply, Reply::Nil]);
    }
    let answer = Answer::unread(response);
    let objects = answer.list();
    let mut replies = objects.ok_or_else(|| answer.malformed())?.into_iter();
    let both = [of_pair(replies.next())?, of_pair(replies.next())?];
    match replies.next() {
        Some(_) => Err(Fault::unexpected(NO_PAIR)),
        None => Ok(both),
    }
}

/// A result and an error, of which one is there.
fn of_pair(one: Option<Members>) -> Result<Reply, Fault> {
    let one = one.ok_or_else(|| Fault::unexpected(NO_PAIR))?;
    match (answer::text(&one.error), one.result) {
        (_, Reply::Error(_)) => Err(Fault::unexpected(NO_PAIR)),
        (Some(error), _) => Ok(Reply::Error(error)),
        (None, Reply::Nil) => Err(Fault::unexpected(NEITHER)),
        (None, result) => Ok(result),
    }
}
