//! The calls of a debounce, and what they came to.

use std::time::Duration;

use super::call::{Call, millis};
use super::outcome::{Outcome, SHAPE, ScriptReply, number};
use crate::command::Reply;
use crate::error::Error;
use crate::kind::{ARRIVE, LEAVE, SETTLE};
use crate::name::Name;
use crate::token::Token;

const STORED: &str = "debounce";

/// A call waits no longer than that.
pub(crate) const LONGEST_DEBOUNCE: Duration = Duration::from_secs(24 * 60 * 60);

/// It is to wait for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived(pub(crate) Duration);

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It is the last.
    GoesThrough,
    /// Another came after it.
    Overtaken,
    /// Its time comes after so long.
    Early(Duration),
}

impl Call {
    /// `wait` is how long it is to be quiet; `max_wait` how long the first call of a burst waits at
    /// most.
    pub(crate) fn arrive(name: &Name, token: &Token, wait: Duration, max_wait: Duration) -> Self {
        let call = Self::of_call(&ARRIVE, name, STORED, token);
        call.args([millis(wait), millis(max_wait)]).commands(&[])
    }

    /// Redis's clock does not count if the call's time `is_over` by its own.
    pub(crate) fn settle(name: &Name, token: &Token, is_over: bool) -> Self {
        let call = Self::of_call(&SETTLE, name, STORED, token);
        call.args([u8::from(is_over).to_string()]).commands(&[])
    }

    /// Gives up what [`Call::arrive`] asked for.
    pub(crate) fn leave(name: &Name, token: &Token) -> Self {
        Self::of_call(&LEAVE, name, STORED, token).commands(&[])
    }
}

impl Outcome for Arrived {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match reply.parts() {
            (1, [wait]) => match duration(wait)? {
                wait if wait <= LONGEST_DEBOUNCE => Ok(Self(wait)),
                _ => Err(SHAPE),
            },
            _ => Err(SHAPE),
        }
    }
}

impl Outcome for Settled {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match reply.parts() {
            (1, []) => Ok(Self::GoesThrough),
            (0, []) => Ok(Self::Overtaken),
            (2, [left]) => duration(left).map(Self::Early),
            (-1, []) => Err(forgotten()),
            _ => Err(SHAPE),
        }
    }
}

fn duration(ms: &Reply) -> Result<Duration, Error> {
    number(ms).map(Duration::from_millis).ok_or(SHAPE)
}

/// Asking again would not find it.
fn forgotten() -> Error {
    let what = "Redis knows nothing of this call any more: it asked more than a minute too late, or Redis lost its data";
    Error::refused(what.into(), true)
}
