//! What a response says in any dialect: by its status, or because its body is not a bridge's.

use std::borrow::Cow;
use std::mem;
use std::time::Duration;

use super::json::{self, Members};
use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault, Reason};
use crate::outside;
use crate::redact;
use crate::transport::Response;

/// A response whose body was read, once.
pub(super) struct Answer<'a> {
    response: &'a Response,
    text: Cow<'a, str>,
    /// The value under the dialect's own name; nothing if this is not the JSON of a bridge.
    value: Option<Reply>,
    /// Bridges, and many proxies, report errors in this form.
    error: Reply,
    /// `edgelock-bridge` has its own member for this. Words prove nothing: a gateway that is "busy"
    /// means itself.
    nothing_was_executed: bool,
}

impl<'a> Answer<'a> {
    /// A response that is not an answer.
    pub(super) fn unread(response: &'a Response) -> Self {
        Self {
            response,
            text: outside::lossy(&response.body),
            value: None,
            error: Reply::Nil,
            nothing_was_executed: false,
        }
    }

    /// An answer, of which this member is the value.
    pub(super) fn read(response: &'a Response, value: fn(&mut Members) -> &mut Reply) -> Self {
        let mut answer = Self::unread(response);
        if let Some(mut members) = json::members(&answer.text) {
            answer.value = Some(mem::replace(value(&mut members), Reply::Nil));
            answer.error = members.error;
            answer.nothing_was_executed = matches!(members.executed, Reply::Error(_));
        }
        answer
    }

    /// The value, and the text of the error; that is empty if the error is not a text.
    pub(super) fn take(&mut self) -> Result<(Option<Reply>, Option<String>), Fault> {
        match self.value.take() {
            Some(value) if is_reply(&value) && is_reply(&self.error) => {
                Ok((Some(value).filter(|value| !value.is_nil()), text(&self.error)))
            }
            _ => Err(self.malformed()),
        }
    }

    /// Why the status alone says that nothing was executed.
    pub(super) fn refusal(&self) -> Option<Fault> {
        let status = self.response.status;
        match status {
            0 | 300..=399 => Some(Fault::bad(BadResponse::Redirected { status })),
            401 | 403 => Some(Fault::unauthorized(self.said())),
            404 | 405 => Some(Fault::refused(self.said(), false).because(Some(Reason::NoBridge))),
            413 | 415 => Some(Fault::refused(self.said(), false)),
            // The bridge shed it before it reached Redis.
            429 => Some(self.unavailable(false)),
            _ => None,
        }
    }

    /// What each object in a list has, if that is what it is.
    pub(super) fn list(&self) -> Option<Vec<Members>> {
        json::members_of_each(&self.text)
    }

    /// It is not the JSON of a bridge.
    pub(super) fn malformed(&self) -> Fault {
        let (status, text) = (self.response.status, self.text.trim());
        if status >= 500 {
            self.unavailable(true)
        } else if text.is_empty()
            || text.starts_with('{') && !text.ends_with('}')
            || text.starts_with('[') && !text.ends_with(']')
        {
            Fault::bad(BadResponse::Truncated)
        } else if text.starts_with(['{', '[', '"']) {
            Fault::unexpected("not the JSON of a bridge")
        } else {
            Fault::bad(BadResponse::NotJson { status })
        }
    }

    /// `may_have_run` unless the bridge itself says that nothing was executed.
    pub(super) fn unavailable(&self, may_have_run: bool) -> Fault {
        let message = self.said();
        // What Redis says to a bridge that has not logged in, and what edgelock-bridge makes of it.
        let wants_password = ["NOAUTH", "wants a password"]
            .into_iter()
            .any(|words| redact::contains(&message, words));
        Fault::from(Error::Unavailable {
            lock: None,
            message,
            retry_after: retry_after(self.response),
            may_have_run: may_have_run && !self.nothing_was_executed,
            can_repeat: false,
            reason: wants_password.then_some(Reason::NoPassword),
        })
    }

    /// What the bridge itself says: the status, and its error if it answers in JSON. A proxy's page
    /// is left out.
    pub(super) fn said(&self) -> String {
        let status = self.response.status;
        match self.error.as_str() {
            Some(error) => format!("the bridge says \"{error}\" (status {status})"),
            None => format!("the bridge answers with status {status}"),
        }
    }
}

/// `false` is a reply only inside of an array.
const fn is_reply(member: &Reply) -> bool {
    !matches!(member, Reply::Error(_))
}

/// The text of an error, if there is one; empty if the error is not a text.
pub(super) fn text(error: &Reply) -> Option<String> {
    (!error.is_nil()).then(|| error.as_str().unwrap_or_default().to_owned())
}

/// The header as a number of seconds, a year at most. Its other form, a date, would need a wall
/// clock.
fn retry_after(response: &Response) -> Option<Duration> {
    const LONGEST: u64 = 366 * 24 * 60 * 60;
    let digits = response.retry_after.as_deref()?.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that overflows is a long time too.
    let seconds = is_number.then(|| outside::number(digits).unwrap_or(LONGEST))?;
    Some(Duration::from_secs(seconds.min(LONGEST)))
}
