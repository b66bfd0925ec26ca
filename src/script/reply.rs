//! Takes the reply of a script apart.

use std::time::Duration;

use super::refusal::refusal;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault};
use crate::resp;

/// The verdict of each script that finds a record of another version. Nothing was executed.
const UNKNOWN_VERSION: i64 = -4;

pub(crate) fn shape() -> Fault {
    Fault::unexpected("not the reply of this script")
}

/// What says that the lock is the caller's, or was until now.
pub(crate) const YES: i64 = 1;

/// The verdict, and what follows the nonce. A reply without this request's nonce is another's,
/// whatever it says.
pub(crate) fn verdict<'r>(reply: &'r Reply, nonce: &str) -> Result<(i64, &'r [Reply]), Fault> {
    if let Reply::Error(text) = reply {
        return Err(refusal(text.clone()));
    }
    let Some([verdict, echo, rest @ ..]) = reply.as_array() else {
        return Err(shape());
    };
    let verdict = verdict.as_i64().ok_or_else(shape)?;
    if echo.as_str() != Some(nonce) {
        return Err(Fault::unexpected("the reply to another request"));
    }
    if verdict == UNKNOWN_VERSION {
        let what = "the lock is stored in the form of another version of edgelock";
        return Err(Fault::refused(what.into(), false));
    }
    Ok((verdict, rest))
}

/// The commands' replies.
pub(super) fn each_of(results: &Reply) -> Result<Vec<Reply>, Fault> {
    resp::parse(text(results)?).ok_or_else(shape)
}

/// The commands' replies; the first error among them is the error of all.
pub(super) fn results_of(results: &Reply) -> Result<Vec<Reply>, Fault> {
    results_in(text(results)?)
}

pub(super) fn results_in(text: &str) -> Result<Vec<Reply>, Fault> {
    let replies = resp::parse(text).ok_or_else(shape)?;
    for (index, reply) in replies.iter().enumerate() {
        if resp::is_left_out(reply) {
            return Err(Fault::bad(BadResponse::TooLarge));
        }
        if let Reply::Error(message) = reply {
            // The call knows the names.
            let (command, message) = (String::new(), message.clone());
            return Err(Error::CommandFailed {
                lock: None,
                index,
                command,
                message,
            }
            .into());
        }
    }
    Ok(replies)
}

pub(super) fn millis_of(reply: &Reply) -> Result<Duration, Fault> {
    number(reply).map(Duration::from_millis)
}

pub(super) fn number(reply: &Reply) -> Result<u64, Fault> {
    let number = reply.as_i64().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(shape)
}

pub(super) fn text(reply: &Reply) -> Result<&str, Fault> {
    reply.as_str().ok_or_else(shape)
}

/// Redis's `PTTL`: -1 for a key without expiry.
pub(super) fn time_left(reply: &Reply) -> Result<Option<Duration>, Fault> {
    let ms = reply.about().ok_or_else(shape)?;
    Ok(u64::try_from(ms).ok().map(Duration::from_millis))
}
