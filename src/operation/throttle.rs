//! A call of a throttle: asks once, and leaves no window behind that its caller was not told of.

use std::time::Duration;

use super::{Ask, Cx, Input, Operation, PacedCall};
use crate::error::Fault;
use crate::script::{Answer, Call, shape};

/// Comes to for how long no other call passes, or `None` if this one did.
pub(crate) struct Pass {
    call: PacedCall,
    ask: Ask,
}

impl Pass {
    pub(crate) fn new(call: PacedCall, window: Duration) -> Self {
        let ask = call.ask(Call::pass(&call.name, &call.token, window));
        Self { call, ask }
    }

    fn give_back(&self, cx: &mut Cx<'_>) {
        let PacedCall { name, token, .. } = &self.call;
        self.call.give_up(cx, Call::give_back(name, token));
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
