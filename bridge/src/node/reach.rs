//! How a server is reached, and what is logged if it is not.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::Node;
use crate::dial::NoConnection;
use crate::link::Link;
use crate::no_reply::NoReply;
use crate::reused::Reusable as _;
use crate::topic::Message;

/// A connection that takes longer to open counts as failed, so that a dead Redis is reported soon.
pub(super) const DIAL: Duration = Duration::from_secs(1);

/// How many idle connections are kept for commands that need one to themselves.
const SPARES: usize = 16;

impl Node {
    pub(super) async fn spare(&self) -> Result<Link, NoReply> {
        let kept = {
            let mut spares = self.spares.lock();
            spares.retain(Link::is_open);
            spares.pop()
        };
        match kept {
            Some(connection) => Ok(connection),
            None => self.dial().await,
        }
    }

    pub(super) fn keep(&self, connection: Link) {
        let mut spares = self.spares.lock();
        if spares.len() < SPARES {
            spares.push(connection);
        }
    }

    pub(super) async fn dial(&self) -> Result<Link, NoReply> {
        self.opened(None).await
    }

    /// On the connection Redis sends messages, besides answers, if they have a receiver.
    pub(super) async fn opened(
        &self,
        messages: Option<UnboundedSender<Message>>,
    ) -> Result<Link, NoReply> {
        let opened = timeout(DIAL, self.server.connection(&self.limits, messages)).await;
        let opened = opened.unwrap_or_else(|_| Err(format!("no answer within {DIAL:?}").into()));
        let opened = opened.map_err(|lost| self.unreachable(lost))?;
        if self.away.lock().take().is_some() {
            tracing::info!("redis is back");
        }
        Ok(opened)
    }

    /// Logs this once for each reason, until Redis is back.
    pub(super) fn unreachable(&self, lost: NoConnection) -> NoReply {
        let NoConnection { told, reason, advice } = lost;
        let known = self.away.lock().replace(reason.clone());
        if known.as_ref() != Some(&reason) {
            let server = self.server.shown();
            tracing::error!(server, %reason, advice, "redis cannot be reached");
        }
        told
    }
}
