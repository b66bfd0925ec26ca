//! How a server is reached, and what is logged if it is not.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::Node;
use crate::dial::NoConnection;
use crate::link::Link;
use crate::no_reply::NoReply;
use crate::reused::Reusable as _;

/// A connection that takes longer to open counts as failed, so that a dead Redis is reported soon.
pub(super) const DIAL: Duration = Duration::from_secs(1);

/// How many idle connections are kept for commands that need one to themselves.
const SPARES: usize = 16;

impl Node {
    pub(super) async fn spare(&self) -> Result<Link, NoReply> {
        let kept = {
            let mut spares = self.spares();
            spares.retain(Link::is_open);
            spares.pop()
        };
        match kept {
            Some(connection) => Ok(connection),
            None => self.dial().await,
        }
    }

    pub(super) fn keep(&self, connection: Link) {
        let mut spares = self.spares();
        if spares.len() < SPARES {
            spares.push(connection);
        }
    }

    pub(super) async fn dial(&self) -> Result<Link, NoReply> {
        self.within_dial(self.server.connection(self.limits.timeout))
            .await
    }

    pub(super) async fn within_dial<T>(
        &self,
        opening: impl Future<Output = Result<T, NoConnection>>,
    ) -> Result<T, NoReply> {
        let opened = timeout(DIAL, opening).await;
        let opened = opened
            .unwrap_or_else(|_| Err(NoConnection::Other(format!("no answer within {DIAL:?}"))));
        let opened = opened.map_err(|reason| self.unreachable(&reason))?;
        if self.away().take().is_some() {
            tracing::info!("redis is back");
        }
        Ok(opened)
    }

    /// Logs this once for each reason, until Redis is back.
    pub(super) fn unreachable(&self, reason: &NoConnection) -> NoReply {
        let text = reason.to_string();
        let known = self.away().replace(text.clone());
        if known.as_ref() != Some(&text) {
            let server = self.server.shown();
            let advice = "see that it runs, and that --redis is its address";
            tracing::error!(server, %reason, advice, "redis cannot be reached");
        }
        match reason {
            NoConnection::NoPassword | NoConnection::WrongPassword => NoReply::NotLetIn,
            NoConnection::NotNow(_) => NoReply::NotNow,
            NoConnection::Other(_) => NoReply::Unreachable,
        }
    }

    pub(super) fn spares(&self) -> MutexGuard<'_, Vec<Link>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn away(&self) -> MutexGuard<'_, Option<String>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
