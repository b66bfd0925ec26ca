//! Waiting for another holder, and for a bridge that is away.
//!
//! ```text
//! Pausing ── time to ask, or news ──▶ Asking
//!    ▲                                  │
//!    └──── held, or the bridge is away ─┘
//! ```
//!
//! It listens meanwhile, in both, where the bridge lets it.

mod pause;
mod pausing;
mod place;

use std::time::Duration;

use super::super::schedule::{self, Schedule};
use super::asking::Asking;
use super::candidate::Candidate;
use super::handover::{self, Meaning};
use super::question::{Asked, HeldBy};
use super::subscription::{Subscription, Wakeup};
use super::taken::Grant;
use super::{Cx, Input, Taken};
use crate::error::{Error, Fault};
use crate::event::EventKind;
use crate::runtime::Instant;
use pause::Pause;
use place::Place;

/// A subscription that takes longer is still taken, but meanwhile the waiter polls.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);

/// Behind so many nobody waits. Redis keeps each waiter, and is asked for each again and again.
const MOST_AHEAD: u64 = 10_000;

/// A wait under way.
pub(super) struct Waiting {
    end: Instant,
    schedule: Schedule,
    subscription: Subscription,
    /// Until when it counts as listening while it connects.
    connected_by: Instant,
    /// When to listen for the first time, or again after the stream has ended.
    listen_at: Option<Instant>,
    /// It has one from its first pause on.
    place: Option<Place>,
    /// It was told that another holds the lock, and has begun to wait for that.
    has_begun: bool,
    /// When its last request left.
    asked_at: Instant,
    /// What the last answer said of the lock.
    found: Option<HeldBy>,
    /// How the last request got lost of which nobody knows what became.
    unknown: Option<Fault>,
    /// What the last request came to.
    last: Result<(), Fault>,
    step: Step,
}

enum Step {
    Pausing(Pause),
    Asking {
        asking: Box<Asking>,
        /// What was heard meanwhile, and may have come after the answer.
        message: Option<String>,
        is_confirmed: bool,
    },
    Done,
}

type Outcome = Option<Result<Taken<Grant>, Fault>>;

impl Waiting {
    pub(super) fn new(who: &mut Candidate, wait: Duration) -> Self {
        let end = who.claim.since + wait;
        let tries = who.options.max_requests / who.claim.kind.requests_of_a_try();
        let liveness = schedule::liveness(who.claim.ttl);
        Self {
            end,
            schedule: Schedule::new(end, wait, liveness, tries),
            subscription: Subscription::new(who.claim.topology.clone(), who.channel.take()),
            connected_by: end,
            listen_at: None,
            place: None,
            has_begun: false,
            asked_at: who.claim.since,
            found: None,
            unknown: None,
            last: Ok(()),
            step: Step::Done,
        }
    }

    /// Asks whenever there is reason to, until the lock is granted or the wait is over.
    pub(super) fn on(&mut self, who: &mut Candidate, cx: &mut Cx<'_>, input: Input) -> Outcome {
        let heard = self.subscription.on(cx.now, &input);
        match std::mem::replace(&mut self.step, Step::Done) {
            Step::Pausing(pause) => self.paused(who, cx, pause, &input, heard),
            Step::Asking {
                mut asking,
                mut message,
                mut is_confirmed,
            } => {
                match heard {
                    Some(Wakeup::Message(text)) => message = Some(text),
                    Some(Wakeup::Confirmed) => is_confirmed = true,
                    Some(Wakeup::Closed) | None => {}
                }
                let Some(asked) = asking.on(who, cx, input) else {
                    self.step = Step::Asking {
                        asking,
                        message,
                        is_confirmed,
                    };
                    return None;
                };
                self.asked(who, cx, asked, message, is_confirmed)
            }
            Step::Done => None,
        }
    }

    /// The last request came to this.
    pub(super) fn go_on(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        last: Result<HeldBy, Fault>,
    ) -> Outcome {
        self.place = self.place.take().or_else(Place::take);
        let may_wait = self.place.is_some();
        let due = match last {
            Ok(found) => {
                self.unknown = None;
                self.last = Ok(());
                let ahead = found.contended.ahead;
                self.found = Some(found);
                // Also if its time was over before the first answer came: a slow bridge must not
                // hide who waited in vain.
                who.waits = self.end > who.claim.since;
                if ahead >= MOST_AHEAD || !may_wait {
                    return self.in_vain(who, cx, None);
                }
                if !self.has_begun && cx.now < self.end && who.tries_left() > 0 {
                    self.has_begun = true;
                    self.begin(who, cx);
                }
                None
            }
            Err(error) => {
                if error.is_outcome_unknown() {
                    self.unknown = Some(error.clone());
                }
                let left = who.tries_left();
                let pause = (self.schedule).pause_after(cx.now, cx.host(), &error, left);
                let Some(pause) = pause.filter(|_| may_wait) else {
                    return self.in_vain(who, cx, Some(error));
                };
                who.waits = true;
                let kind = EventKind::Retried {
                    error: &error,
                    pause,
                };
                who.claim.observe(cx.host(), kind);
                self.last = Err(error);
                Some(cx.now + pause)
            }
        };
        self.pause(who, cx, Pause::new(due, cx.now))
    }

