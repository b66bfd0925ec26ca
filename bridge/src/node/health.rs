//! Whether a server answers. It is asked on a connection of its own.

use std::sync::Arc;

use redis::Value;
use tokio::time::timeout;

use super::Node;
use super::reach::DIAL;
use crate::dial::of_one;
use crate::link::Link;
use crate::no_reply::NoReply;

impl Node {
    /// The trouble of a Redis that does not answer now, or says that it is busy.
    pub(crate) async fn trouble(&self) -> Option<&'static str> {
        match timeout(DIAL, self.asked_for_health()).await {
            Ok(Ok((Value::SimpleString(pong), _))) if pong == "PONG" => None,
            Ok(Ok((Value::ServerError(refused), _))) if refused.code() == "BUSY" => {
                Some("ERR a script keeps Redis busy")
            }
            _ => Some("ERR Redis does not answer"),
        }
    }

    /// Ends a script that keeps Redis busy, if the bridge sent it.
    ///
    /// Redis decides: it says that it is busy once the script has run for its
    /// `busy-reply-threshold`. It ends no script before that, and none that has written.
    pub(crate) async fn end_overdue_scripts(&self) {
        let Ok((answer, connection)) = self.asked_for_health().await else {
            return;
        };
        if let Some(kill) = self.overdue.to_be_ended(&answer) {
            let told = connection.ask(Arc::new(kill)).await;
            self.overdue.told(told.as_deref());
        }
    }

    async fn asked_for_health(&self) -> Result<(Value, Link), NoReply> {
        let health = self.health.get(|| self.dial()).await?;
        let answered = health.value.ask(of_one("PING")).await;
        match answered.map(|mut replies| replies.pop()) {
            Ok(Some(answer)) => Ok((answer, health.value)),
            _ => {
                self.health.forget(&health);
                Err(NoReply::Broken)
            }
        }
    }
}
