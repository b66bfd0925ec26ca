//! The candidate for a lock: what it asks with, how patient it is, and what it has to give back.

use std::sync::Arc;
use std::time::Duration;

use super::super::schedule;
use super::taken::Grant;
use super::{Claim, Cx, Granted};
use crate::acquisition::QueuePlace;
use crate::command::Command;
use crate::error::{Error, Fault, UNENDING};
use crate::event::EventKind;
use crate::name::Name;
use crate::operation::{GiveBack, TimeLimit, Why, check_kind};
use crate::runtime::Instant;
use crate::script::{self, Call, Contended, Reads, Waiter};

/// How patient an acquisition is.
pub(crate) struct AcquireOptions {
    /// For how long it waits, if it does.
    pub(crate) wait: Option<Duration>,
    pub(crate) max_requests: u32,
    pub(crate) fair: bool,
    /// Whether it has what its reads found even if it is not granted.
    pub(crate) reads_in_any_case: bool,
    /// Whether a read that failed is a reply, and does not fail the acquisition.
    pub(crate) tells_each: bool,
}

pub(super) struct Candidate {
    pub(super) claim: Claim,
    pub(super) call: Arc<Call>,
    pub(super) options: AcquireOptions,
    /// What is to be read is asked for anew before each request.
    inquires: bool,
    waiter: Option<Waiter>,
    /// Where it may hear of its turn.
    pub(super) channel: Option<String>,
    /// Whether a lease that was handed over is complete, or something is still to be asked for.
    pub(super) accepts_handover: bool,
    /// Whether the lock may be, or may yet become, this token's, or it stands in the queue.
    pub(super) needs_cleanup: bool,
    pub(super) requests: u32,
    /// How many more a call under way may have sent that was dropped.
    uncounted: u32,
    /// How often it asked several bridges.
    pub(super) tries: u32,
    /// Its first request has had all the attempts that one has; those behind it are the wait's.
    pub(super) has_asked: bool,
    /// It waits, or its wait is over, and nothing has come of that yet.
    pub(super) waits: bool,
}

/// Asking, listening, asking again and leaving the queue. With fewer requests there is no point in
/// queueing, or in keeping one to give up what was asked for.
const REQUESTS_OF_A_WAIT: u32 = 4;

impl Candidate {
    /// Without `reads` it asks for them.
    pub(super) fn new(
        mut claim: Claim,
        mut options: AcquireOptions,
        reads: Option<&[Command]>,
    ) -> Self {
        let own = own_place(&claim, &options);
        let QueuePlace {
            ttl,
            label,
            fair,
            waiter,
            channel,
        } = match &claim.caller {
            Some(caller) => caller.stand(own),
            None => own,
        };
        (claim.ttl, claim.label, options.fair) = (ttl, label, fair);
        let fixed = reads.unwrap_or_default();
        Self {
            call: call(&claim, &options, waiter.as_ref(), fixed),
            accepts_handover: accepts_handover(&claim, waiter.as_ref(), fixed),
            inquires: reads.is_none(),
            needs_cleanup: false,
            requests: 0,
            uncounted: 0,
            tries: 0,
            has_asked: false,
            waits: false,
            claim,
            options,
            waiter,
            channel,
        }
    }

    /// Has the next request read what is to be read by now.
    pub(super) fn update(&mut self, cx: &mut Cx<'_>) -> Result<(), Fault> {
        if !self.claim.is_own() {
            return Err(Why::Lost.about(self.claim.lock()));
        }
        if !self.inquires {
            return Ok(());
        }
        let reads = cx.reads();
        script::check_reads(&reads)
            .and_then(|()| check_kind(&self.claim.kind, &reads))
            .map_err(|error| error.of_lock(Some(self.claim.name.shown())))?;
        let waiter = self.waiter.as_ref();
        self.call = call(&self.claim, &self.options, waiter, &reads);
        self.accepts_handover = accepts_handover(&self.claim, waiter, &reads);
        Ok(())
    }

    pub(super) const fn stands_in_queue(&self) -> bool {
        self.waiter.is_some()
    }

