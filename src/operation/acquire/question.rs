//! One request for the lock, and what its answer means for the candidate.

use std::time::Duration;

use super::candidate::Candidate;
use super::taken::Grant;
use super::{Cx, Input, Taken};
use crate::error::{Error, Fault};
use crate::operation::{Ask, Completed, Operation, TimeLimit, Why};
use crate::runtime::Instant;
use crate::script::{Answer, Contended, shape};
use crate::topology::Topology;

/// A request under way, and whether there was something to give back before it.
pub(super) struct Question(Ask, bool);

/// The outcome of asking once: what there is to have, or who has it.
pub(super) type Asked = Result<Taken<Grant>, HeldBy>;

/// What an answer said of a lock that another holder has.
#[derive(Clone)]
pub(super) struct HeldBy {
    pub(super) contended: Contended,
    /// Read before the request left, and how long its answer took.
    pub(super) asked_at: Instant,
    pub(super) round_trip: Duration,
}

impl Question {
    pub(super) fn new(who: &mut Candidate, topology: &Topology, limit: TimeLimit) -> Self {
        let needed_cleanup = std::mem::replace(&mut who.needs_cleanup, true);
        let ask = Ask::new(topology, who.call.clone(), &who.claim.session, limit);
        Self(ask, needed_cleanup)
    }

    /// The outcome for `who`, once there is one.
    pub(super) fn answer(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        input: Input,
    ) -> Option<Result<Asked, Fault>> {
        let Self(ask, needed_cleanup) = self;
        let Completed {
            outcome,
            asked_at,
            earlier_may_run,
            requests,
            ..
        } = ask.on(cx, input)?;
        who.requests += requests;
        let needed_cleanup_before = *needed_cleanup || earlier_may_run;
        Some(match outcome {
            Ok(Answer::Granted { fence, replies }) => {
                let deadline = crate::operation::deadline(asked_at, who.claim.ttl);
                match deadline <= cx.now {
                    true => Err(Why::Expired.about(who.claim.lock())),
                    false => Ok(Ok(Taken::Lock(Grant {
                        deadline,
                        fence,
                        replies,
                    }))),
                }
            }
            Ok(Answer::Held(contended)) => {
                who.needs_cleanup = needed_cleanup_before || who.stands_in_queue();
                Ok(Err(HeldBy {
                    contended,
                    asked_at,
                    round_trip: cx.now.since(asked_at),
                }))
            }
            Ok(Answer::Quarantined(retry_after)) => {
                who.needs_cleanup = needed_cleanup_before;
                let lock = who.claim.lock();
                Err(Error::Quarantined { lock, retry_after }.into())
            }
            // A lock that keeps no result may have been granted.
            Ok(Answer::Kept(_)) if !who.claim.kind.keeps_result() => Err(shape()),
            Ok(Answer::Kept(result)) => {
                who.needs_cleanup = needed_cleanup_before;
                Ok(Ok(Taken::Result(result)))
            }
            Ok(Answer::Mismatch) => {
                who.needs_cleanup = needed_cleanup_before;
                let lock = who.claim.lock();
                Err(Error::FingerprintMismatch { lock }.into())
            }
            Ok(Answer::Gone) => Err(Why::Lost.about(who.claim.lock())),
            Ok(_) => Err(shape()),
            Err(error) => {
                who.needs_cleanup = needed_cleanup_before || may_have_run(&error);
                Err(error)
            }
        })
    }
}

/// Whether the script was executed, or may have been.
fn may_have_run(error: &Error) -> bool {
    let is_of_script = matches!(
        error,
        Error::CommandFailed { .. } | Error::NotReplicated { .. }
    );
    is_of_script || error.is_outcome_unknown()
}
