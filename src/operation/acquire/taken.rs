//! What an acquisition comes to.

use crate::command::Reply;
use crate::error::Fault;
use crate::event::EventKind;
use crate::nanos::Nanos;
use crate::operation::{Claim, Cx, Hold, Terms};
use crate::runtime::Instant;
use crate::script::{Contended, Left, shape};

/// The claim has the lock.
pub(crate) struct Granted {
    pub(crate) claim: Claim,
    pub(crate) deadline: Instant,
    pub(crate) fence: u64,
    pub(crate) replies: Vec<Reply>,
    pub(crate) left: Option<Left>,
    /// How many waited ahead of it when it was told last that another had the lock.
    pub(crate) ahead: u64,
}

impl Granted {
    /// Tells it to observers, too. It took so many `requests`.
    pub(crate) fn of(claim: &Claim, cx: &Cx<'_>, requests: u32, grant: Grant) -> Self {
        let waited = cx.now.since(claim.since);
        let kind = EventKind::Acquired { waited, requests };
        claim.observe(cx.host(), kind);
        Self::again(claim, cx, grant)
    }

    /// Observers know it.
    pub(crate) fn again(claim: &Claim, cx: &Cx<'_>, grant: Grant) -> Self {
        Self {
            claim: Claim {
                since: cx.now,
                ..claim.clone()
            },
            deadline: grant.deadline,
            fence: grant.fence,
            replies: claim.quoted(grant.replies),
            left: grant.left,
            ahead: 0,
        }
    }

    /// The hold that begins, and the replies to the reads.
    pub(crate) fn into_hold(self) -> (Hold, Vec<Reply>) {
        let terms = Terms::new(self.fence, Some(self.claim.ttl()));
        let hold = Hold::new(self.claim, terms, Some(self.deadline));
        (hold, self.replies)
    }
}

/// The lock was granted until `deadline`.
pub(crate) struct Grant {
    pub(crate) deadline: Instant,
    pub(crate) fence: u64,
    pub(crate) replies: Vec<Reply>,
    /// It was handed over with this, and the reads were not made.
    pub(crate) left: Option<Left>,
}

/// What an attempt, and then the acquisition, comes to.
pub(super) enum Attempted {
    Granted(Grant),
    /// The work was executed before, and this is its kept result.
    Kept(String),
    Held(HeldBy),
    /// Its token has ended, so it never has the lock.
    Gone,
    Failed(Fault),
}

/// What an answer said of a lock that another holder has.
pub(super) struct HeldBy {
    pub(super) contended: Contended,
    /// Read before the request left, and how long its answer took.
    pub(super) asked_at: Instant,
    pub(super) round_trip: Nanos,
}

/// What there is to have: the lock, or what was done under it.
pub(crate) enum Taken {
    Lock(Granted),
    /// The work was executed before, and this is its kept result.
    Result(String),
    /// Another has the lock. That is no error if it reads in any case: these are the replies.
    Held(Vec<Reply>),
}

impl Taken {
    /// Of an acquisition that comes to nothing else.
    pub(crate) fn lock(self) -> Result<Granted, Fault> {
        match self {
            Self::Lock(granted) => Ok(granted),
            Self::Result(_) | Self::Held(_) => Err(shape()),
        }
    }
}
