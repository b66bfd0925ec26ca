//! Calls that are paced. A throttle's asks once, and leaves no window behind that its caller was
//! not told of. A debounce's arrives, waits for its time, and asks whether it is the last:
//!
//! ```text
//! Arriving ── how long to wait ──▶ Waiting ── Woken ──▶ Settling ──▶ settled
//!                                     ▲                    │
//!                                     └──── too early ─────┘
//! ```
//!
//! If it asks too early by more than clocks drift, Redis's was set back. Then its own counts.

use std::time::Duration;

use super::{Ask, Claim, Cx, Id, Input, Operation, TimeLimit};
use crate::error::Fault;
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::script::{Answer, Call, shape};

/// A call of a throttle: comes to for how long no other call passes, or `None` if this one did.
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

/// More than drifting clocks come to. A host that ends each timer at once must not ask without end.
const MOST_EARLY: u32 = 10;

/// A call of a debounce: comes to whether it goes through; else it was overtaken.
pub(crate) struct Settle {
    claim: Claim,
    phase: Phase,
    /// How long it was told to wait, and until when that is by this host's clock.
    time: Nanos,
    until: Instant,
    /// How often it asked before its time.
    early: u32,
}

enum Phase {
    Arriving(Ask),
    Waiting(Id),
    Settling(Ask),
}

impl Settle {
    pub(crate) fn new(claim: Claim, wait: Duration, max_wait: Duration) -> Self {
        let arriving = Call::arrive(&claim.lock.name, &claim.token, wait, max_wait);
        let arriving = claim.ask(arriving.into(), TimeLimit::TIMEOUT);
        Self {
            phase: Phase::Arriving(arriving),
            time: Nanos::ZERO,
            until: Instant::ORIGIN,
            early: 0,
            claim,
        }
    }

    fn wait(&mut self, cx: &mut Cx<'_>, time: Nanos) {
        self.phase = Phase::Waiting(cx.wake_in(time));
    }

    fn settle(&mut self, cx: &mut Cx<'_>, is_over: bool) {
        let call = Call::settle(&self.claim.lock.name, &self.claim.token, is_over);
        let mut ask = self.claim.ask(call.into(), TimeLimit::TIMEOUT);
        ask.begin(cx);
        self.phase = Phase::Settling(ask);
    }

    /// Only then may a request of it arrive that nobody counts on.
    fn leave(&self, cx: &mut Cx<'_>) {
        let call = Call::leave(&self.claim.lock.name, &self.claim.token);
        self.claim.give_up(cx, call);
    }

    fn settled(&mut self, cx: &mut Cx<'_>, settled: Answer) -> Option<Result<bool, Fault>> {
        match settled {
            Answer::Wait(_) if self.early == MOST_EARLY => Some(Err(out_of_timers())),
            Answer::Wait(left) => {
                self.early += 1;
                let (left, own) = (Nanos::of(left), cx.now.to(self.until));
                // By how much two clocks drift apart.
                let drift = self.time / 50 + Nanos::ms(2);
                match own.is_zero() && left > drift {
                    // Redis's clock was set back.
                    true => self.settle(cx, true),
                    false => self.wait(cx, left.min(own.max(drift))),
                }
                None
            }
            // It is the last, or another came after it.
            answer => Some(answer.done()),
        }
    }
}

impl Operation for Settle {
    type Outcome = Result<bool, Fault>;

    #[inline(never)]
    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        match (&mut self.phase, input) {
            (Phase::Arriving(ask), input) => {
                let arrived = ask.on(cx, input)?;
                match arrived.outcome {
                    Ok(Answer::Wait(time)) => {
                        (self.time, self.until) = (Nanos::of(time), cx.now + time);
                        self.wait(cx, self.time);
                        None
                    }
                    Ok(_) => Some(Err(shape())),
                    Err(error) => {
                        if arrived.earlier_may_run || error.is_outcome_unknown() {
                            self.leave(cx);
                        }
                        Some(Err(error))
                    }
                }
            }
            (Phase::Waiting(timer), Input::Woken(id)) if *timer == id => {
                self.settle(cx, false);
                None
            }
            (Phase::Waiting(_), _) => None,
            (Phase::Settling(ask), input) => match ask.on(cx, input)?.outcome {
                Ok(settled) => self.settled(cx, settled),
                Err(error) => Some(Err(error)),
            },
        }
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        if let Phase::Arriving(_) = self.phase {
            self.leave(cx);
        }
    }
}

fn out_of_timers() -> Fault {
    let what = "the timers of this host end too early to wait by";
    Fault::unavailable(what.into(), false)
}
