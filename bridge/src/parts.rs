//! A request that is sent in parts, within the bounds of one.

use redis::Value;
use tokio::time::{Instant, timeout_at};

use crate::budget::Limits;
use crate::link;
use crate::no_reply::NoReply;

/// The replies so far.
pub(crate) struct Parts {
    replies: Vec<Value>,
    /// What they cost, with those that were dropped.
    cost: usize,
    largest: usize,
    ends: Instant,
}

impl Parts {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            replies: Vec::new(),
            cost: 0,
            largest: limits.max_reply,
            ends: Instant::now() + limits.timeout,
        }
    }

    /// Awaits the replies to the next part. The first one bounds its own time.
    pub(crate) async fn add(
        &mut self,
        part: impl Future<Output = Result<Vec<Value>, NoReply>>,
    ) -> Result<(), NoReply> {
        let answered = match self.replies.is_empty() {
            true => part.await,
            false => timeout_at(self.ends, part).await.unwrap_or(Err(NoReply::Late)),
        };
        for reply in answered.map_err(|lost| lost.behind(&self.replies))? {
            self.cost = (self.cost).saturating_add(link::cost(std::slice::from_ref(&reply)));
            self.replies.push(match self.cost > self.largest {
                true => link::too_large(),
                false => reply,
            });
        }
        Ok(())
    }

    pub(crate) fn replies(self) -> Vec<Value> {
        self.replies
    }
}
