//! Asking for a lock once: of one bridge, or of several.
//!
//! ```text
//! one bridge:      One ──▶ asked
//! several:   First ──▶ Vote ── yes ──▶ Raise ──▶ asked
//!                       ▲ │ no
//!                       │ ▼
//!                     Pause ──▶ asked
//! ```

use super::candidate::Candidate;
use super::question::{Asked, Question};
use super::taken::Grant;
use super::{Cx, Input, Taken};
use crate::error::Fault;
use crate::operation::Why;
use crate::operation::backoff::Backoff;
use crate::operation::{Ask, Completed, Id, Operation, TimeLimit};
use crate::script::{Answer, Call, Reads};
use crate::token::Session;
use crate::topology::Topology;

/// One try in so many asks all bridges at once, even after a try that failed.
const ALL_AT_ONCE: u32 = 4;

pub(super) struct Asking {
    step: Step,
    /// For votes that failed.
    backoff: Option<Backoff>,
}

enum Step {
    New,
    One(Question),
    /// Asks the bridge that all contenders for this lock ask first.
    First(Question),
    Vote(Question),
    Raise(Ask, Grant),
    /// Pauses after a vote with this outcome.
    Pause(Id, Result<Asked, Fault>),
    Done,
}

type Outcome = Option<Result<Asked, Fault>>;

impl Asking {
    pub(super) const fn new() -> Self {
        Self {
            step: Step::New,
            backoff: None,
        }
    }

    /// As [`Operation::on`], for `who`.
    pub(super) fn on(&mut self, who: &mut Candidate, cx: &mut Cx<'_>, input: Input) -> Outcome {
        match std::mem::replace(&mut self.step, Step::Done) {
            Step::New => self.begin(who, cx),
            Step::One(mut question) => match question.answer(who, cx, input) {
                None => self.wait(Step::One(question)),
                asked => asked,
            },
            Step::First(mut question) => match question.answer(who, cx, input) {
                None => self.wait(Step::First(question)),
                Some(Ok(held @ Err(_))) => Some(Ok(held)),
                Some(_) => self.vote(who, cx),
            },
            Step::Vote(mut question) => match question.answer(who, cx, input) {
                None => self.wait(Step::Vote(question)),
                Some(Ok(Ok(Taken::Lock(grant)))) => self.raise(who, cx, grant),
                Some(asked) => self.start_over(who, cx, asked),
            },
            Step::Raise(mut ask, grant) => match ask.on(cx, input) {
                Some(settled) => Some(raised(who, cx, grant, settled)),
                None => self.wait(Step::Raise(ask, grant)),
            },
            Step::Pause(timer, asked) => match input {
                Input::Woken(id) if id == timer => self.vote(who, cx),
                _ => self.wait(Step::Pause(timer, asked)),
            },
            Step::Done => None,
        }
    }

    fn wait(&mut self, step: Step) -> Outcome {
        self.step = step;
        None
    }

    fn begin(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) -> Outcome {
        if let Err(error) = who.update(cx) {
            return Some(Err(error));
        }
        if who.claim.kind.is_voted() {
            return self.ask_several(who, cx);
        }
        // A wait has its own rules for sending again.
        let most = if who.has_asked { 1 } else { u32::MAX };
        let limit = TimeLimit::ttl(who.claim.ttl)
            .attempts(most)
            .requests(who.requests_left());
        let topology = who.claim.topology.clone();
        self.put(who, cx, &topology, limit, Step::One)
    }

    /// The first try asks all bridges at once. If it fails, later tries first ask the one bridge
    /// that all contenders for this lock ask first. They ask the others only if the lock is free
    /// there. So contenders do not split the vote, and a waiter costs each bridge next to nothing.
    /// Now and then a try asks all bridges nevertheless, since that one bridge alone may still know
    /// of a holder that is gone.
    fn ask_several(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) -> Outcome {
        let several = who.claim.topology.clone();
        let asks_one_first = !who.tries.is_multiple_of(ALL_AT_ONCE);
        who.tries += 1;
        let attempts = match who.has_asked {
            true => 1,
            false => several.attempts,
        };
        self.backoff = Some(Backoff::new(attempts, several.request_timeout));
        if !asks_one_first {
            return self.vote(who, cx);
        }
        // The part of the ttl that each of them may take for a vote.
        let limit = TimeLimit::ttl(who.claim.ttl / 4)
            .attempts(1)
            .requests(who.requests_left());
        let first = several.first_of(&who.claim.name);
        self.put(who, cx, &first, limit, Step::First)
    }

    fn vote(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) -> Outcome {
        let limit = TimeLimit::ttl(who.claim.ttl).requests(who.requests_left());
        let several = who.claim.topology.clone();
        self.put(who, cx, &several, limit, Step::Vote)
    }

    fn put(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        topology: &Topology,
        limit: TimeLimit,
        step: fn(Question) -> Step,
    ) -> Outcome {
        self.step = step(Question::new(who, topology, limit));
        // The request may be refused before it is sent.
        self.on(who, cx, Input::Started)
    }

    /// Each bridge issued a fence of its own. The highest counts, once a majority will issue none
    /// below it. Any later majority has one of those bridges.
    fn raise(&mut self, who: &mut Candidate, cx: &mut Cx<'_>, grant: Grant) -> Outcome {
        let raise = Call::raise(who.claim.subject(), grant.fence, who.claim.ttl);
        let Some(call) = raise else {
            return Some(Ok(Ok(Taken::Lock(grant))));
        };
        let limit = TimeLimit::at(grant.deadline).requests(who.requests_left());
        let ask = who.claim.ask(call.into(), limit);
        self.step = Step::Raise(ask, grant);
        self.on(who, cx, Input::Started)
    }

    /// Gives back what it got, so that a split vote does not stay split, and goes on with a new
    /// token.
    fn start_over(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        asked: Result<Asked, Fault>,
    ) -> Outcome {
        if let Err(error) = renew_token(who, cx) {
            return Some(Err(error));
        }
        let pause = match (&asked, &mut self.backoff) {
            (Err(error), Some(backoff)) if error.is_passing() && who.requests_left() > 0 => {
                backoff.pause(cx.host(), error)
            }
            _ => None,
        };
        match pause {
            Some(pause) => self.wait(Step::Pause(cx.wake_in(pause), asked)),
            None => Some(asked),
        }
    }
}

fn raised(
    who: &mut Candidate,
    cx: &mut Cx<'_>,
    grant: Grant,
    settled: Completed,
) -> Result<Asked, Fault> {
    who.requests += settled.requests;
    let failed = match settled.outcome.and_then(Answer::done) {
        Ok(true) if grant.deadline > cx.now => {
            return Ok(Ok(Taken::Lock(grant)));
        }
        Ok(true) => Why::Expired.about(who.claim.lock()),
        Ok(false) => Why::Lost.about(who.claim.lock()),
        Err(error) => error,
    };
    // A token is raised to one fence. Else this raise, if it comes late, could lower a later one's.
    renew_token(who, cx)?;
    Err(failed)
}

fn renew_token(who: &mut Candidate, cx: &mut Cx<'_>) -> Result<(), Fault> {
    who.abandon(cx);
    who.requests += 1;
    let (session, token) = Session::with_token(cx.host())?;
    who.claim.session = session;
    who.claim.token = token;
    let (subject, ttl) = (who.claim.subject(), who.claim.ttl);
    who.call = Call::acquire(subject, ttl, None, false, Reads::NONE).into();
    Ok(())
}
