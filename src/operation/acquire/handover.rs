//! Reads the message of a hand-over.

use std::time::Duration;

use super::Cx;
use super::candidate::Candidate;
use super::question::HeldBy;
use super::taken::Grant;
use crate::operation::deadline;
use crate::script::{self, Handover};

/// What a message means beside the last answer.
pub(super) enum Meaning {
    Granted(Grant),
    /// The answer is newer.
    Superseded,
    /// The lock is this waiter's, but the waiter must ask for it.
    Ours,
    /// The lock may be free.
    MayBeFree,
}

/// What `message` means beside the answer `found`: the lease that a release handed over, if nothing
/// more must be asked for.
///
/// Fences say which of the two came first, since a clock can be set back. The deadline is computed
/// from this waiter's own request, by Redis's clock. It never starts at the arrival of a message,
/// which may have been on its way for long. If Redis's clock jumped, the arrival bounds it.
pub(super) fn judge(who: &Candidate, cx: &Cx<'_>, found: &HeldBy, message: &str) -> Meaning {
    if script::may_be_free(message) {
        return Meaning::MayBeFree;
    }
    let Some(Handover { fence, redis_us }) = script::handed_over(message) else {
        return Meaning::Ours;
    };
    if fence <= found.contended.redis_us {
        return Meaning::Superseded;
    }
    let since_answer = redis_us.saturating_sub(found.contended.redis_us);
    let ttl = who.claim.ttl;
    let held_for = Duration::from_micros(since_answer).saturating_add(ttl);
    let reckoned = deadline(found.asked_at, held_for);
    let until = reckoned.min(deadline(cx.now, ttl));
    // A lease that is half over is worth a request, which gives it the full ttl.
    if !who.accepts_handover || until.since(cx.now) < ttl / 2 {
        return Meaning::Ours;
    }
    Meaning::Granted(Grant {
        deadline: until,
        fence,
        replies: Vec::new(),
    })
}