    /// Another holds the lock, and there is time and leave to wait for it.
    fn begin(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) {
        let Some(HeldBy { contended, .. }) = &self.found else {
            return;
        };
        let kind = EventKind::Contended {
            remaining: contended.remaining,
            ahead: contended.ahead,
        };
        who.claim.observe(cx.host(), kind);
        self.listen_at = self.subscription.possible_from();
        self.connected_by = cx.now + CONNECTED_WITHIN;
    }

    fn listen(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) {
        who.requests += 1;
        let left = self.end.since(cx.now);
        let limit = left.saturating_add(who.claim.topology.request_timeout);
        self.subscription.open(cx, limit);
    }

    fn ask_now(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) -> Outcome {
        self.asked_at = cx.now;
        let mut asking = Box::new(Asking::new());
        if let Some(asked) = asking.on(who, cx, Input::Started) {
            return self.asked(who, cx, asked, None, false);
        }
        self.step = Step::Asking {
            asking,
            message: None,
            is_confirmed: false,
        };
        None
    }

    /// An answer, and what was heard while it was on its way.
    fn asked(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        asked: Result<Asked, Fault>,
        message: Option<String>,
        is_confirmed: bool,
    ) -> Outcome {
        let last = match asked {
            Ok(Ok(taken)) => return Some(Ok(taken)),
            Ok(Err(found)) => {
                self.found = Some(found.clone());
                Ok(found)
            }
            // A message is judged by the answer before.
            Err(error) if error.is_passing() && message.is_some() => Err(error),
            Err(error) => return self.failed(who, cx, error),
        };
        let told = message.and_then(|message| {
            self.look_again(who, cx);
            self.told(who, cx, &message)
        });
        let (again, at_once) = match told {
            Some(Meaning::Granted(grant)) => return Some(Ok(Taken::Lock(grant))),
            Some(Meaning::Ours) => (true, true),
            Some(Meaning::MayBeFree) => (true, self.until_affordable(who, cx).is_zero()),
            Some(Meaning::Superseded) | None => (is_confirmed && self.is_first(who), true),
        };
        // Also a waiter that hears of its turn: the last request leaves at the end of the wait.
        let again = again && !self.schedule.is_over(cx.now) && who.tries_left() > 0;
        match last {
            Ok(_) if again && at_once => self.ask_now(who, cx),
            Ok(found) => {
                let outcome = self.go_on(who, cx, Ok(found));
                outcome.or_else(|| again.then(|| self.ask_when_affordable(who, cx)).flatten())
            }
            Err(error) => self.failed(who, cx, error),
        }
    }

    fn failed(&mut self, who: &mut Candidate, cx: &mut Cx<'_>, error: Fault) -> Outcome {
        match error.ends() {
            true => self.go_on(who, cx, Err(error)),
            false => Some(Err(error)),
        }
    }

    fn is_first(&self, who: &Candidate) -> bool {
        let is_first = |found: &HeldBy| found.contended.ahead == 0;
        self.found.as_ref().is_some_and(is_first) && who.tries_left() > 0
    }

    /// What a message is worth beside the last answer.
    fn told(&self, who: &Candidate, cx: &Cx<'_>, message: &str) -> Option<Meaning> {
        let found = self.found.as_ref()?;
        Some(handover::judge(who, cx, found, message))
    }

    /// There may be something to read by now, which a hand-over does not bring.
    fn look_again(&self, who: &mut Candidate, cx: &mut Cx<'_>) {
        if who.accepts_handover && who.update(cx).is_err() {
            who.accepts_handover = false;
        }
    }

    /// The error when the wait is over: that of its last request, which failed with this one, or
    /// with the one before.
    fn in_vain(&mut self, who: &Candidate, cx: &Cx<'_>, failed: Option<Fault>) -> Outcome {
        let last = std::mem::replace(&mut self.last, Ok(()));
        let error = match (failed.or_else(|| last.err()), &self.found) {
            (Some(error), _) => match self.unknown.take() {
                Some(unknown) => error.behind(unknown),
                None => error,
            },
            (None, Some(found)) => {
                let estimate = self.schedule.estimate(&found.contended, cx.now);
                who.held(cx.now, found.contended.clone(), estimate)
            }
            (None, None) => {
                let error = Error::unexpected("no answer");
                error.of_lock(Some(who.claim.name.shown())).into()
            }
        };
        Some(Err(error))
    }
}
