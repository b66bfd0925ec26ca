//! Whether a server answers. It is asked on a connection of its own.

use std::sync::Arc;

use redis::{Pipeline, ServerError, Value, cmd};
use tokio::time::timeout;

use super::Node;
use super::reach::DIAL;
use crate::command;
use crate::link::Link;
use crate::no_reply::NoReply;
use crate::server_error;

/// A node of a cluster that is down answers `PING`, but no command on a key.
const PROBE: &str = "{edgelock}:health";

impl Node {
    /// Why Redis serves no commands now, if it does not. Anybody may read this, so it quotes only
    /// the code of an error.
    pub(crate) async fn trouble(&self) -> Option<String> {
        let questions = [cmd("PING"), cmd("EXISTS").arg(PROBE).clone()];
        let answers = match timeout(DIAL, self.asked_for_health(command::of(&questions))).await {
            Ok(Ok((answers, _))) => answers,
            Ok(Err(lost @ (NoReply::NotLetIn | NoReply::NotNow))) => {
                return Some(lost.text().into());
            }
            _ => return Some("ERR Redis does not answer".into()),
        };
        let code = |answer| server_error::of(answer).map_or("", ServerError::code);
        let codes = answers.iter().map(code);
        match codes.collect::<Vec<_>>()[..] {
            ["BUSY", ..] => Some("ERR a script keeps Redis busy".into()),
            ["NOAUTH", ..] => Some(NoReply::NotLetIn.text().into()),
            ["" | "NOPERM", down @ "CLUSTERDOWN"] => Some(format!("ERR Redis says {down}")),
            ["" | "NOPERM", _] => None,
            [code, ..] => Some(format!("ERR Redis says {code}")),
            [] => None,
        }
    }

    /// Ends a script that keeps Redis busy, if the bridge sent it.
    ///
    /// Redis decides: it says that it is busy once the script has run for its
    /// `busy-reply-threshold`. It ends no script before that, and none that has written.
    pub(crate) async fn end_overdue_scripts(&self) {
        let asked = self.asked_for_health(command::one(&["PING"])).await;
        if let Ok((answers, connection)) = asked
            && let [answer] = &answers[..]
            && let Some(kill) = self.overdue.to_be_ended(answer)
        {
            let told = connection.ask(kill).await;
            self.overdue.told(told.as_deref());
        }
    }

    async fn asked_for_health(
        &self,
        questions: Arc<Pipeline>,
    ) -> Result<(Vec<Value>, Arc<Link>), NoReply> {
        let health = self.health.get(|| self.dial()).await?;
        match health.ask(questions).await {
            Ok(answers) => Ok((answers, health)),
            Err(_) => {
                self.health.forget(&health);
                Err(NoReply::Broken)
            }
        }
    }
}
