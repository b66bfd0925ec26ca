//! Each Redis reply as an outcome.

use std::any::Any;
use std::time::Duration;

use super::refusal::refusal;
use crate::command::Reply;
use crate::error::{BadResponse, Error};
use crate::label;
use crate::resp;

/// What the reply of a script says.
pub(crate) trait Outcome: Send + Sized + 'static {
    /// # Errors
    /// It says nothing of the kind, or one of the call's commands failed.
    fn read(reply: &ScriptReply) -> Result<Self, Error>;
}

/// An [`Outcome`] whose type only its caller knows. So what sends, and what counts votes, are
/// compiled once, and not for each type.
pub(crate) struct AnyOutcome(Box<dyn Any + Send>);

impl AnyOutcome {
    pub(crate) fn new<O: Outcome>(outcome: O) -> Self {
        Self(Box::new(outcome))
    }

    pub(crate) fn get<O: Outcome>(&self) -> Option<&O> {
        self.0.downcast_ref()
    }

    /// # Errors
    /// It is of another type.
    pub(crate) fn into<O: Outcome>(self) -> Result<O, Error> {
        self.0.downcast().map_or(Err(SHAPE), |outcome| Ok(*outcome))
    }
}

/// What an `acquire` came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    Granted {
        fence: u64,
        replies: Vec<Reply>,
    },
    Held(Contended),
    /// This server has no say yet, for so long.
    Quarantined(Duration),
    /// It was executed before, and this is what is kept of it.
    Kept(String),
    /// Something else was executed under the same key, or is being.
    Mismatch,
    /// The token had ended before; only a straggler gets to hear this.
    Gone,
}

/// Why a lock was not had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contended {
    /// The time that the holder has left, or the waiter that it is kept for; `None` without end.
    pub(crate) remaining: Option<Duration>,
    /// How many wait before this one.
    pub(crate) ahead: u64,
    /// Redis's clock when it said so, in microseconds; the last fence, if the clock is behind that.
    pub(crate) redis_us: u64,
    /// What the holder lets others know of itself.
    pub(crate) label: Option<String>,
    /// What the reads found, if they were asked for in any case.
    pub(crate) replies: Vec<Reply>,
    /// Of several names that are locked at once: the place of the one that is held, from 1.
    pub(crate) at: Option<usize>,
    /// For how long another of them is kept free for this waiter. It should ask again then.
    pub(crate) kept: Option<Duration>,
}

impl Outcome for Acquired {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match (reply.verdict, reply.rest.as_slice()) {
            (1, [fence, results]) => Ok(Self::Granted {
                fence: number(fence).ok_or(SHAPE)?,
                replies: reply.results(results)?,
            }),
            (0, [left, ahead, time, label, more @ ..]) if more.len() <= 3 => {
                let number_at = |at| more.get(at).map(|of| number(of).ok_or(SHAPE)).transpose();
                let (at, kept) = (number_at(1)?, number_at(2)?);
                Ok(Self::Held(Contended {
                    remaining: duration(left.about().ok_or(SHAPE)?),
                    ahead: number(ahead).ok_or(SHAPE)?,
                    redis_us: number(time).ok_or(SHAPE)?,
                    label: label::read(label.as_str().ok_or(SHAPE)?),
                    replies: more.first().map_or_else(|| Ok(Vec::new()), results_of)?,
                    at: at.and_then(|at| at.try_into().ok()),
                    kept: kept.map(Duration::from_millis),
                }))
            }
            (2, [kept]) => kept_of(kept).map(Self::Kept),
            (-1, []) => Ok(Self::Gone),
            (-3, []) => Ok(Self::Mismatch),
            (-2, [left]) => Ok(Self::Quarantined(
                left.as_i64().and_then(duration).ok_or(SHAPE)?,
            )),
            _ => Err(SHAPE),
        }
    }
}

/// The text that is kept.
fn kept_of(reply: &Reply) -> Result<String, Error> {
    let Ok([Reply::Bytes(kept)]) = <[Reply; 1]>::try_from(results_of(reply)?) else {
        return Err(SHAPE);
    };
    String::from_utf8(kept).map_err(|_| SHAPE)
}

/// The replies of the commands.
impl Outcome for Vec<Reply> {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match (reply.verdict, reply.rest.as_slice()) {
            (1, [results]) => reply.results(results),
            _ => Err(SHAPE),
        }
    }
}

/// The replies of the commands, or `None` if the lease is lost.
impl Outcome for Option<Vec<Reply>> {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match (reply.verdict, reply.rest.as_slice()) {
            (1, [results]) => reply.results(results).map(Some),
            (0, []) => Ok(None),
            (-1, []) => Err(replaced()),
            _ => Err(SHAPE),
        }
    }
}

/// What a lease has after a renewal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Renewed {
    /// 0 where Redis does not know it any more.
    pub(crate) fence: u64,
    /// From when its request was executed, at least.
    pub(crate) ttl: Duration,
    pub(crate) replies: Vec<Reply>,
}

