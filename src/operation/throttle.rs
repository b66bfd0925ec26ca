//! A call of a throttle: asks once, and leaves no window behind that its caller was not told of.

use std::time::Duration;

use super::{Ask, Claim, Cx, Input, Operation, TimeLimit};
use crate::error::Fault;
use crate::script::{Answer, Call, shape};

/// Comes to for how long no other call passes, or `None` if this one did.
pub(crate) struct Pass {
    claim: Claim,
    ask: Ask,
}

impl Pass {
    pub(crate) fn new(claim: Claim, window: Duration) -> Self {
        let call = Call::pass(&claim.lock.name, &claim.token, window);
        let ask = claim.ask(call.into(), TimeLimit::TIMEOUT);
        Self { claim, ask }
    }

    fn give_back(&self, cx: &mut Cx<'_>) {
        let call = Call::give_back(&self.claim.lock.name, &self.claim.token);
        self.claim.give_up(cx, call);
    }
}

impl Operation for Pass {
    type Outcome = Result<Option<Duration>, Fault>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        let asked = self.ask.on(cx, input)?;
        let may_pass_yet = match &asked.outcome {
            Ok(Answer::Done(_)) => false,
            Ok(_) => asked.earlier_may_run,
            Err(error) => asked.earlier_may_run || error.is_outcome_unknown(),
        };
        if may_pass_yet {
            self.give_back(cx);
        }
        let passed = asked.outcome.and_then(|answer| match answer {
            Answer::Done(_) => Ok(None),
            Answer::Wait(left) => Ok(Some(left)),
            _ => Err(shape()),
        });
        Some(passed)
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.give_back(cx);
    }
}
