//! What an acquisition comes to.

use crate::command::Reply;
use crate::error::Error;
use crate::operation::{Claim, Hold, Terms};
use crate::runtime::Instant;

/// The claim has the lock.
pub(crate) struct Granted {
    pub(crate) claim: Claim,
    pub(crate) deadline: Instant,
    pub(crate) fence: u64,
    pub(crate) replies: Vec<Reply>,
}

impl Granted {
    /// The hold that begins, and the replies to the reads.
    pub(crate) fn into_hold(self) -> (Hold, Vec<Reply>) {
        let terms = Terms::new(self.fence, Some(self.claim.ttl));
        let hold = Hold::new(self.claim, terms, Some(self.deadline));
        (hold, self.replies)
    }
}

/// The outcome of an acquisition.
pub(crate) enum Taken {
    Lock(Box<Granted>),
    /// The work was executed before, and this is its kept result.
    Result(String),
}

impl Taken {
    pub(super) fn lock(self) -> Result<Granted, Error> {
        match self {
            Self::Lock(granted) => Ok(*granted),
            Self::Result(_) => Err(NOTHING_KEPT),
        }
    }
}

/// For a lock without a kept result.
pub(super) const NOTHING_KEPT: Error = Error::unexpected("a result in place of a lock");
