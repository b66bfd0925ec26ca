//! Scripts by their SHA-1.
//!
//! Redis hashes the whole text of a script in each `EVAL`, which is half of what a script of a lock
//! costs it. A script that is known to be quick has run on this server. So it goes as `EVALSHA`,
//! and once more as `EVAL` only if Redis has forgotten it, or may not be asked so: then nothing
//! ran. If its client hangs up in between, nothing runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use redis::{Pipeline, Value};

use super::Node;
use crate::command::{name, word, words};
use crate::no_reply::NoReply;
use crate::script_classifier::{Load, Script};

impl Node {
    /// Runs commands whose scripts are known to be quick.
    pub(super) async fn by_digest(
        &self,
        commands: &Arc<Pipeline>,
        load: &Load,
    ) -> Result<Vec<Value>, NoReply> {
        // Most commands are no scripts.
        if let [digest] = &load.scripts[..]
            && self.takes_digests.load(Ordering::Relaxed)
            && let Some(short) = with_digest(commands, digest)
        {
            let replies = self.together(&Arc::new(short), load).await?;
            let [Value::ServerError(refused)] = &replies[..] else {
                return Ok(replies);
            };
            let said = refused.details().unwrap_or_default();
            match refused.code() {
                "NOSCRIPT" if said.starts_with("No matching script") => {}
                "NOPERM" if said.contains("'evalsha'") => {
                    self.takes_digests.store(false, Ordering::Relaxed);
                }
                _ => return Ok(replies),
            }
        }
        self.together(commands, load).await
    }
}

/// The same, if it is one `EVAL`. Of several commands, Redis would run those behind one that it
/// does not know.
fn with_digest(commands: &Pipeline, digest: &Script) -> Option<Pipeline> {
    let command = commands.cmd_iter().next()?;
    if commands.len() != 1 || name(command) != b"EVAL" {
        return None;
    }
    // Without a number of keys the error names the command.
    word(command, 2)?;
    let mut short = Pipeline::new();
    short.cmd("EVALSHA").arg(digest);
    for word in words(command).skip(2) {
        short.arg(word);
    }
    Some(short)
}
