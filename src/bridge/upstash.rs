//! Upstash's REST dialect, in the form that every bridge which speaks it accepts.
//!
//! <https://upstash.com/docs/redis/features/restapi>. `POST /` with one JSON array in which everything is a string: some
//! bridges print numbers as floats. `application/json` to the letter, `Bearer` with a capital B, no base64: each is the
//! only form that some bridge takes.

use super::{Access, answer, json, percent};
use crate::command::Reply;
use crate::error::Error;
use crate::quoted;
use crate::transport::Response;

pub(super) fn access(credential: &str) -> Result<Access, Error> {
    let credential = credential.trim();
    if credential.is_empty() || !credential.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::InvalidArgument(
            "the bridge's credential is empty, or no bearer token".into(),
        ));
    }
    let bearer = || ("authorization", format!("Bearer {credential}"));
    Ok(Access {
        headers: [bearer(), ("content-type", "application/json".to_owned())],
        listening_headers: [bearer(), ("accept", "text/event-stream".to_owned())],
        secrets: vec![credential.to_owned()],
    })
}

pub(super) fn body(words: &[&str]) -> String {
    json::array(words)
}

/// Where `channel` is listened to, by a request without a body.
pub(super) fn subscription(url: &str, channel: &str) -> String {
    let mut url = format!("{url}/subscribe/");
    percent::encode(channel, &mut url);
    url
}

/// An answer is `{"result": …}` or `{"error": "…"}`.
pub(super) fn decode(response: &Response, is_of_redis: fn(&str) -> bool) -> Result<Reply, Error> {
    if let Some(refusal) = answer::refusal(response) {
        return Err(refusal);
    }
    let status = response.status;
    let [result, error] = answer::members(response, ["result", "error"])?;
    match (error.map(answer::text), result) {
        (Some(text), _) if status < 500 && quoted::contains(&text, "authorization header") => {
            Err(Error::Unauthorized(text))
        }
        (Some(text), _) if status < 500 || is_of_redis(&text) => Ok(Reply::Error(text)),
        _ if status >= 500 => Err(answer::unavailable(response, true)),
        (None, Some(reply)) if status < 300 => Ok(reply),
        _ => Err(Error::UnexpectedReply("neither a result nor an error")),
    }
}
