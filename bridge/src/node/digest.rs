//! Scripts by their SHA-1.
//!
//! Redis hashes the whole text of a script in each `EVAL`, which is half of what a script of a lock
//! costs it. A script that is known to be quick has run on this server. So it goes as `EVALSHA`,
//! and once more as `EVAL` only if Redis has forgotten it: then nothing ran. If its client hangs up
//! in between, nothing runs.

use std::sync::{Arc, MutexGuard, PoisonError};

use redis::{Pipeline, ServerError, Value};
use tokio::time::timeout;

use super::Node;
use super::reach::DIAL;
use crate::no_reply::NoReply;
use crate::reply;
use crate::script_classifier::{self, Load, Script};

/// That of no script.
const NOBODYS: &str = "0000000000000000000000000000000000000000";

/// Whether scripts may go by their SHA-1.
#[derive(Default)]
pub(super) enum Digests {
    #[default]
    NotKnown,
    Refused,
    /// What Redis says of a script that it does not know. A script of a client's can answer with
    /// the same code, and then it has run.
    Taken(Arc<str>),
}

impl Digests {
    fn taken(&self) -> Option<Arc<str>> {
        match self {
            Self::Taken(unknown) => Some(Arc::clone(unknown)),
            Self::NotKnown | Self::Refused => None,
        }
    }
}

impl Node {
    /// Runs commands whose scripts are known to be quick.
    pub(super) async fn by_digest(
        &self,
        commands: &Arc<Pipeline>,
        load: &Load,
    ) -> Result<Vec<Value>, NoReply> {
        let short = || {
            // Most commands are no scripts.
            let [digest] = &load.scripts[..] else {
                return None;
            };
            let unknown = self.digests().taken()?;
            Some((unknown, with_digest(commands, digest)?))
        };
        let Some((unknown, short)) = short() else {
            return self.together(commands, load).await;
        };
        let replies = self.together(&Arc::new(short), load).await?;
        match refused(&replies) {
            Some(refused) if reply::raw(refused) == *unknown => self.together(commands, load).await,
            Some(refused) if refused.code() == "NOPERM" => {
                *self.digests() = Digests::NotKnown;
                Ok(replies)
            }
            _ => Ok(replies),
        }
    }

    /// Asks what is not known of it. No command waits for that.
    pub(super) async fn learn_of_digests(&self) {
        if !matches!(*self.digests(), Digests::NotKnown) {
            return;
        }
        let mut question = Pipeline::new();
        question.cmd("EVALSHA").arg(NOBODYS).arg(0);
        let Ok(Ok(link)) = timeout(DIAL, self.spare()).await else {
            return;
        };
        let Ok(Ok(replies)) = timeout(DIAL, link.ask(Arc::new(question))).await else {
            return;
        };
        self.keep(link);
        *self.digests() = match refused(&replies) {
            Some(said) if said.code() == "NOSCRIPT" => Digests::Taken(reply::raw(said).into()),
            Some(said) if matches!(said.code(), "NOPERM" | "ERR") => Digests::Refused,
            // Not now.
            _ => Digests::NotKnown,
        };
    }

    /// As far as that is known.
    pub(super) fn digests(&self) -> MutexGuard<'_, Digests> {
        (self.digests.lock()).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same, if it is one `EVAL`. Of several commands, Redis would run those behind one that it
/// does not know.
fn with_digest(commands: &Pipeline, digest: &Script) -> Option<Pipeline> {
    let command = commands.cmd_iter().next()?;
    if commands.len() != 1 || script_classifier::name(command) != b"EVAL" {
        return None;
    }
    // Without a number of keys the error names the command.
    script_classifier::word(command, 2)?;
    let mut short = Pipeline::new();
    short.cmd("EVALSHA").arg(digest);
    for word in script_classifier::words(command).skip(2) {
        short.arg(word);
    }
    Some(short)
}

fn refused(replies: &[Value]) -> Option<&ServerError> {
    match replies {
        [Value::ServerError(refused)] => Some(refused),
        _ => None,
    }
}
