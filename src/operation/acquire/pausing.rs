//! A pause of a wait: when there is reason to ask, and what is heard until then.

use super::super::subscription::Wakeup;
use super::ending::Attempted;
use super::waiting::Meaning;
use super::{Acquire, Cx, Input, Pause, Rule, Step};
use crate::nanos::Nanos;
use crate::runtime::Instant;

type Outcome = Option<Attempted>;

impl Acquire {
    /// Waits until there is reason to ask.
    pub(super) fn pause(&mut self, cx: &mut Cx<'_>, mut pause: Pause) -> Outcome {
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
                Some(Meaning::MayBeFree | Meaning::Superseded) | None => {
                    self.step = Step::Pausing(pause);
                    self.ask_when_affordable(cx)
                }
            },
            // The lock may have been freed before anybody could be told. If others are ahead, the
            // first one takes it, and hands it on.
            Some(Wakeup::Confirmed) if !is_lost && self.is_first() => self.stop_pausing(cx, &pause),
            None if is_over && pause.is_to_ask => self.stop_pausing(cx, &pause),
            None if !is_over => self.step(Step::Pausing(pause)),
            _ => self.pause(cx, pause),
        }
    }

    /// The lock may be free. It asks as soon as the requests that are left allow it: whatever it is
    /// told, they must last until the end of its wait.
    pub(super) fn ask_when_affordable(&mut self, cx: &mut Cx<'_>) -> Outcome {
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
    pub(super) fn until_affordable(&self, cx: &Cx<'_>) -> Nanos {
        let apart = self
            .wait
            .schedule
            .apart(self.wait.asked_at, self.tries_left());
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
            return rest.filter(|_| hears && self.accepts_handover);
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
