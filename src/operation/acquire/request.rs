//! What an acquisition asks with: its place in the queue, its call, and what it reads.

use std::sync::Arc;

use super::super::Why;
use super::super::schedule::{self, Schedule};
use super::super::subscription::Subscription;
use super::{Acquire, AcquireOptions, Claim, Cx, Step, Wait};
use crate::command::Command;
use crate::error::Fault;
use crate::nanos::Nanos;
use crate::script::{self, Call, RECEIPT_LIFE, Reads, Waiter};
use crate::settings::check_kind;

/// Asking, listening, asking again and leaving the queue. With fewer requests there is no point in
/// queueing, or in keeping one to give up what was asked for.
pub(super) const REQUESTS_OF_A_WAIT: u32 = 4;

impl Acquire {
    /// An acquisition with the same reads in each request; or with none, so that it asks its driver
    /// for them before each request.
    pub(crate) fn new(
        mut claim: Claim,
        mut options: AcquireOptions,
        reads: Option<&[Command]>,
    ) -> Self {
        let own = own_place(&claim, &options);
        let place = match &claim.caller {
            Some(caller) => caller.stand(own),
            None => own,
        };
        claim.adopt(place.ttl, place.label.clone());
        options.fair = place.fair;
        let wait = Wait::new(&claim, &options, place.channel.clone());
        let waiter = place.queues.then_some(place);
        let fixed = reads.unwrap_or_default();
        Self {
            call: call(&claim, &options, waiter.as_ref(), fixed),
            accepts_handover: accepts_handover(&claim, waiter.as_ref(), &options, fixed),
            has_reads: !fixed.is_empty(),
            is_handed: false,
            inquires: reads.is_none(),
            needs_cleanup: false,
            requests: 0,
            uncounted: 0,
            tries: 0,
            has_asked: false,
            waits: false,
            wait,
            step: Step::New,
            ask: None,
            claim,
            options,
            waiter,
        }
    }

    /// Has the next request read what is to be read by now.
    pub(super) fn update(&mut self, cx: &mut Cx<'_>) -> Result<(), Fault> {
        if !self.claim.is_own() {
            return Err(Why::Lost.about(self.claim.shown()));
        }
        let reads = if self.inquires { cx.reads() } else { Vec::new() };
        (self.claim.check_replicas())
            .and_then(|()| script::check_reads(&reads))
            .and_then(|()| check_kind(&self.claim.lock.kind, &reads))
            .map_err(|error| error.of_lock(Some(self.claim.shown())))?;
        if !self.inquires {
            return Ok(());
        }
        let waiter = self.waiter.as_ref();
        self.call = call(&self.claim, &self.options, waiter, &reads);
        self.accepts_handover = accepts_handover(&self.claim, waiter, &self.options, &reads);
        self.has_reads = !reads.is_empty();
        Ok(())
    }
}

impl Wait {
    fn new(claim: &Claim, options: &AcquireOptions, channel: Option<String>) -> Self {
        // A mark stops repeats of a take-over for 60 s. So the last one leaves long before.
        let longest = (claim.lock.kind.takes_over()).then_some(RECEIPT_LIFE);
        let wait = options.wait.unwrap_or_default();
        let wait = wait.min(longest.unwrap_or(wait));
        let end = claim.since + wait;
        let tries = options.max_requests / claim.lock.kind.requests_of_a_try();
        let liveness = Nanos::of(schedule::liveness(claim.ttl()));
        Self {
            end,
            schedule: Schedule::new(end, Nanos::of(wait), liveness, tries),
            backoff: None,
            subscription: Subscription::new(channel),
            connected_by: end,
            listen_at: None,
            place: None,
            has_begun: false,
            asked_at: claim.since,
            message: None,
            is_confirmed: false,
            found: None,
            unknown: None,
            failed: None,
        }
    }
}

/// The place in the queue that `claim` would have.
fn own_place(claim: &Claim, options: &AcquireOptions) -> Waiter {
    let stands = options.wait.is_some() && options.max_requests >= REQUESTS_OF_A_WAIT;
    let lock = &claim.lock;
    Waiter {
        queues: stands && lock.kind.queues(),
        token: claim.token.clone(),
        ttl: claim.ttl(),
        liveness: schedule::liveness(claim.ttl()),
        fair: options.fair,
        wants: lock.kind.wants().to_owned(),
        label: lock.label.clone(),
        channel: (stands && lock.topology.may_push())
            .then(|| lock.kind.channel(&lock.name, claim.waits_as()))
            .flatten(),
    }
}

fn call(
    claim: &Claim,
    options: &AcquireOptions,
    waiter: Option<&Waiter>,
    reads: &[Command],
) -> Arc<Call> {
    let subject = claim.subject();
    let reads = Reads { commands: reads, in_any_case: options.reads_in_any_case };
    Call::acquire(subject, claim.ttl(), waiter, options.fair, reads)
        .replicated(claim.lock.replicas.as_ref())
        .telling_each(options.turn.is_some())
        .waiting(options.wait.is_some())
        .into()
}

fn accepts_handover(
    claim: &Claim,
    waiter: Option<&Waiter>,
    options: &AcquireOptions,
    reads: &[Command],
) -> bool {
    let is_whole = waiter.is_some_and(|waiter| claim.ttl() <= waiter.liveness);
    let has_enough = reads.is_empty() || options.turn.is_some_and(|turn| turn.guesses);
    // The release that hands it over waits for no replicas.
    let is_handed = claim.lock.kind.is_handed_over() && claim.lock.replicas.is_none();
    is_whole && is_handed && has_enough
}
