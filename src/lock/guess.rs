//! Runs a turn as if under the lock, or takes the lock.

use super::Lock;
use crate::drive::drive;
use crate::error::Fault;
use crate::operation::{Claim, RunGuess, RunOrLock};
use crate::runtime::Runtime;
use crate::script::{Call, Guess};
use crate::settings::Settings;
use crate::transport::Transport;

/// A wait for the lock, which may come behind it, has so many requests.
const KEPT: u32 = 5;

/// And it has so many itself: one that is lost is asked for again.
const OWN: u32 = 2;

impl<T: Transport, R: Runtime> Lock<T, R> {
    /// Whether it has such turns. One without writes would leave replicas nothing to wait for.
    pub(crate) fn has_turns(&self) -> bool {
        let Settings { kind, replicas, .. } = &*self.settings;
        kind.turn().is_some() && replicas.is_none() && self.max_requests >= OWN + KEPT
    }

    /// The same lock, with so many requests less.
    pub(crate) fn without(&self, requests: u32) -> Self {
        Self {
            max_requests: self.max_requests.saturating_sub(requests).max(1),
            ..self.clone()
        }
    }

    /// Asks once with each claim.
    ///
    /// # Cancel safety
    /// Dropping the future gives the lock up in the background. Whether the writes ran is unknown.
    pub(crate) async fn guess(&self, claim: Claim, guess: &Guess<'_>) -> Result<RunOrLock, Fault> {
        match self.guessing(claim, guess) {
            Some(guess) => drive(&self.host, guess).await,
            None => Ok(RunOrLock::Held(0)),
        }
    }

    /// `None` for a kind that has no such turns.
    pub(crate) fn guessing(&self, claim: Claim, guess: &Guess<'_>) -> Option<RunGuess> {
        let call = Call::turn(claim.subject(), claim.ttl(), guess)?;
        let limit = self.max_requests.saturating_sub(KEPT);
        Some(RunGuess::new(claim, call, guess, limit))
    }
}
