//! A call of a throttle: asks once, and leaves no window behind that its caller was not told of.

use std::time::Duration;

use super::{Ask, Attempt, Cx, Input, Operation};
use crate::error::Error;
use crate::script::{Call, Passage};

pub(crate) struct Pass {
    attempt: Attempt,
    ask: Ask<Passage>,
}

impl Pass {
    pub(crate) fn new(attempt: Attempt, window: Duration) -> Self {
        let ask = attempt.ask(Call::pass(&attempt.name, &attempt.token, window));
        Self { attempt, ask }
    }

    fn give_back(&self, cx: &mut Cx<'_>) {
        let Attempt { name, token, .. } = &self.attempt;
        self.attempt.give_up(cx, Call::give_back(name, token));
    }
}

impl Operation for Pass {
    type Outcome = Result<Passage, Error>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        let asked = self.ask.on(cx, input)?;
        let may_pass_yet = match &asked.outcome {
            Ok(Passage::Passed) => false,
            Ok(Passage::Throttled(_)) => asked.earlier_may_run,
            Err(error) => asked.earlier_may_run || error.is_outcome_unknown(),
        };
        if may_pass_yet {
            self.give_back(cx);
        }
        Some(asked.outcome)
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.give_back(cx);
    }
}
