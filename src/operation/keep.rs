//! Keeps a hold while work runs under it: renews it in time, and says when there is nothing left to
//! keep. Behind the work it gives the hold back, and decides what its keeper is told.
//!
//! ```text
//!            ┌────────── due ──────────▶ Renewing
//! New ──▶ Pausing ◀── renewed, or not ──────┘
//!            └── lost, expired, held for too long, given back ──▶ done
//! ```
//!
//! If it listens, a message has it renew at once.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Hold, Why};
use super::subscription::{Subscription, Wakeup};
use super::write::{Write, Writes};
use super::{Cx, Id, Input, Operation, drift, surely};
use crate::error::Fault;
use crate::kind::Kind;
use crate::nanos::Nanos;
use crate::runtime::Instant;

/// The pause after a renewal that failed, and between two checks of a release under way, is this
/// part of the ttl. So several tries fit in.
const TRIES_IN_A_TTL: u64 = 10;
const LONGEST_PAUSE: Nanos = Nanos::ms(1_000);
const SHORTEST_PAUSE: Nanos = Nanos::ms(1);

/// How long a lock is kept at most by default.
const LONGEST_HOLD: Duration = Duration::from_secs(15 * 60);

/// Begins to keep a hold. Renews one that was resumed. The outcome is the instant until which it is
/// kept at most.
pub(crate) struct BeginKeeping {
    hold: Arc<Hold>,
    max_hold: Option<Duration>,
    renewal: Option<Write>,
}

impl BeginKeeping {
    pub(crate) const fn new(hold: Arc<Hold>, max_hold: Option<Duration>) -> Self {
        Self { hold, max_hold, renewal: None }
    }

    fn begun(&self, cx: &Cx<'_>, since: Instant) -> Result<Instant, Fault> {
        // Also checked after a renewal, whose answer may have taken too long.
        self.hold.check_held(cx)?;
        let usual = || LONGEST_HOLD.max(self.hold.ttl());
        Ok(since + self.max_hold.unwrap_or_else(usual))
    }
}

impl Operation for BeginKeeping {
    type Outcome = Result<Instant, Fault>;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        if let Input::Started = input {
            if self.hold.deadline().is_some() {
                return Some(self.begun(cx, self.hold.claim.since));
            }
            self.renewal = Some(Write::new(self.hold.clone(), Writes::Renew(None)));
        }
        let renewed = self.renewal.as_mut()?.on(cx, input)?;
        Some(renewed.and_then(|_| self.begun(cx, cx.now)))
    }
}

/// Keeps a hold until an instant. The outcome is why there is nothing left to keep.
pub(crate) struct Keep {
    hold: Arc<Hold>,
    until: Instant,
    /// When to try again at the earliest, after a renewal that failed.
    not_before: Option<Instant>,
    /// If the transport hangs, this timer ends a renewal.
    timer: Option<Id>,
    renewal: Option<Write>,
    subscription: Subscription,
    /// When it may open the next stream. A bridge may end each one at once.
    opens_from: Option<Instant>,
    /// It may have been lost.
    heard: Option<Heard>,
    /// Why it renews. After a message that was for nothing, it leaves the next one for a while.
    asks_for: Option<Heard>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// It listens from now on. What was told before was missed.
    Opened,
    Message,
}

/// What to do next.
enum Next {
    Pause(Nanos),
    /// Within this time.
    Renew(Nanos),
    Done(Why),
}

impl Keep {
    pub(crate) fn new(hold: Arc<Hold>, until: Instant) -> Self {
        let lock = &hold.claim.lock;
        let channel = lock.listens.then(|| Kind::loss(&lock.name)).flatten();
        Self {
            hold,
            until,
            not_before: None,
            timer: None,
            renewal: None,
            subscription: Subscription::new(channel),
            opens_from: None,
            heard: None,
            asks_for: None,
        }
    }

    /// When to open the stream, at first or after it has ended.
    fn opens_at(&self) -> Option<Instant> {
        let closed = self.subscription.is_closed().then_some(&self.subscription)?;
        let from = closed.possible_from(&self.hold.claim.lock.topology)?;
        Some(self.opens_from.map_or(from, |at| at.max(from)))
    }

    fn listen(&mut self, cx: &mut Cx<'_>) {
        if self.opens_at().is_some_and(|at| at <= cx.now) {
            self.opens_from = Some(cx.now.after(usual_pause(self.ttl())));
            let topology = &self.hold.claim.lock.topology;
            let limit = cx.now.to(self.until) + Nanos::of(topology.request_timeout);
            self.subscription.open(cx, topology, limit.duration());
        }
    }

