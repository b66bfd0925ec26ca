//! How an acquisition ends, and what it has to give back.

use std::time::Duration;

use super::super::TimeLimit;
use super::request::REQUESTS_OF_A_WAIT;
use super::{Acquire, Cx, Grant, Granted};
use crate::error::{Error, Fault, UNENDING};
use crate::event::EventKind;
use crate::name::Name;
use crate::runtime::Instant;
use crate::script::Contended;

impl Acquire {
    /// What to say when the wait was in vain, with an estimate of when to come back, or without:
    /// then when the holder's time is up.
    pub(super) fn held(&self, now: Instant, found: Contended, estimate: Option<Duration>) -> Fault {
        let at_expiry = found.remaining.unwrap_or(UNENDING);
        // Of several names the one that is held.
        let name = found.at.and_then(|at| self.claim.lock.name.at(at));
        let quote = |label: String| self.claim.lock.topology.quote(&self.call.redact(&label));
        let name = name.map_or_else(|| self.claim.lock.name.key(), Name::key);
        Fault::from(Error::Held {
            lock: name.to_owned(),
            is_own: self.waits && self.claim.lock.topology.holds().has(name, now),
            remaining: found.remaining,
            ahead: found.ahead,
            label: found.label.map(quote),
            retry_after: estimate.unwrap_or(at_expiry),
            requests: self.requests.saturating_add(self.needs_cleanup.into()),
        })
    }

    /// What it may still send, with one kept for leaving the queue, or for giving up what was asked
    /// for, unless the lock is its own.
    pub(super) fn requests_left(&self) -> u32 {
        let keeps = self.options.max_requests >= REQUESTS_OF_A_WAIT && !self.is_handed;
        let kept = u32::from(keeps);
        self.options.max_requests.saturating_sub(self.requests.saturating_add(kept))
    }

    /// How often it may still ask.
    pub(super) fn tries_left(&self) -> u32 {
        self.requests_left() / self.claim.lock.kind.requests_of_a_try()
    }

    /// It has the lock. The receiver of the grant is responsible for the token now.
    pub(super) fn granted(&mut self, cx: &Cx<'_>, granted: Grant) -> Granted {
        self.needs_cleanup = false;
        self.waits = false;
        let found = self.wait.found.as_ref();
        Granted {
            ahead: found.map_or(0, |found| found.contended.ahead),
            ..Granted::of(&self.claim, cx, self.requests, granted)
        }
    }

    /// What it wanted the lock for was executed before.
    pub(super) fn served(&mut self, cx: &mut Cx<'_>) {
        // A request that is still on its way could take the lock when the result is kept no more.
        self.leave(cx);
        self.waits = false;
        let waited = cx.now.since(self.claim.since);
        let requests = self.requests;
        let kind = EventKind::Replayed { waited, requests };
        self.claim.observe(cx.host(), kind);
    }

    /// Abandons its token, so that a request which is still on its way cannot take the lock for
    /// nobody, and leaves the queue. Both happen before the caller learns that it failed, and goes
    /// on as if it did not wait any more.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>) {
        self.leave(cx);
        if std::mem::take(&mut self.waits) {
            let waited = cx.now.since(self.claim.since);
            let requests = self.requests;
            let kind = EventKind::GaveUp { waited, requests };
            self.claim.observe(cx.host(), kind);
        }
    }

    /// Abandons its token, by one more request of its own.
    fn leave(&mut self, cx: &mut Cx<'_>) {
        if self.abandon(cx) {
            self.requests = self.requests.saturating_add(1);
        }
    }

    /// Gives up all that was asked for with its token, whatever became of it, if there is anything.
    pub(super) fn abandon(&mut self, cx: &mut Cx<'_>) -> bool {
        let is_due = std::mem::take(&mut self.needs_cleanup) && self.claim.is_own();
        if is_due {
            let sent = self.requests.saturating_add(self.uncounted);
            let left = self.options.max_requests.saturating_sub(sent);
            let limit = TimeLimit::TIMEOUT.requests(left);
            self.claim.abandon(cx, self.waiter.as_ref(), limit);
        }
        is_due
    }
}
