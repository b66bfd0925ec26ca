//! The calls of a throttle, and what they came to.

use std::time::Duration;

use super::call::{Call, millis};
use super::outcome::{Outcome, SHAPE, ScriptReply, number};
use crate::error::Error;
use crate::kind::{GIVE_BACK, PASS};
use crate::name::Name;
use crate::token::Token;

const STORED: &str = "throttle";

/// Whether a call went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Passed,
    /// Another did, and the window ends after so long.
    Throttled(Duration),
}

impl Call {
    pub(crate) fn pass(name: &Name, token: &Token, window: Duration) -> Self {
        let call = Self::of_call(&PASS, name, STORED, token);
        call.args([millis(window)]).commands(&[])
    }

    /// Gives up what [`Call::pass`] asked for.
    pub(crate) fn give_back(name: &Name, token: &Token) -> Self {
        Self::of_call(&GIVE_BACK, name, STORED, token).commands(&[])
    }
}

impl Outcome for Passage {
    fn read(reply: &ScriptReply) -> Result<Self, Error> {
        match reply.parts() {
            (1, []) => Ok(Self::Passed),
            (0, [left]) => {
                let left = number(left).ok_or(SHAPE)?;
                Ok(Self::Throttled(Duration::from_millis(left)))
            }
            _ => Err(SHAPE),
        }
    }
}
