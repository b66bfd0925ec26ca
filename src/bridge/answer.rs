//! What a response says in any dialect: by its status, or because its body is not that of a bridge.

use std::time::Duration;

use miniserde::{Deserialize, json};

use crate::error::Error;
use crate::transport::Response;

/// Why the status alone says that nothing was executed.
pub(super) fn refusal(response: &Response) -> Option<Error> {
    let status = response.status;
    match status {
        0 | 300..=399 => Some(Error::Redirected { status }),
        401 | 403 => Some(Error::Unauthorized(said(response))),
        404 | 405 | 413 | 415 => Some(Error::Refused {
            message: said(response),
            may_have_run: false,
        }),
        // Shed before it reached Redis.
        429 => Some(unavailable(response, false)),
        _ => None,
    }
}

/// The body as the JSON of a bridge.
pub(super) fn parse<Answer: Deserialize>(response: &Response) -> Result<Answer, Error> {
    let text = String::from_utf8_lossy(&response.body);
    json::from_str(&text).map_err(|_| garbled(response, text.trim()))
}

fn garbled(response: &Response, text: &str) -> Error {
    let status = response.status;
    if status >= 500 {
        unavailable(response, true)
    } else if text.is_empty() || text.starts_with('{') && !text.ends_with('}') {
        Error::Truncated
    } else if text.starts_with(['{', '[', '"']) {
        Error::UnexpectedReply("not the JSON of a bridge")
    } else {
        Error::NotJson { status }
    }
}

pub(super) fn unavailable(response: &Response, may_have_run: bool) -> Error {
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

/// How bridges, and many a proxy, say what is wrong.
#[derive(Deserialize)]
struct Complaint {
    error: String,
}

/// What the bridge says for itself: the status, and its error if it speaks JSON. No page of a proxy.
pub(super) fn said(response: &Response) -> String {
    let status = response.status;
    let text = String::from_utf8_lossy(&response.body);
    match json::from_str(&text) {
        Ok(Complaint { error }) => format!("the bridge says \"{error}\" (status {status})"),
        Err(_) => format!("the bridge answers with status {status}"),
    }
}
