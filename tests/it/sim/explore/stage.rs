//! A small world: some clients, one lock, and all messages between them. Nothing happens without a
//! [`Step`], and time passes only by [`Step::Pass`]. So the steps from the beginning say everything
//! about it.

mod arrive;
mod next;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::message::{Answer, Delay, Message, Stream, What};
use super::plan::Plan;
use super::program;
use super::server::{Ran, Server, digest_of};
use super::step::{Fault, Faults, Step};
use crate::check::{Check, Violation};
use crate::group::books::Books as Sold;
use crate::host::Inbox;
use crate::limits;
use crate::paced::books::Books;
use crate::quorum::votes::{Vote, Votes};
use crate::redis::Db;
use crate::script::Run;
use crate::trace::Trace;
use crate::workload::{Kind, Locks};
use crate::world::{Machine, World};

pub(super) struct Stage {
    pub(super) plan: Plan,
    pub(super) world: Rc<World>,
    pub(super) check: Check,
    /// The books of paced calls.
    books: Books,
    /// The books of shared turns, in a world that has them.
    pub(super) sold: Option<Rc<Sold>>,
    pub(super) trace: Trace,
    pub(super) seats: Vec<Seat>,
    pub(super) faults: Cell<Faults>,
    servers: Vec<Rc<Server>>,
    /// The data of each server.
    held: Vec<RefCell<Rc<Db>>>,
    messages: RefCell<Vec<Message>>,
    sent: Cell<u8>,
    streams: RefCell<BTreeMap<u64, Stream>>,
    /// What each of several servers voted for.
    votes: RefCell<Votes>,
    /// How many requests that give a token up were lost.
    lost_abandons: Cell<u32>,
}

/// The servers' clocks at the beginning, in microseconds. The servers have been up for long.
const BEGINNING_US: i64 = 1_700_000_000_000_000;

const NAMES: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// One client, as far as the stage knows it.
pub(super) struct Seat {
    pub(super) name: &'static str,
    pub(super) machine: Rc<Machine>,
    pub(super) drawn: Cell<u64>,
    pub(super) background: Cell<usize>,
    pub(super) stand: Cell<Stand>,
    /// How many waited before it, by its last answer.
    pub(super) place: Cell<Option<i64>>,
    /// Whether it may have the lock, for all that it knows.
    pub(super) may_have_it: Cell<bool>,
    /// Tells it to go on; `true` if it stands still first.
    pub(super) go: Inbox<bool>,
    /// A digest of all that happened to it since `forget_but`. After the same past, a client does
    /// the same.
    past: Cell<u64>,
    streams: Cell<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stand {
    Working,
    /// It has begun to ask for the lock.
    Asking,
    /// It waits for the decision whether it stands still.
    Undecided,
    Done,
}

impl Seat {
    fn new(number: usize) -> Self {
        Self {
            name: NAMES[number],
            machine: Rc::new(Machine::new(0)),
            drawn: Cell::new(0),
            background: Cell::new(0),
            stand: Cell::new(Stand::Working),
            place: Cell::new(None),
            may_have_it: Cell::new(false),
            go: Inbox::default(),
            past: Cell::new(0),
            streams: Cell::new(0),
        }
    }

    /// Something happened to it.
    pub(super) fn note(&self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        (self.past.get(), what).hash(&mut hasher);
        self.past.set(hasher.finish());
    }

    /// The same as [`Seat::note`], but the order does not matter: of several servers a client
    /// counts the answers, whichever comes first.
    fn count(&self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let past = self.past.get().wrapping_add(hasher.finish());
        self.past.set(past);
    }

    /// From here on only `all` matters of its past, unless it has work in the background.
    pub(super) fn forget_but(&self, all: impl Hash) {
        if self.background.get() == 0 {
            self.past.set(0);
        }
        self.note((all, self.drawn.get(), self.streams.get()));
    }

    /// Some of its work in the background has ended.
    pub(super) fn end_background(&self) {
        self.background.set(self.background.get() - 1);
        if self.stand.get() == Stand::Done {
            self.forget_but("done");
        }
    }
}

impl Stage {
    /// The world of `plan` at its beginning.
    pub(super) fn new(plan: Plan, servers: &[Rc<Server>], trace: Trace) -> Rc<Self> {
        let servers = servers[..plan.servers].to_vec();
        let mut fresh: Vec<_> = servers.iter().map(|server| server.fresh(BEGINNING_US)).collect();
        let sold = plan.stock.map(|stock| Rc::new(Sold::stock(stock, &mut fresh[0])));
        let stage = Rc::new(Self {
            plan,
            world: Rc::default(),
            check: Check::default(),
            books: Books::default(),
            sold,
            trace,
            seats: (0..plan.clients).map(Seat::new).collect(),
            faults: Cell::new(plan.faults),
            held: fresh.into_iter().map(|db| RefCell::new(Rc::new(db))).collect(),
            servers,
            messages: RefCell::default(),
            sent: Cell::new(0),
            streams: RefCell::default(),
            votes: RefCell::default(),
            lost_abandons: Cell::default(),
        });
        if let Some(permits) = plan.permits {
            stage.check.permit(plan.lock, permits);
        }
        if let Kind::Units(units, _) = plan.name_for(0).kind {
            stage.check.sell(plan.lock, units);
        }
        if plan.locks == Some(Locks::Limits) {
            for name in plan.names() {
                stage.check.permit(name, limits::permits(name) as usize);
            }
        }
        program::begin(&stage);
        stage.world.poll_ready();
        stage
    }

