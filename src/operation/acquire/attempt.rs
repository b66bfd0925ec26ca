//! One attempt at the lock: at one bridge, or at several.
//!
//! ```text
//! one bridge:       One ──▶ attempted
//! several:    First ──▶ Vote ── granted ──▶ Raising ──▶ attempted
//!                        ▲ │ not
//!                        │ ▼
//!                     Revoting ──▶ attempted
//! ```

use std::sync::Arc;

use super::super::{Ask, Completed, TimeLimit, Why, deadline};
use super::{Acquire, Attempted, Backoff, Cx, Grant, HeldBy, Input, Operation, Step, Whom};
use crate::error::{Error, Fault};
use crate::nanos::Nanos;
use crate::script::{Answer, Call, Reads, shape};
use crate::token::Session;
use crate::topology::Topology;

/// One attempt in so many asks all bridges at once, even after one that failed.
const ALL_AT_ONCE: u32 = 4;

type Outcome = Option<Attempted>;

impl Acquire {
    pub(super) fn attempt(&mut self, cx: &mut Cx<'_>, step: Step, input: Input) -> Outcome {
        match (step, input) {
            (Step::New, _) => self.begin_attempt(cx),
            (Step::Revoting(timer), Input::Woken(id)) if id == timer => self.vote(cx),
            (step, input) => {
                let asked = self.ask.as_mut().and_then(|ask| ask.on(cx, input));
                match (step, asked) {
                    (Step::Asking(whom, before), Some(completed)) => {
                        self.answered(cx, whom, before, completed)
                    }
                    (Step::Raising(grant), Some(completed)) => {
                        Some(self.raised(cx, grant, completed))
                    }
                    (step, _) => self.step(step),
                }
            }
        }
    }

    pub(super) fn begin_attempt(&mut self, cx: &mut Cx<'_>) -> Outcome {
        if let Err(fault) = self.update(cx) {
            return Some(Attempted::Failed(fault));
        }
        if self.claim.lock.kind.is_voted() {
            return self.ask_several(cx);
        }
        if self.options.turn.is_some_and(|turn| turn.listens)
            && !self.has_asked
            && self.may_listen_at(cx.now)
        {
            self.listen(cx);
        }
        // A wait has its own rules for sending again.
        let most = if self.has_asked { 1 } else { u32::MAX };
        let limit = TimeLimit::ttl(self.ttl()).attempts(most);
        let topology = self.claim.lock.topology.clone();
        self.ask(cx, &topology, limit, Whom::One)
    }

    /// The first attempt asks all bridges at once. If it fails, later ones first ask the one bridge
    /// that all contenders for this lock ask first. They ask the others only if the lock is free
    /// there. So contenders do not split the vote, and a waiter costs each bridge next to nothing.
    /// Now and then an attempt asks all bridges nevertheless, since that one bridge alone may still
    /// know of a holder that is gone.
    fn ask_several(&mut self, cx: &mut Cx<'_>) -> Outcome {
        let several = &self.claim.lock.topology;
        let attempts = if self.has_asked { 1 } else { several.attempts };
        self.wait.backoff = Some(Backoff::new(attempts, Nanos::of(several.request_timeout)));
        let asks_one_first = !self.tries.is_multiple_of(ALL_AT_ONCE);
        self.tries += 1;
        if !asks_one_first {
            return self.vote(cx);
        }
        // The part of the ttl that each of them may take for a vote.
        let limit = TimeLimit::ttl(self.ttl() / 4).attempts(1);
        let first = several.first_of(&self.claim.lock.name);
        self.ask(cx, &first, limit, Whom::First)
    }

    pub(super) fn ttl(&self) -> Nanos {
        Nanos::of(self.claim.ttl())
    }

    fn vote(&mut self, cx: &mut Cx<'_>) -> Outcome {
        let several = self.claim.lock.topology.clone();
        self.ask(cx, &several, TimeLimit::ttl(self.ttl()), Whom::Vote)
    }

    fn ask(
        &mut self,
        cx: &mut Cx<'_>,
        topology: &Arc<Topology>,
        limit: TimeLimit,
        whom: Whom,
    ) -> Outcome {
        let limit = limit.requests(self.requests_left());
        let ask = Ask::new(topology, self.call.clone(), &self.claim.session, limit);
        let before = std::mem::replace(&mut self.needs_cleanup, true);
        self.send(cx, ask, Step::Asking(whom, before))
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        whom: Whom,
        before: bool,
        completed: Completed,
    ) -> Outcome {
        let attempted = self.meaning(cx, before, completed);
        match (whom, attempted) {
            (Whom::One, attempted) | (Whom::First, attempted @ Attempted::Held(_)) => {
                Some(attempted)
            }
            (Whom::First, _) => self.vote(cx),
            (Whom::Vote, Attempted::Granted(grant)) => self.raise(cx, grant),
            (Whom::Vote, attempted) => self.start_over(cx, attempted),
        }
    }

