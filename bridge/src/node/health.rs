//! Whether a server answers. It is asked on a connection of its own.

use std::sync::Arc;

use redis::{Pipeline, Value};
use tokio::time::timeout;

use super::Node;
use super::reach::DIAL;
use crate::link::Link;
use crate::no_reply::NoReply;

/// A node of a cluster that is down answers `PING`, but no command on a key.
const PROBE: &str = "{edgelock}:health";

impl Node {
    /// Why Redis serves no commands now, if it does not. Anybody may read this, so it quotes only
    /// the code of an error.
    pub(crate) async fn trouble(&self) -> Option<String> {
        let mut questions = Pipeline::new();
        questions.cmd("PING");
        questions.cmd("EXISTS").arg(PROBE);
        let answers = match timeout(DIAL, self.asked_for_health(questions)).await {
            Ok(Ok((answers, _))) => answers,
            Ok(Err(lost @ (NoReply::NotLetIn | NoReply::NotNow))) => {
                return Some(lost.text().into());
            }
            _ => return Some("ERR Redis does not answer".into()),
        };
        let codes = answers.iter().map(|answer| match answer {
            Value::ServerError(refused) => refused.code(),
            _ => "",
        });
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
        let mut question = Pipeline::new();
        question.cmd("PING");
        let Ok((answers, connection)) = self.asked_for_health(question).await else {
            return;
        };
        if let Some(kill) = answers
            .first()
            .and_then(|answer| self.overdue.to_be_ended(answer))
        {
            let told = connection.ask(Arc::new(kill)).await;
            self.overdue.told(told.as_deref());
        }
    }

    async fn asked_for_health(&self, questions: Pipeline) -> Result<(Vec<Value>, Link), NoReply> {
        let health = self.health.get(|| self.dial()).await?;
        match health.value.ask(Arc::new(questions)).await {
            Ok(answers) => Ok((answers, health.value)),
            Err(_) => {
                self.health.forget(&health);
                Err(NoReply::Broken)
            }
        }
    }
}
