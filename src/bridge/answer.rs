//! What a response says in any dialect: by its status, or because its body is not a bridge's.

use std::borrow::Cow;
use std::time::Duration;

use super::json;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Reason};
use crate::redact;
use crate::transport::Response;

/// A response whose body was read, once.
pub(super) struct Answer<'a> {
    response: &'a Response,
    text: Cow<'a, str>,
    /// The bridge's own words: bridges, and many proxies, report errors in this form.
    error: Option<String>,
    /// `edgelock-bridge` has its own member for this. Words prove nothing: a gateway that is "busy"
    /// means itself.
    nothing_was_executed: bool,
}

impl<'a> Answer<'a> {
    /// A response of which nothing is read.
    pub(super) fn unread(response: &'a Response) -> Self {
        Self {
            response,
            text: String::from_utf8_lossy(&response.body),
            error: None,
            nothing_was_executed: false,
        }
    }

    /// A response, and the values under these names in its body if that is the JSON of a bridge.
    /// `of_bridge` picks those of `error` and `executed`.
    pub(super) fn read<const N: usize>(
        response: &'a Response,
        names: [&str; N],
        of_bridge: impl FnOnce(&[Reply; N]) -> [&Reply; 2],
    ) -> (Self, Option<[Reply; N]>) {
        let mut answer = Self::unread(response);
        let members = json::members(&answer.text, names);
        if let Some(members) = &members {
            let [error, executed] = of_bridge(members);
            answer.error = error.as_str().map(str::to_owned);
            answer.nothing_was_executed = matches!(executed, Reply::Error(_));
        }
        (answer, members)
    }

    /// The values under these names of each object in a list.
    pub(super) fn members_of_each<const N: usize>(
        &self,
        names: [&str; N],
    ) -> Result<Vec<[Option<Reply>; N]>, Error> {
        json::members_of_each(&self.text, names)
            .and_then(|objects| objects.into_iter().map(replies).collect())
            .ok_or_else(|| self.malformed())
    }

    /// Why the status alone says that nothing was executed.
    pub(super) fn refusal(&self) -> Option<Error> {
        let status = self.response.status;
        match status {
            0 | 300..=399 => Some(Error::bad(BadResponse::Redirected { status })),
            401 | 403 => Some(Error::unauthorized(self.said())),
            404 | 405 => Some(Error::refused(self.said(), false).because(Some(Reason::NoBridge))),
            413 | 415 => Some(Error::refused(self.said(), false)),
            // The bridge shed it before it reached Redis.
            429 => Some(self.unavailable(false)),
            _ => None,
        }
    }

    /// It is not the JSON of a bridge.
    pub(super) fn malformed(&self) -> Error {
        let (status, text) = (self.response.status, self.text.trim());
        if status >= 500 {
            self.unavailable(true)
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
    pub(super) fn unavailable(&self, may_have_run: bool) -> Error {
        let message = self.said();
        // What Redis says to a bridge that has not logged in, and what edgelock-bridge makes of it.
        let wants_password = ["NOAUTH", "wants a password"]
            .into_iter()
            .any(|words| redact::contains(&message, words));
        Error::Unavailable {
            lock: None,
            message,
            retry_after: retry_after(self.response),
            may_have_run: may_have_run && !self.nothing_was_executed,
            reason: wants_password.then_some(Reason::NoPassword),
        }
    }

    /// What the bridge itself says: the status, and its error if it answers in JSON. A proxy's page
    /// is left out.
    pub(super) fn said(&self) -> String {
        let status = self.response.status;
        match &self.error {
            Some(error) => format!("the bridge says \"{error}\" (status {status})"),
            None => format!("the bridge answers with status {status}"),
        }
    }
}

/// Replies, if all are. Nil counts as nothing, and `false` is a reply only inside of an array.
pub(super) fn replies<const N: usize>(members: [Reply; N]) -> Option<[Option<Reply>; N]> {
    let is_reply = |member: &Reply| !matches!(member, Reply::Error(_));
    let are_replies = members.iter().all(is_reply);
    are_replies.then(|| members.map(|member| Some(member).filter(|reply| !reply.is_nil())))
}

/// The text of an error; empty if the error is not a text.
pub(super) fn text(error: Reply) -> String {
    error.as_str().unwrap_or_default().to_owned()
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
