//! Waiting for another holder, and for a bridge that is away: what follows an attempt, what a
//! message is worth beside the last answer, and a pause: when there is reason to ask.

use std::time::Duration;

use super::super::deadline;
use super::super::subscription::Wakeup;
use super::{Acquire, Attempted, Cx, Grant, Input, Pause, Place, Rule, Step};
use crate::error::Fault;
use crate::event::EventKind;
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::script::{self, Handover, shape};

/// A subscription that takes longer is still taken, but meanwhile the waiter polls.
const CONNECTED_WITHIN: Nanos = Nanos::ms(1_000);

/// Behind so many nobody waits. Redis keeps each waiter, and is asked for each again and again.
const MOST_AHEAD: u64 = 10_000;

/// What a message means beside the last answer, unless the answer is newer.
enum Meaning {
    Granted(Grant),
    /// The lock is this waiter's, but the waiter must ask for it.
    Ours,
    /// The lock may be free.
    MayBeFree,
}

type Outcome = Option<Attempted>;

impl Acquire {
    /// Notes what is heard during an attempt.
    pub(super) fn note(&mut self, heard: Option<Wakeup>) {
        match heard {
            Some(Wakeup::Message(text)) => self.wait.message = Some(text),
            Some(Wakeup::Confirmed) => self.wait.is_confirmed = true,
            Some(Wakeup::Closed) | None => {}
        }
    }

