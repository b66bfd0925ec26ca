//! What can happen next. Where the order of steps makes no difference, one order is enough:
//!
//! - A client that has to decide whether it goes on does so before anything else. It only sends
//!   something, and that may arrive at any time.
//! - A reply arrives at once, or late, if its client waits for nothing else that is under way. It
//!   only makes that client send something, or ends what the client believes.
//! - With several servers, too, the order of requests already decides which reply comes first.
//! - Time passes when nothing is under way but what is late.

use super::{Delay, Message, Stage, Stand, Step, What};
use crate::check::{Invariant, holders};
use crate::explore::desk::ATTEMPTS;
use crate::explore::step::Fault;
use crate::world::{MS, Time};

/// Receipts, and the marks of abandoned tokens, live longer than this.
const LATEST: Time = 15_000 * MS;

impl Stage {
    /// All next steps. A world in which a promise is broken has none.
    pub(in crate::explore) fn steps(&self) -> Vec<Step> {
        if self.check.violation().is_some() {
            return Vec::new();
        }
        let is_undecided = |seat: &super::Seat| seat.stand.get() == Stand::Undecided;
        if let Some(client) = self.seats.iter().position(is_undecided) {
            let client = client as u8;
            let mut steps = vec![Step::Go(client)];
            self.add(&mut steps, Fault::Expiry, Step::Rest(client));
            return steps;
        }
        let messages = self.messages.borrow();
        let mut steps = Vec::new();
        match messages.iter().find(|message| self.is_first(message, &messages)) {
            Some(reply) => self.of(reply, &mut steps),
            None => {
                for message in messages.iter().filter(|message| can_arrive(message, &messages)) {
                    self.of(message, &mut steps);
                }
                if self.may_pass(&messages) {
                    steps.push(Step::Pass);
                }
            }
        }
        for server in 0..self.servers.len() as u8 {
            if !messages.is_empty() || !self.streams.borrow().is_empty() {
                self.add(&mut steps, Fault::Restart, Step::Restart(server));
            }
            self.add(&mut steps, Fault::Empty, Step::Empty(server));
        }
        steps
    }

    fn add(&self, steps: &mut Vec<Step>, fault: Fault, step: Step) {
        if self.faults.get().may(fault) {
            steps.push(step);
        }
    }

    /// Whether it is a reply that may arrive before anything else happens.
    fn is_first(&self, message: &Message, all: &[Message]) -> bool {
        let others = |other: &&Message| {
            let is_incoming = other.is_reply() || other.piece_of().is_some();
            other.client == message.client && other.id != message.id && is_incoming
        };
        let listens = |id: &u64| (*id / 100) as usize == message.client;
        message.is_reply()
            && message.delay == Delay::InTime
            && !all.iter().any(|other| others(&other))
            && !self.streams.borrow().keys().any(listens)
    }

    /// Adds all that can become of a message.
    fn of(&self, message: &Message, steps: &mut Vec<Step>) {
        let id = message.id;
        steps.push(Step::Deliver(id));
        let (lost, may_be_late) = match &message.what {
            What::Request { .. } => (Fault::LostRequest, true),
            What::Subscribe { .. } => (Fault::LostRequest, false),
            What::Reply { .. } => (Fault::LostReply, true),
            What::Push { .. } => (Fault::LostMessage, true),
            What::HangUp { .. } => return,
        };
        self.add(steps, lost, Step::Lose(id));
        if let What::Request { is_copy: false, .. } = message.what {
            if message.delay == Delay::InTime && !self.has_copy(message) {
                self.add(steps, Fault::Refused, Step::Refuse(id));
            }
            self.add(steps, Fault::Twice, Step::Repeat(id));
        }
        if may_be_late && message.delay == Delay::InTime {
            self.add(steps, Fault::Late, Step::Delay(id));
        }
    }

    /// Whether a second copy of this request is on its way, so that the first one was sent.
    fn has_copy(&self, request: &Message) -> bool {
        let What::Request { answer: of, .. } = &request.what else {
            return false;
        };
        let is_copy = |what: &What| matches!(what, What::Request { answer, is_copy: true, .. } if answer.ptr_eq(of));
        (self.messages.borrow().iter()).any(|message| is_copy(&message.what))
    }

