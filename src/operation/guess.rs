//! Runs commands that were decided by a guess, or learns that it was wrong.

use std::sync::Arc;

use super::{Ask, Claim, Completed, Cx, Grant, Granted, Input, Operation, TimeLimit, Why};
use crate::acquisition::Caller;
use crate::command::Reply;
use crate::error::Fault;
use crate::script::{Answer, Call, Guess, IfWrong, shape};

/// What it comes to.
pub(crate) enum RunOrLock {
    /// The commands ran, under this fence; without commands, at this time of Redis's in
    /// microseconds. A command that failed has its error as reply.
    Ran { fence: u64, replies: Vec<Reply> },
    /// The reads found something else: what these replies say. The lock is taken.
    Lock(Box<Granted>),
    /// The same, at this time of Redis's. The lock is not taken, and it took so many requests.
    Missed { redis_us: u64, replies: Vec<Reply>, requests: u32 },
    /// Another has the lock, or waits for it; or the lock that it had is lost. Nothing ran. It took
    /// so many requests.
    Held(u32),
}

/// Asks once. No copy of a request that is not told as run runs anything.
pub(crate) struct RunGuess {
    claim: Claim,
    ask: Ask,
    if_wrong: IfWrong,
    until_us: u64,
}

impl RunGuess {
    pub(crate) fn new(claim: Claim, call: Call, guess: &Guess<'_>, max_requests: u32) -> Self {
        let limit = TimeLimit::TIMEOUT.requests(max_requests);
        let ask = claim.ask(Arc::new(call), limit);
        Self { claim, ask, if_wrong: guess.if_wrong, until_us: guess.until_us }
    }

    /// A request before this one got lost, and may have run the commands: its receipt may be gone
    /// at this time of Redis's.
    ///
    /// # Errors
    /// Then the outcome is unknown.
    fn check_time(&self, asked: u32, redis_us: u64) -> Result<(), Fault> {
        if asked < 2 || redis_us < self.until_us {
            return Ok(());
        }
        let what = "the request was repeated so late that Redis may have forgotten whether it ran";
        Err(Fault::unavailable(what.into(), true).of_lock(Some(self.claim.shown())))
    }

    fn outcome(&self, cx: &Cx<'_>, asked: Completed) -> Result<RunOrLock, Fault> {
        let (fence, found) = match asked.outcome? {
            Answer::Ran { fence, replies } => {
                if self.if_wrong == IfWrong::Keeps {
                    (self.claim).observe_release(cx.host(), cx.now, asked.asked_at);
                }
                let replies = self.claim.quoted(replies);
                return Ok(RunOrLock::Ran { fence, replies });
            }
            Answer::Missed { redis_us, replies } if self.if_wrong == IfWrong::Leaves => {
                self.check_time(asked.requests, redis_us)?;
                return Ok(RunOrLock::Missed {
                    redis_us,
                    replies: self.claim.quoted(replies),
                    requests: asked.requests,
                });
            }
            Answer::NotDone => return Ok(RunOrLock::Held(asked.requests)),
            // A fence may be ahead of Redis's time, so it tells nothing of that.
            Answer::Granted { fence, replies } => (fence, replies),
            _ => return Err(shape()),
        };
        let deadline = super::deadline(asked.asked_at, self.claim.ttl());
        if deadline <= cx.now {
            return Err(Why::Expired.about(self.claim.shown()));
        }
        let grant = Grant { deadline, fence, replies: found, left: None };
        let granted = match self.if_wrong {
            IfWrong::Keeps => Granted::again(&self.claim, cx, grant),
            _ => Granted::of(&self.claim, cx, asked.requests, grant),
        };
        Ok(RunOrLock::Lock(Box::new(granted)))
    }

    /// A lock that was handed over may be lost, or the message was false: then its waiter may stand
    /// in the queue yet.
    fn abandon(&self, cx: &mut Cx<'_>) {
        let waiter = self.claim.caller.as_ref().and_then(Caller::waiter);
        self.claim.abandon(cx, waiter.as_ref(), TimeLimit::TIMEOUT);
    }
}

impl Operation for RunGuess {
    type Outcome = Result<RunOrLock, Fault>;

    #[inline(never)]
    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        let asked = self.ask.on(cx, input)?;
        let outcome = self.outcome(cx, asked);
        let is_lost = self.if_wrong == IfWrong::Keeps && matches!(outcome, Ok(RunOrLock::Held(_)));
        // The lock may have been granted nevertheless, or may be yet.
        if outcome.is_err() || is_lost {
            self.abandon(cx);
        }
        Some(outcome)
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.abandon(cx);
    }
}
