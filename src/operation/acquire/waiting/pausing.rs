//! A pause of a wait: when there is reason to ask, and what is heard until then.

use std::time::Duration;

use super::super::candidate::Candidate;
use super::super::handover::Meaning;
use super::super::subscription::Wakeup;
use super::super::{Cx, Input, Taken};
use super::{Outcome, Pause, Step, Waiting};
use crate::runtime::Instant;

impl Waiting {
    /// Waits until there is reason to ask.
    pub(super) fn pause(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        mut pause: Pause,
    ) -> Outcome {
        if let Some(timer) = pause.timer.take() {
            cx.stop(timer);
        }
        let listen_at = self.listen_in_time(who, cx);
        let connecting = self.subscription.is_connecting() && cx.now < self.connected_by;
        let hears = connecting || self.subscription.is_listening();
        pause.ask_at = match (pause.due, pause.planned) {
            (Some(due), _) => due,
            // What it hears has not changed.
            (None, Some((heard, at))) if heard == hears => at,
            _ => {
                let Some(until_ask) = self.until_next_ask(who, cx, hears) else {
                    return self.in_vain(who, cx, None);
                };
                let at = match connecting {
                    true => (cx.now + until_ask).min(self.connected_by),
                    false => cx.now + until_ask,
                };
                pause.planned = Some((hears, at));
                at
            }
        };
        pause.wake_at = listen_at.map_or(pause.ask_at, |at| at.min(pause.ask_at));
        pause.timer = Some(cx.wake_in(pause.wake_at.since(cx.now)));
        self.step = Step::Pausing(pause);
        None
    }

    pub(super) fn paused(
        &mut self,
        who: &mut Candidate,
        cx: &mut Cx<'_>,
        pause: Pause,
        input: &Input,
        heard: Option<Wakeup>,
    ) -> Outcome {
        let is_over = matches!(input, Input::Woken(id) if pause.timer == Some(*id));
        match heard {
            Some(Wakeup::Message(message)) => {
                self.look_again(who, cx);
                match self.told(who, cx, &message) {
                    Some(Meaning::Granted(grant)) => Some(Ok(Taken::Lock(grant))),
                    Some(Meaning::Ours) => self.ask(who, cx, &pause),
                    Some(Meaning::MayBeFree | Meaning::Superseded) | None => {
                        self.step = Step::Pausing(pause);
                        self.ask_when_affordable(who, cx)
                    }
                }
            }
            // The lock may have been freed before anybody could be told. If others are ahead, the
            // first one takes it, and hands it on.
            Some(Wakeup::Confirmed) if pause.due.is_none() && self.is_first(who) => {
                self.ask(who, cx, &pause)
            }
            None if is_over && pause.wake_at == pause.ask_at => self.ask(who, cx, &pause),
            None if !is_over => {
                self.step = Step::Pausing(pause);
                None
            }
            _ => self.pause(who, cx, pause),
        }
    }

    /// The lock may be free. It asks as soon as the requests that are left allow it: whatever it is
    /// told, they must last until the end of its wait.
    pub(super) fn ask_when_affordable(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) -> Outcome {
        let Step::Pausing(mut pause) = std::mem::replace(&mut self.step, Step::Done) else {
            return None;
        };
        if who.tries_left() == 0 {
            // It listens on: a release may still hand the lock over.
            self.step = Step::Pausing(pause);
            return None;
        }
        let left = self.until_affordable(who, cx);
        if left.is_zero() {
            return self.ask(who, cx, &pause);
        }
        let at = cx.now + left;
        pause.due = pause.due.map(|due| due.min(at));
        pause.planned = (pause.planned).map(|(hears, planned)| (hears, planned.min(at)));
        self.pause(who, cx, pause)
    }

    /// How long it is until it may ask again, so that its requests last.
    pub(super) fn until_affordable(&self, who: &Candidate, cx: &Cx<'_>) -> Duration {
        let apart = self.schedule.apart(self.asked_at, who.tries_left());
        (self.asked_at + apart).since(cx.now)
    }

    fn ask(&mut self, who: &mut Candidate, cx: &mut Cx<'_>, pause: &Pause) -> Outcome {
        if let Some(timer) = pause.timer {
            cx.stop(timer);
        }
        if who.tries_left() == 0 {
            return self.in_vain(who, cx, None);
        }
        self.ask_now(who, cx)
    }

    /// How long it is until the next request, if it `hears` or does not; `None` if none is to come.
    fn until_next_ask(&mut self, who: &Candidate, cx: &Cx<'_>, hears: bool) -> Option<Duration> {
        let found = self.found.as_ref()?;
        let left = who.tries_left();
        if left == 0 {
            let rest = self.schedule.rest(cx.now, found.asked_at);
            return rest.filter(|_| hears && who.accepts_handover);
        }
        let (contended, took) = (&found.contended, found.round_trip);
        (self.schedule).pause(cx.now, cx.host(), contended, took, hears, left)
    }

    /// Listens, if it is time; when it will be, if that is yet to come.
    fn listen_in_time(&mut self, who: &mut Candidate, cx: &mut Cx<'_>) -> Option<Instant> {
        // One request to listen, and one to ask once it does.
        let may_listen = self.has_begun && who.requests_left() >= 2;
        if !self.subscription.is_closed() || !may_listen {
            return None;
        }
        let from = self.subscription.possible_from()?;
        let schedule = &mut self.schedule;
        let at = *(self.listen_at)
            .get_or_insert_with(|| cx.now + schedule.pause_before_listening(cx.host()));
        let at = at.max(from);
        if at > cx.now {
            return Some(at);
        }
        self.listen_at = None;
        self.listen(who, cx);
        None
    }
}
