//! Being handed a lock by the message of a release.

use std::time::Duration;

use super::Cx;
use super::asking::HeldBy;
use super::candidate::{Candidate, Grant};
use crate::operation::deadline;
use crate::script::{self, Handover};

/// What a message is worth beside an answer.
pub(super) enum Told {
    Granted(Grant),
    /// The answer is the later one.
    Superseded,
    /// The lock is free, or this waiter's, but it takes a request to have it.
    News,
}

/// What `message` says beside the answer `found`: the lease that a release handed over, if nothing more is to be asked for.
///
/// When that is over is reckoned from this waiter's own request, by Redis's clock: never from the arrival of a message that
/// may have been on its way for long. Should that clock have jumped, from the arrival.
pub(super) fn judge(who: &Candidate, cx: &Cx<'_>, found: &HeldBy, message: &str) -> Told {
    let Some(Handover { fence, redis_us }) = script::handed_over(message) else {
        return Told::News;
    };
    let since_answer = redis_us.saturating_sub(found.contended.redis_us);
    if since_answer == 0 {
        return Told::Superseded;
    }
    let ttl = who.claim.ttl;
    let held_for = Duration::from_micros(since_answer).saturating_add(ttl);
    let reckoned = deadline(found.asked_at, held_for);
    let until = reckoned.min(deadline(cx.now, ttl));
    // One that is half over is worth a request that makes it whole.
    if !who.accepts_handover || until.since(cx.now) < ttl / 2 {
        return Told::News;
    }
    Told::Granted(Grant {
        deadline: until,
        fence,
        replies: Vec::new(),
    })
}
