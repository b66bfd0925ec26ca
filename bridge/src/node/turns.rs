//! Turns of scripts that may last.
//!
//! One runs at a time. Before it comes the lane, for those that nobody has seen be quick: whoever
//! has many of them waits there, and is ahead of nobody else for longer than one of them takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use crate::no_reply::NoReply;

/// How many may wait in the lane. More would not have their turn in time.
const IN_LANE: usize = 64;

/// The next one must have its turn within its time.
const LONGEST_REST: Duration = Duration::from_secs(1);

pub(super) struct Turns {
    turn: Mutex<()>,
    /// When the next of the lane may have its turn.
    lane: Mutex<Instant>,
    in_lane: Semaphore,
    /// How many requests there have been besides.
    others: AtomicU64,
}

/// A turn, until it is dropped.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    _turn: MutexGuard<'a, ()>,
    lane: Option<MutexGuard<'a, Instant>>,
    began: Instant,
    others: u64,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            turn: Mutex::default(),
            lane: Mutex::new(Instant::now()),
            in_lane: Semaphore::new(IN_LANE),
            others: AtomicU64::default(),
        }
    }

    /// A request that waits for no turn.
    pub(super) fn count_other(&self) {
        self.others.fetch_add(1, Ordering::Relaxed);
    }

    /// The next turn, if that is within `limit`.
    pub(super) async fn take(&self, was_quick: bool, limit: Duration) -> Result<Turn<'_>, NoReply> {
        let turn = async {
            let lane = match was_quick {
                true => None,
                false => Some(self.lane().await?),
            };
            Ok(Turn {
                _turn: self.turn.lock().await,
                lane,
                began: Instant::now(),
                others: self.others.load(Ordering::Relaxed),
                turns: self,
            })
        };
        timeout(limit, turn).await.unwrap_or(Err(NoReply::NoTurn))
    }

    async fn lane(&self) -> Result<MutexGuard<'_, Instant>, NoReply> {
        let _place = (self.in_lane.try_acquire()).map_err(|_| NoReply::NoTurn)?;
        let next = self.lane.lock().await;
        sleep_until(*next).await;
        Ok(next)
    }
}

impl Drop for Turn<'_> {
    /// If others asked meanwhile, they have three times as long as it took, before the next one of
    /// the lane.
    fn drop(&mut self) {
        let are_others = self.turns.others.load(Ordering::Relaxed) != self.others;
        if let Some(next) = self.lane.as_mut().filter(|_| are_others) {
            **next = Instant::now() + (3 * self.began.elapsed()).min(LONGEST_REST);
        }
    }
}
