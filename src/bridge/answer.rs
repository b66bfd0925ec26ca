//! What a response says in any dialect: by its status, or because its body is not a bridge's.

use std::time::Duration;

use super::json;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Reason};
use crate::redact;
use crate::transport::Response;

/// Why the status alone says that nothing was executed.
pub(super) fn refusal(response: &Response) -> Option<Error> {
    let status = response.status;
    match status {
        0 | 300..=399 => Some(Error::bad(BadResponse::Redirected { status })),
        401 | 403 => Some(Error::unauthorized(said(response))),
        404 | 405 => Some(Error::refused(said(response), false).because(Some(Reason::NoBridge))),
        413 | 415 => Some(Error::refused(said(response), false)),
        // The bridge shed it before it reached Redis.
        429 => Some(unavailable(response, false)),
        _ => None,
    }
}

/// The values under these names in the body, the JSON of a bridge. Nil counts as nothing.
pub(super) fn members<const N: usize>(
    response: &Response,
    names: [&str; N],
) -> Result<[Option<Reply>; N], Error> {
    let text = String::from_utf8_lossy(&response.body);
    json::members(&text, names)
        .and_then(replies)
        .ok_or_else(|| malformed(response, text.trim()))
}

/// The same of each object in a list.
pub(super) fn members_of_each<const N: usize>(
    response: &Response,
    names: [&str; N],
) -> Result<Vec<[Option<Reply>; N]>, Error> {
    let text = String::from_utf8_lossy(&response.body);
    json::members_of_each(&text, names)
        .and_then(|objects| objects.into_iter().map(replies).collect())
        .ok_or_else(|| malformed(response, text.trim()))
}

/// `false` is a reply only inside of an array.
fn replies<const N: usize>(members: [Reply; N]) -> Option<[Option<Reply>; N]> {
    let is_reply = |member: &Reply| !matches!(member, Reply::Error(_));
    let are_replies = members.iter().all(is_reply);
    are_replies.then(|| members.map(|member| Some(member).filter(|reply| !reply.is_nil())))
}

/// The text of an error; empty if the error is not a text.
pub(super) fn text(error: Reply) -> String {
    error.as_str().unwrap_or_default().to_owned()
}

fn malformed(response: &Response, text: &str) -> Error {
    let status = response.status;
    if status >= 500 {
        unavailable(response, true)
    } else if text.is_empty()
        || text.starts_with('{') && !text.ends_with('}')
        || text.starts_with('[') && !text.ends_with(']')
    {
        Error::bad(BadResponse::Truncated)
    } else if text.starts_with(['{', '[', '"']) {
        Error::unexpected("not the JSON of a bridge")
    } else {
        Error::bad(BadResponse::NotJson { status })
    }
}

/// `may_have_run` unless the bridge itself says that nothing was executed.
pub(super) fn unavailable(response: &Response, may_have_run: bool) -> Error {
    let message = said(response);
    // What Redis says to a bridge that has not logged in, and what edgelock-bridge makes of it.
    let wants_password = ["NOAUTH", "wants a password"]
        .into_iter()
        .any(|words| redact::contains(&message, words));
    Error::Unavailable {
        lock: None,
        message,
        retry_after: retry_after(response),
        may_have_run: may_have_run && !is_known_not_to_have_run(response),
        reason: wants_password.then_some(Reason::NoPassword),
    }
}

/// The header as a number of seconds, a year at most. Its other form, a date, would need a wall
/// clock.
fn retry_after(response: &Response) -> Option<Duration> {
    const LONGEST: u64 = 366 * 24 * 60 * 60;
    let digits = response.retry_after.as_deref()?.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that overflows is a long time too.
    let seconds = is_number.then(|| digits.parse().unwrap_or(LONGEST))?;
    Some(Duration::from_secs(seconds.min(LONGEST)))
}

/// `edgelock-bridge` has its own member for this. Words prove nothing: a gateway that is "busy"
/// means itself.
fn is_known_not_to_have_run(response: &Response) -> bool {
    let text = String::from_utf8_lossy(&response.body);
    matches!(json::members(&text, ["executed"]), Some([Reply::Error(_)]))
}

/// What the bridge itself says: the status, and its error if it answers in JSON. A proxy's page is
/// left out.
pub(super) fn said(response: &Response) -> String {
    let status = response.status;
    let text = String::from_utf8_lossy(&response.body);
    // Bridges, and many proxies, report errors in this form.
    match json::members(&text, ["error"]) {
        Some([Reply::Bytes(error)]) => {
            let error = String::from_utf8_lossy(&error);
            format!("the bridge says \"{error}\" (status {status})")
        }
        _ => format!("the bridge answers with status {status}"),
    }
}