    /// What the answer to a request means, and whether there is something to give back after it, as
    /// there may have been before.
    fn meaning(&mut self, cx: &Cx<'_>, before: bool, completed: Completed) -> Attempted {
        self.requests += completed.requests;
        let asked_at = completed.asked_at;
        let before = before || completed.earlier_may_run;
        let lock = || self.claim.shown().to_owned();
        let failed = match completed.outcome {
            Ok(Answer::Granted { fence, replies }) => {
                let deadline = deadline(asked_at, self.claim.ttl());
                if deadline > cx.now {
                    return Attempted::Granted(Grant { deadline, fence, replies, left: None });
                }
                Why::Expired.about(self.claim.shown())
            }
            Ok(Answer::Held(contended)) => {
                self.needs_cleanup = before || self.waiter.is_some() || self.takes_over();
                return Attempted::Held(HeldBy {
                    contended,
                    asked_at,
                    round_trip: asked_at.to(cx.now),
                });
            }
            Ok(Answer::Quarantined(retry_after)) => {
                self.needs_cleanup = before;
                let lock = lock();
                Error::Quarantined { lock, retry_after }.into()
            }
            Ok(Answer::Kept(result)) if self.claim.lock.kind.keeps_result() => {
                self.needs_cleanup = before;
                return Attempted::Kept(result);
            }
            Ok(Answer::Mismatch) => {
                self.needs_cleanup = before;
                Error::FingerprintMismatch { lock: lock() }.into()
            }
            // A vote draws another token.
            Ok(Answer::Gone) if !self.claim.lock.kind.is_voted() => return Attempted::Gone,
            Ok(Answer::Gone) => Why::Lost.about(self.claim.shown()),
            // The lock may have been granted.
            Ok(_) => shape(),
            Err(fault) => {
                self.needs_cleanup = before || may_have_run(&fault) || self.takes_over();
                fault
            }
        };
        Attempted::Failed(failed)
    }

    /// A late copy of what is refused could end the hold of another, later.
    fn takes_over(&self) -> bool {
        self.claim.lock.kind.takes_over()
    }

    /// Each bridge issued a fence of its own. The highest counts, once a majority will issue none
    /// below it. Any later majority has one of those bridges.
    fn raise(&mut self, cx: &mut Cx<'_>, grant: Grant) -> Outcome {
        let raise = Call::raise(self.claim.subject(), grant.fence, self.claim.ttl());
        let Some(call) = raise else {
            return Some(Attempted::Granted(grant));
        };
        let limit = TimeLimit::at(grant.deadline).requests(self.requests_left());
        let ask = self.claim.ask(call.into(), limit);
        self.send(cx, ask, Step::Raising(grant))
    }

    fn send(&mut self, cx: &mut Cx<'_>, mut ask: Ask, step: Step) -> Outcome {
        ask.begin(cx);
        self.ask = Some(ask);
        self.step(step)
    }

    fn raised(&mut self, cx: &mut Cx<'_>, grant: Grant, completed: Completed) -> Attempted {
        self.requests += completed.requests;
        let failed = match completed.outcome.and_then(Answer::done) {
            Ok(true) if grant.deadline > cx.now => return Attempted::Granted(grant),
            Ok(true) => Why::Expired.about(self.claim.shown()),
            Ok(false) => Why::Lost.about(self.claim.shown()),
            Err(fault) => fault,
        };
        // A token is raised to one fence. Else this raise, if it comes late, could lower a later
        // one's.
        Attempted::Failed(self.renew_token(cx).err().unwrap_or(failed))
    }

    /// Gives back what it got, so that a split vote does not stay split, and goes on with a new
    /// token.
    fn start_over(&mut self, cx: &mut Cx<'_>, attempted: Attempted) -> Outcome {
        if let Err(fault) = self.renew_token(cx) {
            return Some(Attempted::Failed(fault));
        }
        let may_ask = self.requests_left() > 0;
        let pause = match (&attempted, &mut self.wait.backoff) {
            (Attempted::Failed(fault), Some(backoff)) if fault.is_passing() && may_ask => {
                backoff.pause(cx.host(), fault.retry_after())
            }
            _ => None,
        };
        match pause {
            Some(pause) => self.step(Step::Revoting(cx.wake_in(pause))),
            None => Some(attempted),
        }
    }

    fn renew_token(&mut self, cx: &mut Cx<'_>) -> Result<(), Fault> {
        self.abandon(cx);
        self.requests += 1;
        let (session, token) = Session::with_token(cx.host())?;
        self.claim.session = session;
        self.claim.token = token;
        let (subject, ttl) = (self.claim.subject(), self.claim.ttl());
        let call = Call::acquire(subject, ttl, None, false, Reads::NONE);
        self.call = call.waiting(self.options.wait.is_some()).into();
        Ok(())
    }
}

/// Whether the script was executed, or may have been.
fn may_have_run(error: &Error) -> bool {
    let is_of_script = matches!(error, Error::CommandFailed { .. } | Error::NotReplicated { .. });
    is_of_script || error.is_outcome_unknown()
}
