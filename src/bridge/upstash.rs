//! Upstash's REST dialect, in the form that every bridge which speaks it accepts.
//!
//! <https://upstash.com/docs/redis/features/restapi>. `POST /` with one JSON array in which everything is a string: some
//! bridges print numbers as floats. `application/json` to the letter, `Bearer` with a capital B, no base64: each is the
//! only form that some bridge takes.

use std::time::Duration;

use super::{BODY_LIMIT, endpoint, json};
use crate::command::Reply;
use crate::error::Error;
use crate::quoted;
use crate::transport::{Request, Response};

#[derive(Clone)]
pub(super) struct Upstash {
    pub(super) url: String,
    pub(super) credential: String,
    pub(super) key_locking: bool,
    pub(super) script_cache: bool,
    pub(super) push: bool,
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
            url,
        })
    }

    pub(super) fn encode(&self, words: &[&str], timeout: Duration) -> Request<'_> {
        Request {
            url: &self.url,
            headers: &self.headers,
            body: json::array(words),
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
struct Answer {
    result: Option<Reply>,
    error: Option<String>,
}

impl Answer {
    fn read(response: &Response) -> Option<Self> {
        let text = String::from_utf8_lossy(&response.body);
        let [result, error] = json::members(&text, ["result", "error"])?
            .map(|member| member.filter(|reply| !reply.is_nil()));
        let error = match error {
            Some(error) => Some(error.text()?.to_owned()),
            None => None,
        };
        Some(Self { result, error })
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
        (Some(text), _) if status < 500 && quoted::contains(&text, "authorization header") => {
            Err(Error::Unauthorized(text))
        }
        (Some(text), _) if status < 500 || is_of_redis(&text) => Ok(Reply::Error(text)),
        _ if status >= 500 => Err(unavailable(response, true)),
        (None, Some(reply)) if status < 300 => Ok(reply),
        _ => Err(Error::UnexpectedReply("neither a result nor an error")),
    }
}

fn parse(response: &Response) -> Result<Answer, Error> {
    Answer::read(response).ok_or_else(|| {
        let status = response.status;
        let text = String::from_utf8_lossy(&response.body);
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
    match Answer::read(response) {
        Some(Answer {
            error: Some(error), ..
        }) => format!("the bridge says \"{error}\" (status {status})"),
        _ => format!("the bridge answers with status {status}"),
    }
}
