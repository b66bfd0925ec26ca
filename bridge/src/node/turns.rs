//! Turns of scripts that may last.
//!
//! One runs at a time. Before it comes the lane, for those that nobody has seen be quick: whoever
//! has many of them waits there, and is ahead of nobody else for longer than one of them takes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

use super::Node;
use crate::no_reply::NoReply;
use crate::script_classifier::Load;

/// How many may wait in the lane. More would not have their turn in time.
pub(super) const IN_LANE: usize = 64;

/// The next one must have its turn within its time.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// A turn, until it is dropped.
pub(super) struct Turn<'a> {
    node: &'a Node,
    _turn: SemaphorePermit<'a>,
    lane: Option<OwnedSemaphorePermit>,
    began: Instant,
    /// How many other requests there had been when it began.
    others: u64,
}

impl Node {
    pub(super) async fn turn(&self, load: &Load) -> Result<Turn<'_>, NoReply> {
        let lane = match load.was_quick {
            true => None,
            false => Some(self.lane().await?),
        };
        Ok(Turn {
            _turn: self.within_time(&self.turn, NoReply::NoTurn).await?,
            lane,
            began: Instant::now(),
            others: self.quick_requests.load(Ordering::Relaxed),
            node: self,
        })
    }

    async fn lane(&self) -> Result<OwnedSemaphorePermit, NoReply> {
        let _place = (self.in_lane.try_acquire()).map_err(|_| NoReply::NoTurn)?;
        let lane = Arc::clone(&self.lane).acquire_owned();
        match timeout(self.limits.timeout, lane).await {
            Ok(Ok(lane)) => Ok(lane),
            _ => Err(NoReply::NoTurn),
        }
    }
}

impl Drop for Turn<'_> {
    /// If others asked meanwhile, they have three times as long as it took, before the next one of
    /// the lane.
    fn drop(&mut self) {
        let are_others = self.node.quick_requests.load(Ordering::Relaxed) != self.others;
        if let Some(lane) = self.lane.take().filter(|_| are_others) {
            let theirs = (3 * self.began.elapsed()).min(LONGEST_REST);
            tokio::spawn(async move {
                sleep(theirs).await;
                drop(lane);
            });
        }
    }
}