    /// What follows an attempt. The first one has all that an acquisition without a wait has: a
    /// wait is about another holder, not about the way to the bridge.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_>, attempted: Attempted) -> Outcome {
        self.has_asked = true;
        let may_wait = self.options.wait.is_some();
        let failed = match attempted {
            Attempted::Held(found) if may_wait => {
                self.wait.found = Some(found);
                None
            }
            Attempted::Failed(fault) if may_wait && fault.ends() => Some(fault),
            attempted => return Some(attempted),
        };
        // After a failure, a message is judged by the answer before.
        let counts = failed.as_ref().is_none_or(|fault| fault.is_passing());
        let message = self.wait.message.take().filter(|_| counts);
        let is_confirmed = std::mem::take(&mut self.wait.is_confirmed);
        let (again, at_once) = match message.and_then(|message| self.told(cx, &message)) {
            Some(Meaning::Granted(grant)) => return Some(Attempted::Granted(grant)),
            Some(Meaning::Ours) => (true, true),
            Some(Meaning::MayBeFree) => (true, self.until_affordable(cx).is_zero()),
            None => (is_confirmed && self.may_have_room(), true),
        };
        // Also a waiter that hears of its turn: the last request leaves at the end of the wait.
        let again = again && !self.wait.schedule.is_over(cx.now) && self.tries_left() > 0;
        let is_answered = failed.is_none();
        if is_answered && again && at_once {
            return self.ask_now(cx);
        }
        let outcome = self.pause_after(cx, failed);
        match outcome.is_none() && is_answered && again {
            true => self.ask_when_affordable(cx),
            false => outcome,
        }
    }

    /// The last attempt was answered that another holds the lock, or `failed`.
    fn pause_after(&mut self, cx: &mut Cx<'_>, failed: Option<Fault>) -> Outcome {
        self.wait.place = self.wait.place.take().or_else(Place::take);
        let may_wait = self.wait.place.is_some();
        let Some(fault) = failed else {
            self.wait.unknown = None;
            self.wait.failed = None;
            // Also if its time was over before the first answer came: a slow bridge must not hide
            // who waited in vain.
            self.waits = self.wait.end > self.claim.since;
            let found = self.wait.found.as_ref();
            let ahead = found.map_or(0, |found| found.contended.ahead);
            if ahead >= MOST_AHEAD || !may_wait {
                return self.in_vain(cx, None);
            }
            self.begin_waiting(cx);
            return self.pause(cx, Pause::default());
        };
        let (left, asked) = (self.tries_left(), fault.retry_after());
        let pause = (self.wait.schedule).pause_after(cx.now, cx.host(), asked, left);
        let Some(pause) = pause.filter(|_| may_wait) else {
            return self.in_vain(cx, Some(fault));
        };
        self.waits = true;
        let kind = EventKind::Retried { error: &fault, pause: pause.duration() };
        self.claim.observe(cx.host(), kind);
        // A refusal behind one of unknown outcome says nothing of that one.
        match fault.is_outcome_unknown() {
            true => (self.wait.unknown, self.wait.failed) = (Some(fault), None),
            false => self.wait.failed = Some(fault),
        }
        let lost = Pause { planned: Some((Rule::Lost, cx.now.after(pause))), ..Pause::default() };
        self.pause(cx, lost)
    }

    /// Another holds the lock, and there is time and leave to wait for it: once.
    fn begin_waiting(&mut self, cx: &mut Cx<'_>) {
        let may_begin = !self.wait.has_begun && cx.now < self.wait.end && self.tries_left() > 0;
        let Some(found) = self.wait.found.as_ref().filter(|_| may_begin) else {
            return;
        };
        let kind = EventKind::Contended {
            remaining: found.contended.remaining,
            ahead: found.contended.ahead,
        };
        self.claim.observe(cx.host(), kind);
        self.wait.has_begun = true;
        self.wait.listen_at = (self.wait.subscription).possible_from(&self.claim.lock.topology);
        self.wait.connected_by = cx.now.after(CONNECTED_WITHIN);
    }

    fn ask_now(&mut self, cx: &mut Cx<'_>) -> Outcome {
        self.wait.asked_at = cx.now;
        let attempted = self.begin_attempt(cx)?;
        self.go_on(cx, attempted)
    }

    /// Whether those that are ahead may leave room for it.
    fn may_have_room(&self) -> bool {
        let (found, most) = (self.wait.found.as_ref(), self.claim.lock.kind.at_once());
        found.is_some_and(|found| found.contended.ahead < most) && self.tries_left() > 0
    }

    /// What `message` means beside the last answer, if there is one: the lease that a release
    /// handed over, if nothing more must be asked for.
    ///
    /// Fences say which of the two came first, since a clock can be set back. The deadline is
    /// computed from this waiter's own request, by Redis's clock. It never starts at the arrival of
    /// a message, which may have been on its way for long. If Redis's clock jumped, the arrival
    /// bounds it.
    fn told(&mut self, cx: &mut Cx<'_>, message: &str) -> Option<Meaning> {
        // There may be something to read by now, which a hand-over does not bring.
        if self.accepts_handover && self.update(cx).is_err() {
            self.accepts_handover = false;
        }
        let found = self.wait.found.as_ref()?;
        if script::may_be_free(message) {
            return Some(Meaning::MayBeFree);
        }
        let Some(Handover { fence, left }) = script::handed_over(message) else {
            return self.ours();
        };
        let answered_us = found.contended.redis_us;
        if fence <= answered_us {
            return None;
        }
        let since_answer = Duration::from_micros(left.redis_us.saturating_sub(answered_us));
        let ttl = self.claim.ttl();
        let reckoned = deadline(found.asked_at, since_answer.saturating_add(ttl));
        let until = reckoned.min(deadline(cx.now, ttl));
        // A lease that is half over is worth a request, which gives it the full ttl.
        let needs_reads = self.has_reads && left.found.is_empty();
        if !self.accepts_handover || needs_reads || cx.now.to(until) < self.ttl() / 2 {
            return self.ours();
        }
        Some(Meaning::Granted(Grant {
            deadline: until,
            fence,
            replies: Vec::new(),
            left: self.has_reads.then_some(left),
        }))
    }

    /// The lock is its own, and it must ask: by the request that was kept for giving up, if there
    /// is no other.
    fn ours(&mut self) -> Option<Meaning> {
        self.is_handed = true;
        Some(Meaning::Ours)
    }

    /// The error when the wait is over: that of its last request, which failed with this one, or
    /// with the one before.
    fn in_vain(&mut self, cx: &Cx<'_>, failed: Option<Fault>) -> Outcome {
        let failed = failed.or_else(|| self.wait.failed.take());
        let fault = match (failed, self.wait.unknown.take(), self.wait.found.take()) {
            (Some(fault), Some(unknown), _) => fault.behind(unknown),
            (Some(fault), None, _) | (None, Some(fault), _) => fault,
            (None, None, Some(found)) => {
                let estimate = self.wait.schedule.estimate(&found.contended, cx.now);
                self.held(cx.now, found.contended, estimate)
            }
            (None, None, None) => shape(),
        };
        Some(Attempted::Failed(fault))
    }
}

/// A pause.
impl Acquire {
    /// Waits until there is reason to ask.
    fn pause(&mut self, cx: &mut Cx<'_>, mut pause: Pause) -> Outcome {
        if let Some(timer) = pause.timer.take() {
            cx.stop(timer);
        }
        let listen_at = self.listen_in_time(cx);
        let connecting = self.wait.subscription.is_connecting() && cx.now < self.wait.connected_by;
        let hears = connecting || self.wait.subscription.is_listening();
        let rule = if hears { Rule::Hears } else { Rule::Polls };
        let ask_at = match pause.planned {
            // What it hears has not changed, or does not matter.
            Some((planned, at)) if planned == rule || planned == Rule::Lost => at,
            _ => {
                let Some(until_ask) = self.until_next_ask(cx, hears) else {
                    return self.in_vain(cx, None);
                };
                let at = cx.now.after(until_ask);
                let at = match connecting {
                    true => at.min(self.wait.connected_by),
                    false => at,
                };
                pause.planned = Some((rule, at));
                at
            }
        };
        let wake_at = listen_at.map_or(ask_at, |at| at.min(ask_at));
        pause.is_to_ask = wake_at == ask_at;
        pause.timer = Some(cx.wake_in(cx.now.to(wake_at)));
        self.step(Step::Pausing(pause))
    }