    fn next(&self, now: Instant) -> Next {
        let (deadline, is_held) = match (self.hold.may_end(), self.hold.deadline()) {
            (Err(Why::Busy), Some(deadline)) => return self.outlast(now, deadline),
            (Err(why), _) => return Next::Done(why),
            // The work may still ask again for the outcome of its release or commit.
            (Ok(is_held), Some(deadline)) => (deadline, is_held),
            // A hold that is kept has a deadline.
            (Ok(_), None) => return Next::Done(Why::Released),
        };
        if deadline <= now {
            return Next::Done(Why::Expired);
        }
        if self.until <= now {
            return Next::Done(Why::MaxHoldExceeded);
        }
        let end = now.to(deadline.min(self.until));
        let due = match self.heard {
            Some(_) => now,
            None => renewal_due(deadline, self.ttl()),
        };
        let due = due.max(self.not_before.unwrap_or(now));
        let opens = self.opens_at().filter(|at| now < *at).unwrap_or(due);
        match (is_held, now < due) {
            (true, false) => Next::Renew(end),
            (true, true) => Next::Pause(now.to(due.min(opens)).min(end)),
            (false, _) => Next::Pause(end),
        }
    }

    /// The work learns the outcome of a release or commit before it is stopped. That call has an
    /// end of its own, unless the transport hangs.
    fn outlast(&self, now: Instant, deadline: Instant) -> Next {
        let longest = self.hold.claim.lock.topology.request_timeout;
        let limit = deadline + longest;
        if limit <= now {
            return Next::Done(Why::Expired);
        }
        // If it is refused, the time left must suffice for a renewal.
        let left = match now.to(deadline) {
            Nanos::ZERO => now.to(limit),
            left => (left / 2).max(SHORTEST_PAUSE),
        };
        Next::Pause(usual_pause(self.ttl()).min(left))
    }

    fn ttl(&self) -> Nanos {
        Nanos::of(self.hold.ttl())
    }

    fn go_on(&mut self, cx: &mut Cx<'_>) -> Option<Why> {
        self.listen(cx);
        loop {
            match self.next(cx.now) {
                Next::Done(why) => return Some(why),
                Next::Pause(pause) => {
                    self.timer = Some(cx.wake_in(pause));
                    return None;
                }
                Next::Renew(end) => {
                    self.asks_for = self.heard.take();
                    self.timer = Some(cx.wake_in(end));
                    let mut renewal = Write::new(self.hold.clone(), Writes::Renew(None));
                    let Some(renewed) = renewal.on(cx, Input::Started) else {
                        self.renewal = Some(renewal);
                        return None;
                    };
                    if let Some(why) = self.renewed(cx, renewed.map(drop)) {
                        return Some(why);
                    }
                }
            }
        }
    }

    fn renewed(&mut self, cx: &mut Cx<'_>, renewed: Result<(), Fault>) -> Option<Why> {
        if let Some(timer) = self.timer.take() {
            cx.stop(timer);
        }
        match renewed {
            Ok(()) => {
                let was_told = self.asks_for == Some(Heard::Message);
                let pause = cx.now.after(usual_pause(self.ttl()));
                self.not_before = was_told.then_some(pause);
            }
            Err(error) => {
                if let Some(why @ (Why::Lost | Why::Expired)) = Why::of(&error) {
                    return Some(why);
                }
                let deadline = self.hold.deadline();
                let left = deadline.map_or(Nanos::ZERO, |deadline| cx.now.to(deadline));
                let pause = pause_after(error.retry_after(), self.ttl(), left);
                self.not_before = Some(cx.now.after(pause));
                self.heard = self.heard.or(self.asks_for);
            }
        }
        None
    }
}

impl Operation for Keep {
    type Outcome = Why;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Why> {
        let has_listened = self.subscription.is_listening();
        match (self.subscription.on(cx.now, &input), input) {
            (Some(wakeup), _) => {
                self.heard = match wakeup {
                    Wakeup::Closed => self.heard,
                    Wakeup::Confirmed if !has_listened => Some(Heard::Opened),
                    Wakeup::Confirmed | Wakeup::Message(_) => Some(Heard::Message),
                };
                if self.renewal.is_some() {
                    return None;
                }
                if let Some(timer) = self.timer.take() {
                    cx.stop(timer);
                }
                self.go_on(cx)
            }
            (None, Input::Started) => self.go_on(cx),
            (None, Input::Woken(id)) if self.timer == Some(id) => {
                if let Some(renewal) = self.renewal.take() {
                    renewal.waits_for().into_iter().for_each(|id| cx.stop(id));
                    self.not_before = None;
                }
                self.go_on(cx)
            }
            (None, input) => {
                let renewed = self.renewal.as_mut()?.on(cx, input)?;
                self.renewal = None;
                let why = self.renewed(cx, renewed.map(drop));
                why.or_else(|| self.go_on(cx))
            }
        }
    }
}

