//! Upstash's REST dialect, in the form that every bridge which speaks it accepts.
//!
//! <https://upstash.com/docs/redis/features/restapi>. `POST /` with one JSON array in which everything is a string: some
//! bridges print numbers as floats. `application/json` to the letter, `Bearer` with a capital B, no base64: each is the
//! only form that some bridge takes.

use std::time::Duration;

use miniserde::{Deserialize, json};

use super::{BODY_LIMIT, endpoint};
use crate::command::Reply;
use crate::error::Error;
use crate::transport::{Request, Response};

#[derive(Clone)]
pub(super) struct Upstash {
    pub(super) url: String,
    pub(super) credential: String,
    pub(super) key_locking: bool,
    pub(super) script_cache: bool,
    pub(super) push: bool,
    pipeline: String,
    headers: [(&'static str, String); 2],
    listening_headers: [(&'static str, String); 2],
}

impl Upstash {
    pub(super) fn new(url: String, credential: &str) -> Result<Self, Error> {
        let credential = credential.trim();
        if credential.is_empty() || !credential.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::InvalidArgument(
                "the bridge's credential is empty, or no bearer token".into(),
            ));
        }
        Ok(Self {
            key_locking: endpoint::is_host_under(&url, "upstash.io"),
            script_cache: false,
            push: true,
            headers: [
                ("authorization", format!("Bearer {credential}")),
                ("content-type", "application/json".to_owned()),
            ],
            listening_headers: [
                ("authorization", format!("Bearer {credential}")),
                ("accept", "text/event-stream".to_owned()),
            ],
            credential: credential.to_owned(),
            pipeline: format!("{url}/pipeline"),
            url,
        })
    }

    pub(super) fn encode(&self, words: &[&str], timeout: Duration) -> Request<'_> {
        Request {
            url: &self.url,
            headers: &self.headers,
            body: json::to_string(words),
            body_limit: BODY_LIMIT,
            timeout,
        }
    }

    pub(super) fn encode_both(&self, commands: [&[&str]; 2], timeout: Duration) -> Request<'_> {
        Request {
            url: &self.pipeline,
            headers: &self.headers,
            body: json::to_string(&commands),
            body_limit: BODY_LIMIT,
            timeout,
        }
    }

    pub(super) fn subscription(&self, channel: &str) -> String {
        let mut url = format!("{}/subscribe/", self.url);
        for byte in channel.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                url.push(char::from(byte));
            } else {
                url.push_str(&format!("%{byte:02X}"));
            }
        }
        url
    }

    pub(super) const fn listening_headers(&self) -> &[(&'static str, String)] {
        &self.listening_headers
    }
}

/// `{"result": …}` or `{"error": "…"}`.
#[derive(Deserialize)]
struct Answer {
    result: Option<Reply>,
    error: Option<String>,
}

const NEITHER: Error = Error::UnexpectedReply("neither a result nor an error");
const NO_LIST: Error = Error::UnexpectedReply("not an answer for each of two commands");

impl Answer {
    fn reply(self) -> Result<Reply, Error> {
        self.error.map(Reply::Error).or(self.result).ok_or(NEITHER)
    }
}

pub(super) fn decode(response: &Response, is_of_redis: fn(&str) -> bool) -> Result<Reply, Error> {
    let status = response.status;
    match status {
        0 | 300..=399 => return Err(Error::Redirected { status }),
        401 | 403 => return Err(Error::Unauthorized(said(response))),
        404 | 405 | 413 | 415 => {
            return Err(Error::Refused {
                message: said(response),
                may_have_run: false,
            });
        }
        // Shed before it reached Redis.
        429 => return Err(unavailable(response, false)),
        _ => {}
    }
    let answer = parse(response)?;
    match (answer.error, answer.result) {
        (Some(text), _) if status < 500 && text.contains("authorization header") => {
            Err(Error::Unauthorized(text))
        }
        (Some(text), _) if status < 500 || is_of_redis(&text) => Ok(Reply::Error(text)),
        _ if status >= 500 => Err(unavailable(response, true)),
        (None, Some(reply)) if status < 300 => Ok(reply),
        _ => Err(NEITHER),
    }
}

/// As [`decode`], for a list of two; what is no list is the answer to both.
pub(super) fn decode_both(
    response: &Response,
    is_of_redis: fn(&str) -> bool,
) -> Result<[Reply; 2], Error> {
    let text = String::from_utf8_lossy(&response.body);
    if response.status != 200 || !text.trim_start().starts_with('[') {
        return decode(response, is_of_redis).map(|reply| [reply, Reply::Nil]);
    }
    if !text.trim_end().ends_with(']') {
        return Err(Error::Truncated);
    }
    let answers: Vec<Answer> = json::from_str(&text).map_err(|_| NO_LIST)?;
    let replies: Result<Vec<_>, _> = answers.into_iter().map(Answer::reply).collect();
    replies?.try_into().map_err(|_| NO_LIST)
}

fn parse(response: &Response) -> Result<Answer, Error> {
    let status = response.status;
    let text = String::from_utf8_lossy(&response.body);
    json::from_str(&text).map_err(|_| {
        let text = text.trim();
        if status >= 500 {
            unavailable(response, true)
        } else if text.is_empty() || text.starts_with('{') && !text.ends_with('}') {
            Error::Truncated
        } else if text.starts_with(['{', '[', '"']) {
            Error::UnexpectedReply("not the JSON of a bridge")
        } else {
            Error::NotJson { status }
        }
    })
}

fn unavailable(response: &Response, may_have_run: bool) -> Error {
    // The header's other form, a date, would need a wall clock.
    let seconds = response
        .retry_after
        .as_deref()
        .and_then(|value| value.trim().parse().ok());
    Error::Unavailable {
        message: said(response),
        retry_after: seconds.map(Duration::from_secs),
        may_have_run,
    }
}

/// What the bridge says for itself: the status, and its error if it speaks JSON. No page of a proxy.
fn said(response: &Response) -> String {
    let status = response.status;
    let text = String::from_utf8_lossy(&response.body);
    match json::from_str::<Answer>(&text) {
        Ok(Answer {
            error: Some(error), ..
        }) => format!("the bridge says \"{error}\" (status {status})"),
        _ => format!("the bridge answers with status {status}"),
    }
}
