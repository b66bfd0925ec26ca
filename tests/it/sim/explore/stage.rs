//! A small world: some clients, one lock, and all that is on its way between them. Nothing happens
//! in it but by a [`Step`], and time stands still but for [`Step::Pass`]. So the steps from the
//! beginning are all that there is to know of it.

mod arrive;
mod next;

use std::cell::{Cell, RefCell};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::message::{Answer, Delay, Message, Stream, What};
use super::plan::Plan;
use super::program;
use super::server::{Ran, Server, digest_of};
use super::step::{Fault, Faults, Step};
use crate::check::{Check, Invariant, Violation};
use crate::host::Inbox;
use crate::paced::books::{Books, Broken};
use crate::redis::{Db, Reply};
use crate::script::{Run, Script};
use crate::trace::Trace;
use crate::world::{Machine, World};

pub(super) struct Stage {
    pub(super) plan: Plan,
    pub(super) world: Rc<World>,
    pub(super) check: Check,
    /// Of calls that are paced.
    books: Books,
    pub(super) trace: Trace,
    pub(super) seats: Vec<Seat>,
    pub(super) faults: Cell<Faults>,
    servers: Vec<Rc<Server>>,
    /// What each server has.
    held: Vec<RefCell<Rc<Db>>>,
    messages: RefCell<Vec<Message>>,
    sent: Cell<u8>,
    streams: RefCell<BTreeMap<u64, Stream>>,
    /// Of several servers: tokens that were given back, each with its server.
    given_back: RefCell<BTreeSet<String>>,
}

/// Servers' clocks at the beginning, in microseconds; they have been up for long.
const BEGINNING_US: i64 = 1_700_000_000_000_000;

const NAMES: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// One client, as far as it can be told from outside.
pub(super) struct Seat {
    pub(super) name: &'static str,
    pub(super) machine: Rc<Machine>,
    pub(super) drawn: Cell<u64>,
    pub(super) background: Cell<usize>,
    pub(super) stand: Cell<Stand>,
    /// How many waited before it, by its last answer.
    pub(super) place: Cell<Option<i64>>,
    /// It may have the lock, for all it knows.
    pub(super) may_have_it: Cell<bool>,
    /// Whether it is to stand still first.
    pub(super) go: Inbox<bool>,
    /// All that has happened to it since it was last known what there is to know of it: it does the
    /// same after the same.
    past: Cell<u64>,
    streams: Cell<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stand {
    Working,
    /// It has begun to ask for the lock.
    Asking,
    /// What it does next has not been decided.
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

    /// Something has happened to it.
    pub(super) fn note(&self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        (self.past.get(), what).hash(&mut hasher);
        self.past.set(hasher.finish());
    }

    /// As [`Seat::note`], in whichever order: of several servers it counts what they say, and not
    /// who says it first.
    fn count(&self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let past = self.past.get().wrapping_add(hasher.finish());
        self.past.set(past);
    }

    /// There is nothing more to know of it than `all`, unless something goes on in its background.
    pub(super) fn forget_but(&self, all: impl Hash) {
        if self.background.get() == 0 {
            self.past.set(0);
        }
        self.note((all, self.drawn.get(), self.streams.get()));
    }

    /// Something in its background is over.
    pub(super) fn end_background(&self) {
        self.background.set(self.background.get() - 1);
        if self.stand.get() == Stand::Done {
            self.forget_but("done");
        }
    }
}

impl Stage {
    /// The world of `plan` in its beginning.
    pub(super) fn new(plan: Plan, servers: &[Rc<Server>], trace: Trace) -> Rc<Self> {
        let servers = servers[..plan.servers].to_vec();
        let held = servers
            .iter()
            .map(|server| RefCell::new(Rc::new(server.fresh(BEGINNING_US))));
        let stage = Rc::new(Self {
            plan,
            world: Rc::default(),
            check: Check::default(),
            books: Books::default(),
            trace,
            seats: (0..plan.clients).map(Seat::new).collect(),
            faults: Cell::new(plan.faults),
            held: held.collect(),
            servers,
            messages: RefCell::default(),
            sent: Cell::new(0),
            streams: RefCell::default(),
            given_back: RefCell::default(),
        });
        if let Some(permits) = plan.permits {
            stage.check.permit(plan.lock, permits);
        }
        program::begin(&stage);
        stage.world.poll_ready();
        stage
    }