/// How long to pause after a renewal that failed. It is as long as the bridge asks, but half of the
/// time `left` is kept: the bridge may accept a renewal earlier than it said, and later nothing is
/// left to renew.
fn pause_after(asked: Option<Duration>, ttl: Nanos, left: Nanos) -> Nanos {
    let asked = asked.map_or(Nanos::ZERO, Nanos::of);
    usual_pause(ttl).max(asked.min(left / 2))
}

fn usual_pause(ttl: Nanos) -> Nanos {
    (ttl / TRIES_IN_A_TTL).min(LONGEST_PAUSE)
}

/// A third of the ttl after the last renewal, which lies a ttl less the drift before the deadline.
fn renewal_due(deadline: Instant, ttl: Nanos) -> Instant {
    deadline.earlier_by(surely(ttl)).after(ttl / 3)
}

/// Gives back a hold that was kept. The outcome is what its keeper is told.
pub(crate) struct EndKeeping {
    hold: Arc<Hold>,
    /// Why the work was stopped, unless it ended.
    stopped: Option<Why>,
    /// Why the outcome of its last write was unknown, if it was.
    unknown: Option<Fault>,
    /// For a hold past its deadline.
    expiry: Option<Expiry>,
    release: Option<Write>,
}

/// Past its deadline a hold is given back while Redis may still keep others out, and not again when
/// it is dropped.
struct Expiry {
    timer: Id,
    was_held: bool,
}

impl EndKeeping {
    /// Behind the work, which ended, or was stopped.
    pub(crate) const fn new(hold: Arc<Hold>, stopped: Option<Why>) -> Self {
        Self { hold, stopped, unknown: None, expiry: None, release: None }
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let hold = &self.hold;
        self.unknown = hold.unknown(cx.now);
        let is_over = hold.deadline().is_some_and(|until| until <= cx.now);
        let longest = Nanos::of(hold.claim.lock.topology.request_timeout);
        let limit = match self.stopped {
            // The work counts as good only if the lock is found still held.
            None => is_over.then_some(longest),
            Some(Why::Expired) => Some(longest.min(drift(Nanos::of(hold.claim.ttl())))),
            Some(_) => None,
        };
        self.expiry =
            limit.map(|limit| Expiry { timer: cx.wake_in(limit), was_held: hold.is_held() });
        self.release = Some(Write::new(hold.clone(), Writes::Release));
    }

    /// What the keeper is told, after the release came to this; `None` if there is no answer.
    fn told(&mut self, cx: &Cx<'_>, released: Option<Result<(), Fault>>) -> Result<(), Fault> {
        let unknown = self.unknown.take();
        let found = released.and_then(|released| match released {
            Ok(()) => Some(Why::Released),
            Err(error) => Why::of(&error),
        });
        let lost = match (self.expiry.take(), found) {
            (_, Some(Why::Lost)) => Some(Why::Lost),
            // The work was done under the lock.
            (None, _) | (Some(_), Some(Why::Released)) => None,
            (Some(expiry), _) => {
                if expiry.was_held {
                    self.hold.tell_loss(cx.host(), cx.now);
                }
                self.hold.end(Why::Expired);
                Some(Why::Expired)
            }
        };
        // Once it was stopped, nobody is left to learn the outcome of a write.
        match self.stopped.or(lost) {
            Some(why) => Err(unknown.unwrap_or_else(|| self.hold.error(why))),
            None => Ok(()),
        }
    }
}

impl Operation for EndKeeping {
    type Outcome = Result<(), Fault>;

    #[inline(never)]
    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        match (&self.expiry, &input) {
            (_, Input::Started) => self.begin(cx),
            (Some(expiry), Input::Woken(id)) if expiry.timer == *id => {
                self.cancel(cx);
                return Some(self.told(cx, None));
            }
            _ => {}
        }
        let released = self.release.as_mut()?.on(cx, input)?;
        Some(self.told(cx, Some(released.map(drop))))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        if let Some(mut release) = self.release.take() {
            release.cancel(cx);
        }
    }
}