    /// The same world after `steps`.
    pub(super) fn after(
        plan: Plan,
        servers: &[Rc<Server>],
        steps: &[Step],
        trace: Trace,
    ) -> Rc<Self> {
        let stage = Self::new(plan, servers, trace);
        for step in steps {
            stage.take(*step);
        }
        stage
    }

    /// Ends the world, and returns what was broken.
    pub(super) fn end(&self) -> Option<Violation> {
        self.world.end();
        self.check.violation()
    }

    /// Two worlds with the same digest go on alike.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.world.now(), self.faults.get()).hash(&mut hasher);
        for held in &self.held {
            held.borrow().feed(&mut hasher);
        }
        for seat in &self.seats {
            (seat.past.get(), seat.stand.get(), seat.may_have_it.get()).hash(&mut hasher);
        }
        let mut messages: Vec<_> = (self.messages.borrow().iter())
            .filter(|message| message.piece_of().is_none())
            .map(digest)
            .collect();
        messages.sort_unstable();
        messages.hash(&mut hasher);
        // The pieces of a stream keep their order.
        for message in self.messages.borrow().iter() {
            if message.piece_of().is_some() {
                message.feed(&mut hasher);
            }
        }
        self.votes.borrow().feed(&mut hasher);
        self.lost_abandons.get().hash(&mut hasher);
        self.check.feed(&mut hasher);
        self.books.feed(&mut hasher);
        if let Some(sold) = &self.sold {
            sold.feed(&mut hasher);
        }
        hasher.finish()
    }

    /// Compares what a script did with what must hold.
    fn judge(&self, server: usize, run: &Run<'_>, before: &Db, ran: &Ran) {
        if self.plan.pace.is_some() {
            return self.enter(|books| books.ran(run, &ran.reply, &ran.after));
        }
        if self.servers.len() == 1 {
            let now = self.world.now();
            for (lock, before) in run.locks().into_iter().zip(&ran.before) {
                self.check.command(run, lock, before, &ran.reply, &ran.after, now);
            }
            self.check.has_no_part(run, &ran.after);
            return;
        }
        let vote =
            Vote { server, now: self.world.now(), before, reply: &ran.reply, after: &ran.after };
        let broken = self.votes.borrow_mut().ran(run, &vote);
        self.check.pass_on(broken);
    }

    /// Notes something in the books of paced calls.
    pub(super) fn enter(&self, entry: impl FnOnce(&Books)) {
        entry(&self.books);
        self.check.pass_on(self.books.broken.take());
    }

    pub(super) fn tell(&self, what: impl FnOnce() -> String) {
        self.trace.note(self.world.now(), what);
    }

    /// One fault of this sort has happened.
    fn spend(&self, fault: Fault) {
        let mut faults = self.faults.get();
        faults.take(fault);
        self.faults.set(faults);
    }

    pub(super) fn now_us(&self) -> i64 {
        BEGINNING_US + (self.world.now() / 1_000) as i64
    }

    /// The present data of a server.
    pub(super) fn db(&self, server: usize) -> Rc<Db> {
        let mut held = self.held[server].borrow_mut();
        if held.table.now_us() != self.now_us() {
            Rc::make_mut(&mut held).table.set_time(self.now_us());
        }
        held.clone()
    }

    fn change(&self, server: usize, change: impl FnOnce(&mut Db)) {
        change(Rc::make_mut(&mut self.held[server].borrow_mut()));
    }

    fn put(&self, client: usize, server: usize, what: What) {
        let id = self.sent.get();
        self.sent.set(id.checked_add(1).expect("a short history"));
        let mut message =
            Message { id, client, server, sent: self.world.now(), delay: Delay::InTime, what };
        let mut messages = self.messages.borrow_mut();
        // A piece of a stream does not overtake an earlier one.
        let before = messages.iter().rfind(|other| message.is_behind(other));
        message.delay = before.map_or(Delay::InTime, |before| before.delay);
        messages.push(message);
    }

    /// `client` sends a request.
    pub(super) fn ask(
        &self,
        client: usize,
        server: usize,
        words: Vec<String>,
        answer: &Rc<Answer>,
    ) {
        let what = What::Request {
            digest: digest_of(&words),
            words: Rc::new(words),
            answer: Rc::downgrade(answer),
            is_copy: false,
        };
        self.put(client, server, what);
    }

    /// `client` subscribes. Returns the stream's number.
    pub(super) fn subscribe(&self, client: usize, server: usize, stream: Stream) -> u64 {
        let seat = &self.seats[client];
        seat.streams.set(seat.streams.get() + 1);
        let id = client as u64 * 100 + seat.streams.get();
        self.streams.borrow_mut().insert(id, stream);
        self.put(client, server, What::Subscribe { stream: id });
        id
    }

    /// `client` ends its subscription.
    pub(super) fn hang_up(&self, client: usize, server: usize, stream: u64, what: What) {
        self.streams.borrow_mut().remove(&stream);
        let is_asked =
            |what: &What| matches!(what, What::Subscribe { stream: of } if *of == stream);
        let mut messages = self.messages.borrow_mut();
        messages.retain(|message| !is_asked(&message.what) && message.piece_of() != Some(stream));
        drop(messages);
        let db = self.held[server].borrow().clone();
        if db.table.listeners().any(|other| other == stream) {
            self.put(client, server, what);
        }
    }
}

fn digest(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.feed(&mut hasher);
    hasher.finish()
}