    /// The same after `steps`.
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

    /// Nothing of it is used any more.
    pub(super) fn end(&self) -> Option<Violation> {
        self.world.end();
        self.check.violation()
    }

    /// Two worlds of which it is the same go on alike.
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
        // Those of a stream keep their order.
        for message in self.messages.borrow().iter() {
            if message.piece_of().is_some() {
                message.feed(&mut hasher);
            }
        }
        self.given_back.borrow().hash(&mut hasher);
        self.check.feed(&mut hasher);
        self.books.feed(&mut hasher);
        hasher.finish()
    }

    /// What a script did, against what must hold.
    fn judge(&self, server: usize, run: &Run<'_>, ran: &Ran) {
        if self.plan.pace.is_some() {
            return self.enter(|books| books.ran(run, &ran.reply, &ran.after));
        }
        if self.servers.len() == 1 {
            let now = self.world.now();
            for (lock, before) in run.locks().into_iter().zip(&ran.before) {
                self.check
                    .command(run, lock, before, &ran.reply, &ran.after, now);
            }
            self.check.has_no_part(run, &ran.after);
            return;
        }
        let at = format!("{}@{server}", run.token());
        let is_yes =
            matches!(&ran.reply, Reply::Array(said) if said.first() == Some(&Reply::Int(1)));
        match run.script {
            Script::Withdraw => drop(self.given_back.borrow_mut().insert(at)),
            Script::Vote if is_yes && self.given_back.borrow().contains(&at) => {
                let what = format!("server {server} takes {at} again");
                self.check.fail(Invariant::NoGhost, what);
            }
            _ => {}
        }
    }

    /// Enters something in the books of calls that are paced.
    pub(super) fn enter(&self, entry: impl FnOnce(&Books)) {
        entry(&self.books);
        if let Some(Broken(promise, what)) = self.books.broken.take() {
            self.check
                .fail(Invariant::Paced, format!("{promise:?}: {what}"));
        }
    }

    pub(super) fn tell(&self, what: impl FnOnce() -> String) {
        self.trace.note(self.world.now(), what);
    }

    /// One of these goes wrong.
    fn spend(&self, fault: Fault) {
        let mut faults = self.faults.get();
        faults.take(fault);
        self.faults.set(faults);
    }

    pub(super) fn now_us(&self) -> i64 {
        BEGINNING_US + (self.world.now() / 1_000) as i64
    }

    /// What a server has now.
    pub(super) fn db(&self, server: usize) -> Rc<Db> {
        let mut held = self.held[server].borrow_mut();
        if held.now_us != self.now_us() {
            Rc::make_mut(&mut held).now_us = self.now_us();
        }
        held.clone()
    }

    fn change(&self, server: usize, change: impl FnOnce(&mut Db)) {
        change(Rc::make_mut(&mut self.held[server].borrow_mut()));
    }

    fn put(&self, client: usize, server: usize, what: What) {
        let id = self.sent.get();
        self.sent.set(id.checked_add(1).expect("a short history"));
        let mut message = Message {
            id,
            client,
            server,
            sent: self.world.now(),
            delay: Delay::InTime,
            what,
        };
        let mut messages = self.messages.borrow_mut();
        // What a stream brings does not overtake what it brought before.
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

    /// `client` asks to listen. The stream's number.
    pub(super) fn subscribe(&self, client: usize, server: usize, stream: Stream) -> u64 {
        let seat = &self.seats[client];
        seat.streams.set(seat.streams.get() + 1);
        let id = client as u64 * 100 + seat.streams.get();
        self.streams.borrow_mut().insert(id, stream);
        self.put(client, server, What::Subscribe { stream: id });
        id
    }

    /// `client` listens no more.
    pub(super) fn hang_up(&self, client: usize, server: usize, stream: u64, what: What) {
        self.streams.borrow_mut().remove(&stream);
        let is_asked =
            |what: &What| matches!(what, What::Subscribe { stream: of } if *of == stream);
        let mut messages = self.messages.borrow_mut();
        messages.retain(|message| !is_asked(&message.what) && message.piece_of() != Some(stream));
        drop(messages);
        let db = self.held[server].borrow().clone();
        if db.listeners.values().any(|all| all.contains(&stream)) {
            self.put(client, server, what);
        }
    }
}

fn digest(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.feed(&mut hasher);
    hasher.finish()
}
