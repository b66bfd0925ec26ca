//! Scripts by their SHA-1.
//!
//! Redis hashes the whole text of a script in each `EVAL`, which is half of what a script of a lock
//! costs it. A script that is known to be quick has run on this server. So it goes as `EVALSHA`,
//! and once more as `EVAL` only if Redis has forgotten it: then nothing ran.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use redis::{Pipeline, Value};

use super::Node;
use crate::link::Link;
use crate::no_reply::NoReply;
use crate::pace::{self, Load};

/// That of no script.
const NOBODYS: &str = "0000000000000000000000000000000000000000";

impl Node {
    /// Runs commands whose scripts are known to be quick.
    pub(super) async fn by_digest(
        &self,
        commands: &Arc<Pipeline>,
        load: &Load,
    ) -> Result<Vec<Value>, NoReply> {
        let may = self.takes_digests.load(Ordering::Relaxed);
        let Some(short) = with_digest(commands, load).filter(|_| may) else {
            return self.together(commands, load).await;
        };
        let replies = self.together(&Arc::new(short), load).await?;
        match code(&replies) {
            Some("NOSCRIPT") => self.together(commands, load).await,
            // The next ones go as they are.
            Some("NOPERM") => {
                self.takes_digests.store(false, Ordering::Relaxed);
                Ok(replies)
            }
            _ => Ok(replies),
        }
    }

    /// A connection for the commands of all requests. Redis tells on it whether the bridge's user
    /// may send `EVALSHA`.
    pub(super) async fn dial_for_all(&self) -> Result<Link, NoReply> {
        let link = self.dial().await?;
        let mut question = Pipeline::new();
        question.cmd("EVALSHA").arg(NOBODYS).arg(0);
        if let Ok(replies) = link.ask(Arc::new(question)).await {
            let takes = code(&replies) == Some("NOSCRIPT");
            self.takes_digests.store(takes, Ordering::Relaxed);
        }
        Ok(link)
    }
}

/// The same, if it is one `EVAL`. Of several commands, Redis would run those behind one that it
/// does not know.
fn with_digest(commands: &Pipeline, load: &Load) -> Option<Pipeline> {
    let (command, [digest]) = (commands.cmd_iter().next()?, &load.scripts[..]) else {
        return None;
    };
    if commands.len() != 1 || pace::name(command) != b"EVAL" {
        return None;
    }
    let mut short = Pipeline::new();
    short.cmd("EVALSHA").arg(digest);
    for word in pace::words(command).skip(2) {
        short.arg(word);
    }
    Some(short)
}

/// That of the error, if the one reply is one.
fn code(replies: &[Value]) -> Option<&str> {
    match replies {
        [Value::ServerError(refused)] => Some(refused.code()),
        _ => None,
    }
}