/// What the lease has, or `None` if it is lost.
impl Outcome for Option<Renewed> {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match (reply.verdict, reply.rest.as_slice()) {
            (1, [renewed]) => renewed_of(renewed.as_str().ok_or(SHAPE)?).map(Some),
            (0, []) => Ok(None),
            (-1, []) => Err(replaced()),
            _ => Err(SHAPE),
        }
    }
}

/// For a repeat of a write that was executed, and whose receipt was replaced by another handler's
/// write. Asking again would not find it.
fn replaced() -> Error {
    let what = "another handler wrote with the same token before this write was answered";
    Error::refused(what.into(), true)
}

fn renewed_of(text: &str) -> Result<Renewed, Error> {
    let (fence, rest) = text.split_once(' ').ok_or(SHAPE)?;
    let (ms, results) = rest.split_once(' ').ok_or(SHAPE)?;
    Ok(Renewed {
        fence: fence.parse().map_err(|_| SHAPE)?,
        ttl: ms.parse().map(Duration::from_millis).map_err(|_| SHAPE)?,
        replies: results_in(results)?,
    })
}

/// Yes or no; or somebody holds the lock who must not be disturbed.
impl Outcome for bool {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match (reply.verdict, reply.rest.as_slice()) {
            (1, []) => Ok(true),
            (0, []) => Ok(false),
            (2, [left, label]) => {
                let left = duration(left.about().ok_or(SHAPE)?);
                Err(Error::held(left, label::read(label.as_str().ok_or(SHAPE)?)))
            }
            _ => Err(SHAPE),
        }
    }
}

/// A reply whose nonce was right: the verdict, and what follows the nonce.
#[derive(Debug)]
pub(crate) struct ScriptReply {
    verdict: i64,
    rest: Vec<Reply>,
    tells_each: bool,
}

/// The verdict of each script that finds a record of another version. Nothing was executed.
const UNKNOWN_VERSION: i64 = -4;

pub(super) const SHAPE: Error = Error::unexpected("not the reply of this script");

/// Takes a reply apart. One without this request's nonce is another's, whatever it says.
pub(crate) fn verdict(reply: Reply, nonce: &str) -> Result<ScriptReply, Error> {
    let mut rest = match reply {
        Reply::Array(elements) => elements,
        Reply::Error(text) => return Err(refusal(text)),
        _ => return Err(SHAPE),
    };
    let (Some(verdict), Some(echo)) = (rest.first().and_then(Reply::as_i64), rest.get(1)) else {
        return Err(SHAPE);
    };
    if echo.as_str() != Some(nonce) {
        return Err(Error::unexpected("the reply to another request"));
    }
    if verdict == UNKNOWN_VERSION {
        let what = "the lock is stored in the form of another version of edgelock";
        return Err(Error::refused(what.into(), false));
    }
    rest.drain(..2);
    Ok(ScriptReply {
        verdict,
        rest,
        tells_each: false,
    })
}

impl ScriptReply {
    /// Whether a command that failed is a reply, and not the error of all.
    pub(crate) const fn telling_each(mut self, tells_each: bool) -> Self {
        self.tells_each = tells_each;
        self
    }

    /// The verdict, and what follows the nonce.
    pub(super) const fn parts(&self) -> (i64, &[Reply]) {
        (self.verdict, self.rest.as_slice())
    }

    pub(super) fn results(&self, results: &Reply) -> Result<Vec<Reply>, Error> {
        match self.tells_each {
            true => each_of(results),
            false => results_of(results),
        }
    }

    /// Whether the lock is the caller's, or was until now.
    pub(crate) const fn is_yes(&self) -> bool {
        self.verdict == 1
    }
}

/// The commands' replies.
fn each_of(results: &Reply) -> Result<Vec<Reply>, Error> {
    resp::parse(results.as_str().ok_or(SHAPE)?).ok_or(SHAPE)
}

/// The commands' replies; the first error among them is the error of all.
fn results_of(results: &Reply) -> Result<Vec<Reply>, Error> {
    results_in(results.as_str().ok_or(SHAPE)?)
}

fn results_in(text: &str) -> Result<Vec<Reply>, Error> {
    let replies = resp::parse(text).ok_or(SHAPE)?;
    for (index, reply) in replies.iter().enumerate() {
        if resp::is_left_out(reply) {
            return Err(Error::bad(BadResponse::TooLarge));
        }
        if let Reply::Error(message) = reply {
            // The call knows the names.
            return Err(Error::CommandFailed {
                lock: None,
                index,
                command: String::new(),
                message: message.clone(),
            });
        }
    }
    Ok(replies)
}

pub(super) fn number(reply: &Reply) -> Option<u64> {
    reply.as_i64().and_then(|number| u64::try_from(number).ok())
}

/// Redis's `PTTL`: -1 for a key without expiry.
pub(super) fn duration(ms: i64) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}