    /// What to say when the wait was in vain, with an estimate of when to come back, or without:
    /// then when the holder's time is up.
    pub(super) fn held(&self, now: Instant, found: Contended, estimate: Option<Duration>) -> Fault {
        let at_expiry = found.remaining.unwrap_or(UNENDING);
        // Of several names the one that is held.
        let name = found.at.and_then(|at| self.claim.name.at(at));
        let quote = |label: String| self.claim.topology.quote(&self.call.redact(&label));
        let name = name.map_or_else(|| self.claim.name.key(), Name::key);
        Fault::from(Error::Held {
            lock: name.to_owned(),
            is_own: self.waits && self.claim.topology.holds().has(name, now),
            remaining: found.remaining,
            ahead: found.ahead,
            label: found.label.map(quote),
            retry_after: estimate.unwrap_or(at_expiry),
            requests: self.requests.saturating_add(self.needs_cleanup.into()),
        })
    }

    /// What it may still send, with one kept for leaving the queue, or for giving up what was asked
    /// for.
    pub(super) fn requests_left(&self) -> u32 {
        let kept = u32::from(self.options.max_requests >= REQUESTS_OF_A_WAIT);
        self.options
            .max_requests
            .saturating_sub(self.requests.saturating_add(kept))
    }

    /// How often it may still ask.
    pub(super) fn tries_left(&self) -> u32 {
        self.requests_left() / self.claim.kind.requests_of_a_try()
    }

    /// It has the lock. The receiver of the grant is responsible for the token now.
    pub(super) fn granted(&mut self, cx: &Cx<'_>, granted: Grant) -> Granted {
        self.needs_cleanup = false;
        self.waits = false;
        Granted::of(&self.claim, cx, self.requests, granted)
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

    /// Gives up though a call may be under way, whose outcome nobody gets.
    pub(super) fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.uncounted = self.claim.topology.requests_of_a_call();
        self.give_up(cx);
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
            let call = Call::abandon(self.claim.subject(), self.waiter.as_ref());
            let sent = self.requests.saturating_add(self.uncounted);
            let left = self.options.max_requests.saturating_sub(sent);
            let limit = TimeLimit::TIMEOUT.requests(left);
            cx.begin_in_background(GiveBack::asked_for(self.claim.clone(), call, limit));
        }
        is_due
    }
}

/// The place in the queue that `claim` would have.
fn own_place(claim: &Claim, options: &AcquireOptions) -> QueuePlace {
    let stands = options.wait.is_some() && options.max_requests >= REQUESTS_OF_A_WAIT;
    let channel = (stands && claim.topology.may_push())
        .then(|| claim.kind.channel(&claim.name, claim.waits_as()))
        .flatten();
    let waiter = (stands && claim.kind.queues()).then(|| {
        let liveness = schedule::liveness(claim.ttl);
        Waiter::new(
            &claim.token,
            claim.ttl.min(liveness),
            claim.ttl,
            liveness,
            options.fair,
            claim.kind.wants(),
            &claim.label,
            channel.as_deref(),
        )
    });
    QueuePlace {
        ttl: claim.ttl,
        label: claim.label.clone(),
        fair: options.fair,
        waiter,
        channel,
    }
}

fn call(
    claim: &Claim,
    options: &AcquireOptions,
    waiter: Option<&Waiter>,
    reads: &[Command],
) -> Arc<Call> {
    let subject = claim.subject();
    let reads = Reads {
        commands: reads,
        in_any_case: options.reads_in_any_case,
    };
    Call::acquire(subject, claim.ttl, waiter, options.fair, reads)
        .replicated(claim.replicas.as_ref())
        .telling_each(options.tells_each)
        .into()
}

fn accepts_handover(claim: &Claim, waiter: Option<&Waiter>, reads: &[Command]) -> bool {
    let is_whole = waiter.is_some_and(|waiter| claim.ttl <= waiter.liveness);
    // The release that hands it over waits for no replicas.
    is_whole && reads.is_empty() && claim.replicas.is_none()
}
