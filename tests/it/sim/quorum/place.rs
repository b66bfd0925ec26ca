//! The servers, what goes wrong with them, and what must hold whatever goes wrong.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::bridge::Dialect;
use crate::check::{Invariant, Violation};
use crate::faults::Net;
use crate::lua::Redis;
use crate::redis::Reply;
use crate::rng::Rng;
use crate::sabotage::Bent;
use crate::script::{Run, Script};
use crate::trace::Trace;
use crate::world::{MS, Time, World};

use super::votes::{Vote, Votes};
use super::workload::{self, LONGEST_TTL};

pub(super) const NAME: &str = "a";

pub(super) struct Place {
    pub(super) world: Rc<World>,
    pub(super) rng: Rng,
    pub(super) nodes: Vec<Node>,
    pub(super) trace: Trace,
    pub(super) bent: Bent,
    pub(super) is_healed: Cell<bool>,
    /// Who may hold the lock, and until when, in the order in which they came.
    holds: RefCell<Vec<Hold>>,
    last_fence: Cell<u64>,
    /// The fence to which each token was raised.
    raised: RefCell<BTreeMap<String, String>>,
    votes: RefCell<Votes>,
    broken: RefCell<Option<Violation>>,
}

#[derive(Clone, Copy)]
struct Hold {
    client: usize,
    until: Time,
}

/// One server with its bridge.
pub(super) struct Node {
    pub(super) redis: Rc<Redis>,
    pub(super) dialect: Dialect,
    pub(super) net: Cell<Net>,
    pub(super) away_until: Cell<Time>,
    pub(super) mute_until: Cell<Time>,
    /// By how much its clock is ahead of the slowest. That is less than the quarantine: a server
    /// that came back empty has only its clock to issue a fence that is higher than those it knew.
    ahead_us: i64,
}

/// The servers' clocks at the beginning, in microseconds. The servers have been up for long.
const BEGINNING_US: i64 = 1_700_000_000_000_000;

impl Place {
    pub(super) fn new(seed: u64, redis: &[Rc<Redis>], bent: Bent, trace: Trace) -> Rc<Self> {
        let rng = Rng::new(seed);
        let count = rng.pick(&[2, 3, 3, 4, 5]);
        let nodes = redis.iter().take(count).map(|redis| {
            *redis.db_mut() = crate::redis::Db::default();
            Node {
                redis: redis.clone(),
                dialect: Dialect::draw(&rng),
                net: Cell::new(Net::draw(&rng)),
                away_until: Cell::new(0),
                mute_until: Cell::new(0),
                ahead_us: rng.between(0, bent.apart(LONGEST_TTL).as_micros() as u64 - 1) as i64,
            }
        });
        Rc::new(Self {
            world: Rc::default(),
            nodes: nodes.collect(),
            rng,
            trace,
            bent,
            is_healed: Cell::new(false),
            holds: RefCell::default(),
            last_fence: Cell::new(0),
            raised: RefCell::default(),
            votes: RefCell::default(),
            broken: RefCell::default(),
        })
    }

    /// Lets everything happen, and returns what was found.
    pub(super) fn run(self: &Rc<Self>) -> Option<Violation> {
        let crowd = workload::begin(self);
        for _ in 0..self.rng.between(0, 6) {
            let at = self.rng.between(0, 6_000 * MS);
            let (place, machines) = (self.clone(), crowd.machines.clone());
            (self.world).schedule(at, move || place.upset(&machines));
        }
        let is_over = || crowd.at_work.get() == 0 || self.broken.borrow().is_some();
        self.world.run(8_000 * MS, is_over, || {});
        crowd.leave(self);
        self.heal();
        workload::is_had_again(self);
        self.world.end();
        self.broken.take()
    }

    fn upset(&self, machines: &[Rc<crate::world::Machine>]) {
        if self.is_healed.get() {
            return;
        }
        let now = self.world.now();
        let time = self.rng.pick(&[50 * MS, 500 * MS, 3_000 * MS]);
        let at = self.rng.between(0, self.nodes.len() as u64 - 1) as usize;
        let node = &self.nodes[at];
        let what = match self.rng.between(0, 5) {
            0 => {
                let client = self.rng.between(0, machines.len() as u64 - 1) as usize;
                machines[client].pause(now, time);
                self.world.schedule(time, || {});
                "a client stands still"
            }
            1 => {
                node.mute_until.set(now + time);
                "mute"
            }
            2 => {
                node.away_until.set(now + time);
                "dead"
            }
            _ => {
                self.come_back_empty(at);
                "back, and empty"
            }
        };
        (self.trace).note(now, || format!("server {at}: {what}, for {} ms", time / MS));
    }