    pub(super) fn paused(
        &mut self,
        cx: &mut Cx<'_>,
        pause: Pause,
        input: &Input,
        heard: Option<Wakeup>,
    ) -> Outcome {
        let is_over = matches!(input, Input::Woken(id) if pause.timer == Some(*id));
        let is_lost = matches!(pause.planned, Some((Rule::Lost, _)));
        match heard {
            Some(Wakeup::Message(message)) => match self.told(cx, &message) {
                Some(Meaning::Granted(grant)) => Some(Attempted::Granted(grant)),
                Some(Meaning::Ours) => self.stop_pausing(cx, &pause),
                Some(Meaning::MayBeFree) | None => {
                    self.step = Step::Pausing(pause);
                    self.ask_when_affordable(cx)
                }
            },
            // The lock may have been freed before anybody could be told. If others are ahead who
            // leave no room, the first one takes it, and hands it on.
            Some(Wakeup::Confirmed) if !is_lost && self.may_have_room() => {
                self.stop_pausing(cx, &pause)
            }
            None if is_over && pause.is_to_ask => self.stop_pausing(cx, &pause),
            None if !is_over => self.step(Step::Pausing(pause)),
            _ => self.pause(cx, pause),
        }
    }

    /// The lock may be free. It asks as soon as the requests that are left allow it: whatever it is
    /// told, they must last until the end of its wait.
    fn ask_when_affordable(&mut self, cx: &mut Cx<'_>) -> Outcome {
        let Step::Pausing(mut pause) = std::mem::replace(&mut self.step, Step::Done) else {
            return None;
        };
        if self.tries_left() == 0 {
            // It listens on: a release may still hand the lock over.
            return self.step(Step::Pausing(pause));
        }
        let left = self.until_affordable(cx);
        if left.is_zero() {
            return self.stop_pausing(cx, &pause);
        }
        let at = cx.now.after(left);
        pause.planned = (pause.planned).map(|(rule, planned)| (rule, planned.min(at)));
        self.pause(cx, pause)
    }

    /// How long it is until it may ask again, so that its requests last.
    fn until_affordable(&self, cx: &Cx<'_>) -> Nanos {
        let apart = self.wait.schedule.apart(self.wait.asked_at, self.tries_left());
        cx.now.to(self.wait.asked_at.after(apart))
    }

    /// Asks, if it still may.
    fn stop_pausing(&mut self, cx: &mut Cx<'_>, pause: &Pause) -> Outcome {
        if let Some(timer) = pause.timer {
            cx.stop(timer);
        }
        if self.tries_left() == 0 {
            return self.in_vain(cx, None);
        }
        self.ask_now(cx)
    }

    /// How long it is until the next request, if it `hears` or does not; `None` if none is to come.
    fn until_next_ask(&mut self, cx: &Cx<'_>, hears: bool) -> Option<Nanos> {
        let found = self.wait.found.as_ref()?;
        let left = self.tries_left();
        if left == 0 {
            let rest = self.wait.schedule.rest(cx.now, found.asked_at);
            let may_be_handed = self.waiter.is_some() && self.claim.lock.kind.is_handed_over();
            return rest.filter(|_| hears && may_be_handed);
        }
        let (contended, took) = (&found.contended, found.round_trip);
        (self.wait.schedule).pause(cx.now, cx.host(), contended, took, hears, left)
    }

    /// Listens, if it is time; when it will be, if that is yet to come.
    #[inline(never)]
    fn listen_in_time(&mut self, cx: &mut Cx<'_>) -> Option<Instant> {
        // One request to listen, and one to ask once it does.
        let may_listen = self.wait.has_begun && self.requests_left() >= 2;
        if !self.wait.subscription.is_closed() || !may_listen {
            return None;
        }
        let topology = &self.claim.lock.topology;
        let from = self.wait.subscription.possible_from(topology)?;
        let schedule = &mut self.wait.schedule;
        let at = *(self.wait.listen_at)
            .get_or_insert_with(|| cx.now.after(schedule.pause_before_listening(cx.host())));
        let at = at.max(from);
        if at > cx.now {
            return Some(at);
        }
        self.wait.listen_at = None;
        self.listen(cx);
        None
    }

    /// Whether it may listen from its first request on.
    pub(super) fn may_listen_at(&self, now: Instant) -> bool {
        let from = (self.wait.subscription).possible_from(&self.claim.lock.topology);
        from.is_some_and(|from| from <= now) && self.requests_left() > 2
    }

    pub(super) fn listen(&mut self, cx: &mut Cx<'_>) {
        self.requests += 1;
        let topology = &self.claim.lock.topology;
        let limit = cx.now.to(self.wait.end) + Nanos::of(topology.request_timeout);
        (self.wait.subscription).open(cx, topology, limit.duration());
    }
}