    fn may_pass(&self, messages: &[Message]) -> bool {
        let Some(then) = self.world.next_timer() else {
            return false;
        };
        let may_stay =
            |message: &Message| message.delay != Delay::InTime && then <= message.sent + LATEST;
        messages.iter().all(may_stay)
    }

    /// Looks at a world in which nothing is under way, or nothing can happen any more.
    pub(in crate::explore) fn look(&self, steps: &[Step]) {
        if self.check.violation().is_some() {
            return;
        }
        let is_quiet = self.messages.borrow().is_empty();
        if is_quiet && steps == [Step::Pass] && self.faults.get().left() == self.plan.faults.left()
        {
            self.is_handed_over();
        }
        if steps.is_empty() {
            self.is_over(is_quiet);
        }
    }

    /// If nothing went wrong, a waiter that knows that it is the first in the queue must not wait
    /// for a lock that is free.
    fn is_handed_over(&self) {
        let waits_for_it = |(client, seat): &(usize, &super::Seat)| {
            let is_first = seat.place.get() == Some(0);
            seat.stand.get() == Stand::Asking && is_first && self.is_free_for(*client)
        };
        if let Some((_, seat)) = self.seats.iter().enumerate().find(waits_for_it) {
            let what = format!("{} is free, and {} waits for it", self.plan.lock, seat.name);
            self.check.fail(Invariant::HandedOver, what);
        }
    }

    /// Every client must have come to its end, and nobody may hold the lock without knowing it.
    fn is_over(&self, is_quiet: bool) {
        let is_at_work =
            |seat: &&super::Seat| seat.stand.get() != Stand::Done || seat.background.get() > 0;
        if let Some(seat) = self.seats.iter().find(is_at_work) {
            self.check.fail(Invariant::WaitsEnd, format!("{} waits for ever", seat.name));
        }
        if self.plan.pace.is_some() && self.faults.get().left() == self.plan.faults.left() {
            self.enter(|books| books.is_over(&format!("{{{}}}:debounce", self.plan.lock)));
        }
        if let Some(sold) = &self.sold {
            sold.close(&self.db(0));
            self.check.pass_on(sold.check.violation());
        }
        let may_have_it = self.seats.iter().any(|seat| seat.may_have_it.get());
        let has_had = |fault| self.faults.get().has_had(fault, &self.plan.faults);
        // A request that is refused is not given up, so a second copy of it may take the lock for a
        // ttl. So may a request that arrives after the data is lost that told which tokens have
        // ended, and one whose token could not be given up since all attempts were lost.
        let is_given_up = self.lost_abandons.get() < ATTEMPTS;
        let can_be_late = has_had(Fault::Twice) || has_had(Fault::Empty) || !is_given_up;
        let is_alone = is_quiet && !may_have_it && !can_be_late;
        let is_held = |name: &&str| !holders(name, &self.db(0)).is_empty();
        if is_alone
            && self.servers.len() == 1
            && let Some(name) = self.plan.names().into_iter().find(is_held)
        {
            let what = format!("{name} is held in the end");
            self.check.fail(Invariant::EndsForGood, what);
        }
    }

    /// Whether all that this client asks for is free, behind one server.
    pub(in crate::explore) fn is_free_for(&self, client: usize) -> bool {
        let is_free = |name: &&str| holders(name, &self.db(0)).is_empty();
        self.servers.len() == 1 && self.plan.name_for(client).all().iter().all(is_free)
    }
}

/// Whether a message may arrive now. The pieces of a stream keep their order. What one client sends
/// to several servers arrives in one order, unless it is late: for some clients the first server
/// comes first, for others the last. With all orders the search would not end.
fn can_arrive(message: &Message, all: &[Message]) -> bool {
    let place = |of: &Message| match of.client % 2 {
        0 => of.server as i64,
        _ => -(of.server as i64),
    };
    let is_next = |other: &&Message| {
        let is_of_both = other.client == message.client && other.is_request();
        is_of_both && other.delay == Delay::InTime && place(other) < place(message)
    };
    let is_in_time = message.is_request() && message.delay == Delay::InTime;
    message.delay != Delay::Stays
        && !all.iter().any(|other| message.is_behind(other))
        && !(is_in_time && all.iter().any(|other| is_next(&other)))
}
