//! Acquiring a lock: asks, waits for its turn, and cleans up after itself.
//!
//! ```text
//! Asking ── granted ─────────────────────▶ done
//!   │                                       ▲
//!   │ held, or the bridge is away           │ granted, or in vain
//!   └──▶ Waiting: pausing ⇄ asking ─────────┘
//! ```
//!
//! Whatever it comes to but a grant, what was asked for is given back in the background.

mod asking;
mod candidate;
mod handover;
mod question;
mod subscription;
mod taken;
mod waiting;

use super::{Claim, Cx, Input, Operation};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use asking::Asking;
use candidate::Candidate;
use question::Asked;
use waiting::Waiting;

pub(crate) use candidate::AcquireOptions;
pub(crate) use taken::{Grant, Granted, Taken};

/// Takes a lock, or waits for it as its options say.
pub(crate) struct Acquire {
    candidate: Candidate,
    phase: Phase,
}

enum Phase {
    /// For the first time.
    Asking(Box<Asking>),
    Waiting(Box<Waiting>),
}

impl Acquire {
    /// An acquisition with the same reads in each request.
    pub(crate) fn reading(claim: Claim, options: AcquireOptions, reads: &[Command]) -> Self {
        Self {
            candidate: Candidate::new(claim, options, Some(reads)),
            phase: Phase::Asking(Box::new(Asking::new())),
        }
    }

    /// An acquisition that asks its driver for its reads before each request.
    pub(crate) fn inquiring(claim: Claim, options: AcquireOptions) -> Self {
        Self {
            candidate: Candidate::new(claim, options, None),
            phase: Phase::Asking(Box::new(Asking::new())),
        }
    }

    fn next(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Result<Taken<Grant>, Fault>> {
        match &mut self.phase {
            Phase::Asking(asking) => {
                let asked = asking.on(&mut self.candidate, cx, input)?;
                self.first_answer(cx, asked)
            }
            Phase::Waiting(waiting) => waiting.on(&mut self.candidate, cx, input),
        }
    }

    /// Gives back what was asked for, unless the outcome is a lock.
    fn take(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Result<Taken<Granted>, Fault>> {
        Some(match self.next(cx, input)? {
            Ok(Taken::Lock(grant)) => Ok(Taken::Lock(self.candidate.granted(cx, grant))),
            Ok(Taken::Result(kept)) => {
                self.candidate.served(cx);
                Ok(Taken::Result(kept))
            }
            Err(error) => {
                self.candidate.give_up(cx);
                Err(error)
            }
        })
    }

    /// The first request has all that an acquisition without a wait has: a wait is about another
    /// holder, not about the way to the bridge.
    fn first_answer(
        &mut self,
        cx: &mut Cx<'_>,
        asked: Result<Asked, Fault>,
    ) -> Option<Result<Taken<Grant>, Fault>> {
        let last = match asked {
            Ok(Ok(taken)) => return Some(Ok(taken)),
            Ok(Err(found)) => Ok(found),
            Err(error) => Err(error),
        };
        self.candidate.has_asked = true;
        let may_pass = last.as_ref().err().is_none_or(|error| error.ends());
        let Some(wait) = self.candidate.options.wait.filter(|_| may_pass) else {
            return Some(Err(match last {
                Ok(found) => self.candidate.held(cx.now, found.contended, None),
                Err(error) => error,
            }));
        };
        let mut waiting = Waiting::new(&mut self.candidate, wait);
        let outcome = waiting.go_on(&mut self.candidate, cx, last);
        self.phase = Phase::Waiting(Box::new(waiting));
        outcome
    }
}

impl Operation for Acquire {
    type Outcome = Result<Granted, Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        let outcome = self.take(cx, input)?;
        Some(outcome.and_then(Taken::lock).map_err(Error::from))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.candidate.cancel(cx);
    }
}

/// As [`Acquire`], for work that is executed once. Its outcome is the lock, or the result.
pub(crate) struct AcquireOnce(pub(crate) Acquire);

impl Operation for AcquireOnce {
    type Outcome = Result<Taken<Granted>, Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        Some(self.0.take(cx, input)?.map_err(Error::from))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.0.cancel(cx);
    }
}

/// Takes a lock if it is free, and returns the replies to the reads in either case.
pub(crate) struct TryAcquire {
    candidate: Candidate,
    asking: Asking,
}

impl TryAcquire {
    pub(crate) fn reading(claim: Claim, options: AcquireOptions, reads: &[Command]) -> Self {
        Self {
            candidate: Candidate::new(claim, options, Some(reads)),
            asking: Asking::new(),
        }
    }
}

impl Operation for TryAcquire {
    type Outcome = Result<Result<Granted, Vec<Reply>>, Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        let asked = self.asking.on(&mut self.candidate, cx, input)?;
        Some(match asked {
            Ok(Ok(taken)) => taken
                .lock()
                .map(|grant| Ok(self.candidate.granted(cx, grant)))
                .map_err(Error::from),
            Ok(Err(found)) => {
                self.candidate.give_up(cx);
                Ok(Err(found.contended.replies))
            }
            Err(error) => {
                self.candidate.give_up(cx);
                Err(error.into())
            }
        })
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.candidate.cancel(cx);
    }
}
