//! Takes the reply of a script apart.

use std::time::Duration;

use super::refusal::refusal;
use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault};
use crate::resp;

/// A reply whose nonce was right: the verdict, and what follows the nonce.
#[derive(Debug)]
pub(crate) struct ScriptReply {
    pub(super) verdict: i64,
    pub(super) rest: Vec<Reply>,
}

/// The verdict of each script that finds a record of another version. Nothing was executed.
const UNKNOWN_VERSION: i64 = -4;

pub(crate) fn shape() -> Fault {
    Error::unexpected("not the reply of this script").into()
}

/// Takes a reply apart. One without this request's nonce is another's, whatever it says.
pub(crate) fn verdict(reply: Reply, nonce: &str) -> Result<ScriptReply, Fault> {
    let mut rest = match reply {
        Reply::Array(elements) => elements,
        Reply::Error(text) => return Err(refusal(text).into()),
        _ => return Err(shape()),
    };
    let (Some(verdict), Some(echo)) = (rest.first().and_then(Reply::as_i64), rest.get(1)) else {
        return Err(shape());
    };
    if echo.as_str() != Some(nonce) {
        return Err(Error::unexpected("the reply to another request").into());
    }
    if verdict == UNKNOWN_VERSION {
        let what = "the lock is stored in the form of another version of edgelock";
        return Err(Error::refused(what.into(), false).into());
    }
    rest.drain(..2);
    Ok(ScriptReply { verdict, rest })
}

impl ScriptReply {
    /// Whether the lock is the caller's, or was until now.
    pub(crate) const fn is_yes(&self) -> bool {
        self.verdict == 1
    }
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
            return Err(Error::bad(BadResponse::TooLarge).into());
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