    pub(super) fn come_back_empty(&self, at: usize) {
        let node = &self.nodes[at];
        let mut db = node.redis.db_mut();
        db.call(&[b"FLUSHALL"]);
        db.scripts.clear();
        db.table.start(self.now_us(node));
        self.votes.borrow_mut().forget(at);
    }

    fn heal(&self) {
        (self.trace).note(self.world.now(), || "faults stop".to_owned());
        self.is_healed.set(true);
        for node in &self.nodes {
            node.net.set(Net::QUIET);
            node.away_until.set(0);
            node.mute_until.set(0);
        }
    }

    fn now_us(&self, node: &Node) -> i64 {
        BEGINNING_US + node.ahead_us + (self.world.now() / 1_000) as i64
    }

    /// Has a request executed by one server.
    pub(super) fn serve(&self, at: usize, words: &[String]) -> Reply {
        let node = &self.nodes[at];
        node.redis.db_mut().table.set_time(self.now_us(node));
        let raw: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let before = node.redis.db().clone();
        let reply = node.redis.execute(&raw);
        let run = Run::of(&words[1], words).expect("a script of ours");
        let said = || format!("server {at}: {run} -> {reply}");
        self.trace.note(self.world.now(), said);
        let vote = Vote {
            server: at,
            now: self.world.now(),
            before: &before,
            reply: &reply,
            after: &node.redis.db(),
        };
        let broken = self.votes.borrow_mut().ran(&run, &vote);
        if let Some(Violation { invariant, what }) = broken {
            self.fail(invariant, what);
        }
        if run.script == Script::Raise {
            let fence = &run.args[2];
            let mut raised = self.raised.borrow_mut();
            let token = run.who().to_owned();
            let first = raised.entry(token).or_insert_with(|| fence.clone());
            if first != fence {
                let what = format!("one token has {first} and {fence}");
                self.fail(Invariant::OneFence, what);
            }
        }
        reply
    }

    /// How many servers have the lock.
    pub(super) fn votes(&self) -> usize {
        let has = |node: &&Node| {
            node.redis.db_mut().table.set_time(self.now_us(node));
            node.redis.db().value(NAME).is_some()
        };
        self.nodes.iter().filter(has).count()
    }

    /// `client` has the lock until then, after a grant or a renewal.
    pub(super) fn hold(&self, client: usize, until: Time, fence: Option<u64>) {
        let now = self.world.now();
        let mut holds = self.holds.borrow_mut();
        holds.retain(|hold| hold.client != client && hold.until > now);
        if let Some(other) = holds.first() {
            let what = format!("{client} and {} both hold it", other.client);
            self.fail(Invariant::OneHolder, what);
        }
        holds.push(Hold { client, until });
        if let Some(fence) = fence
            && self.last_fence.replace(fence) >= fence
        {
            self.fail(Invariant::FencesGrow, format!("{fence} is no higher than before"));
        }
    }

    /// The lease with this fence was renewed.
    pub(super) fn renewed(&self, fence: u64) {
        let last = self.last_fence.get();
        if last != fence {
            let what = format!("{fence} is renewed, and {last} had the lock meanwhile");
            self.fail(Invariant::Unbroken, what);
        }
    }

    /// `client` no longer counts on the lock.
    pub(super) fn let_go(&self, client: usize) {
        self.holds.borrow_mut().retain(|hold| hold.client != client);
    }

    /// Only the first broken promise is kept.
    pub(super) fn fail(&self, invariant: Invariant, what: String) {
        (self.trace).note(self.world.now(), || format!("{invariant:?}: {what}"));
        self.broken.borrow_mut().get_or_insert(Violation { invariant, what });
    }
}

/// How long a server that came back is not counted, and a little more, since it counts whole
/// seconds.
pub(super) const QUARANTINE: Time = LONGEST_TTL.as_nanos() as Time + 2_000 * MS;
