//! Commands that have a connection to themselves while they run: waits for replicas, and
//! transactions.

use std::sync::Arc;

use redis::{Cmd, Pipeline, Value};

use super::{Node, send};
use crate::command::{self, name};
use crate::no_reply::NoReply;
use crate::parts::Parts;
use crate::refuse;
use crate::script_classifier::Load;

impl Node {
    /// On a connection of its own; but scripts that take long take turns with all others.
    pub(super) async fn wait_for_replicas(
        &self,
        commands: &Arc<Pipeline>,
        is_quick: bool,
    ) -> Result<Vec<Value>, NoReply> {
        let _place = (self.waits.try_acquire()).map_err(|_| NoReply::TooManyWaits)?;
        let connection = self.spare().await?;
        let runs = match is_quick {
            true => vec![Arc::clone(commands)],
            false => before_and_behind_waits(commands),
        };
        // As elsewhere, the time to wait for a turn comes before that for Redis.
        let first = (runs.first()).map(|run| self.classifier.load(run));
        let mut turn = match first.filter(|load| !load.is_quick) {
            Some(load) => Some(self.turn(&load).await?),
            None => None,
        };
        let mut parts = Parts::of(&self.limits);
        for run in runs {
            let load = self.classifier.load(&run);
            let turn = turn.take();
            let answered = async {
                match load.is_quick {
                    true => self.ask(&connection, &run, &Load::default(), false).await,
                    // The next script may run while this one waits.
                    false => {
                        let _turn = match turn {
                            Some(turn) => turn,
                            None => self.turn(&load).await?,
                        };
                        self.ask(&connection, &run, &load, true).await
                    }
                }
            };
            parts.add(answered).await?;
        }
        self.keep(connection);
        Ok(parts.replies())
    }

    /// Runs the commands between MULTI and EXEC. The replies are those of the commands when they
    /// were queued, then EXEC's.
    ///
    /// MULTI's own answer is awaited first. If Redis refuses it, to a user that may not run it, the
    /// commands that follow would be executed one by one.
    pub(crate) async fn transact(&self, mut commands: Pipeline) -> Result<Vec<Value>, NoReply> {
        let load = self.classifier.load(&commands);
        let _place = self.within_time(&self.transactions).await?;
        let _turn = match load.is_quick {
            true => None,
            false => Some(self.turn(&load).await?),
        };
        let connection = self.spare().await?;
        let begun = send(&connection, &command::one(&["MULTI"]), 0).await?;
        if !matches!(begun[..], [Value::Okay]) {
            return Ok(begun);
        }
        commands.cmd("EXEC");
        let commands = Arc::new(commands);
        let replies = self.ask(&connection, &commands, &load, false).await?;
        self.keep(connection);
        Ok(replies)
    }
}

/// The commands in runs: those that wait for replicas, and those that do not.
fn before_and_behind_waits(commands: &Pipeline) -> Vec<Arc<Pipeline>> {
    let waits = |command: &Cmd| refuse::waits_for_replicas(&name(command));
    let commands: Vec<_> = commands.cmd_iter().collect();
    let runs = commands.chunk_by(|one, next| waits(one) == waits(next));
    runs.map(|run| command::of(run.iter().copied())).collect()
}
