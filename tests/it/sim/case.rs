//! One case: all that is in a world, and which promise was found broken in it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::bridge::Dialect;
use super::check::{Check, Invariant, ROUNDING, Violation, Watch};
use super::faults::{Net, Plan, Upset};
use super::lua::Redis;
use super::network::Network;
use super::quiet::{self, Quiet};
use super::redis::{Db, Reply};
use super::rng::Rng;
use super::sabotage::Bent;
use super::script::Run;
use super::trace::Trace;
use super::workload::{Crowd, Locks};
use super::world::{MS, Machine, Time, World};

pub(crate) struct Case {
    pub(crate) world: Rc<World>,
    pub(crate) rng: Rng,
    pub(crate) redis: Rc<Redis>,
    pub(crate) check: Check,
    pub(crate) trace: Trace,
    pub(crate) bent: Bent,
    pub(crate) locks: Cell<Locks>,
    /// Whether all callers of `once` use the same fingerprint, or none.
    pub(crate) is_of_one_print: Cell<bool>,
    /// Whether results grow stale, and are made anew then.
    pub(crate) has_copies: Cell<bool>,
    pub(crate) dialect: Cell<Dialect>,
    /// Whether everybody waits for all replicas, so that a fail-over loses no lock.
    pub(crate) is_replicated: Cell<bool>,
    /// How many times longer than in other worlds everything takes that clients choose.
    pub(crate) pace: Cell<u64>,
    pub(crate) net: Cell<Net>,
    pub(crate) network: Network,
    /// The codes of the events that observers were told.
    pub(crate) events: RefCell<Vec<&'static str>>,
    /// When faults stopped.
    pub(crate) healed: Cell<Option<Time>>,
    /// How far Redis's clock was set back, in microseconds.
    set_back_us: Cell<i64>,
    pub(crate) quiet: Quiet,
    /// Another judge, who looks at each script that ran, its reply and the data.
    pub(crate) ran: RefCell<Option<Ran>>,
}

pub(crate) type Ran = Box<dyn Fn(&Run<'_>, &Reply, &Db)>;

/// How many times longer leases and calls last in a slow world. Receipts and the marks of abandoned
/// tokens end within them there.
const SLOW: u64 = 20;

/// Redis's clock at the beginning, in microseconds.
const BEGINNING_US: i64 = 1_700_000_000_000_000;

impl Case {
    pub(crate) fn new(
        seed: u64,
        redis: &Rc<Redis>,
        check: Check,
        bent: Bent,
        trace: Trace,
    ) -> Rc<Self> {
        *redis.db_mut() = Db::default();
        Rc::new(Self {
            world: Rc::default(),
            rng: Rng::new(seed),
            redis: redis.clone(),
            check,
            trace,
            bent,
            locks: Cell::default(),
            is_of_one_print: Cell::new(false),
            has_copies: Cell::new(false),
            dialect: Cell::new(Dialect::Upstash),
            is_replicated: Cell::new(false),
            pace: Cell::new(1),
            net: Cell::new(Net::QUIET),
            network: Network::default(),
            events: RefCell::default(),
            healed: Cell::new(None),
            set_back_us: Cell::new(0),
            quiet: Quiet::default(),
            ran: RefCell::default(),
        })
    }

    /// The same case, with such locks in its world.
    pub(crate) fn among(self: Rc<Self>, locks: Locks) -> Rc<Self> {
        self.locks.set(locks);
        self
    }

    /// Lets everything happen, and returns what was found.
    pub(crate) fn run(self: &Rc<Self>) -> Option<Violation> {
        self.dialect.set(Dialect::draw(&self.rng));
        // A result is granted to nobody by waiting for replicas.
        let can_wait = self.dialect.get() == Dialect::Upstash && self.locks.get() != Locks::Onces;
        let often = if self.bent == Bent::Replicated { 1_000 } else { 150 };
        self.is_replicated.set(can_wait && self.rng.chance(often));
        if self.rng.chance(100) {
            self.pace.set(SLOW);
        }
        if self.locks.get() == Locks::Onces {
            self.is_of_one_print.set(self.rng.chance(500));
            self.has_copies.set(self.rng.chance(250));
        }
        let crowd = Crowd::draw(self);
        let plan = Plan::draw(&self.rng, crowd.machines.len(), self.is_replicated.get());
        let plan = plan.at_pace(self.pace.get());
        self.net.set(self.bent.net(plan.net));
        self.trace.note(0, || format!("{:?}", plan.upsets));
        for (at, upset) in plan.upsets {
            let (case, machines) = (self.clone(), crowd.machines.clone());
            self.world.schedule(at, move || case.upset(upset, &machines));
        }
        crowd.begin(self);
        self.pass(plan.heal, || crowd.is_done());
        crowd.leave(self);
        self.heal();
        match self.locks.get() {
            Locks::Onces => quiet::once::hold(self, &crowd),
            Locks::Sets | Locks::Limits => quiet::sets::hold(self, &crowd),
            Locks::Reservations => quiet::units::hold(self, &crowd),
            Locks::Single
            | Locks::TakeOvers
            | Locks::Semaphores
            | Locks::Weights
            | Locks::ReadWrites => {
                self.quiet.hold(self, &crowd);
            }
        }
        self.world.end();
        self.check.violation()
    }

    /// `time`, made longer in a slow world.
    pub(crate) fn slowly(&self, time: Duration) -> Duration {
        time * self.pace.get() as u32
    }

    /// Lets time pass until `is_done`, until `limit` is over, or until something is found. Returns
    /// whether it was done.
    pub(crate) fn pass(&self, limit: Time, is_done: impl Fn() -> bool) -> bool {
        let is_done = || is_done() || self.check.violation().is_some();
        let check = || self.check.step(self.world.now());
        self.world.run(limit, is_done, check)
    }

    pub(crate) fn now_us(&self) -> i64 {
        BEGINNING_US + (self.world.now() / 1_000) as i64 - self.set_back_us.get()
    }

    /// Sets the clock of Redis back, by so many microseconds.
    pub(crate) fn set_back(&self, by: i64) {
        self.set_back_us.set(self.set_back_us.get() + by);
    }

    pub(crate) fn heal(&self) {
        self.trace.note(self.world.now(), || "faults stop".to_owned());
        self.healed.set(Some(self.world.now()));
        self.net.set(Net::QUIET);
        self.network.heal(self);
    }

    pub(crate) fn upset(self: &Rc<Self>, upset: Upset, machines: &[Rc<Machine>]) {
        if self.healed.get().is_some() {
            return;
        }
        let now = self.world.now();
        self.trace.note(now, || format!("{upset:?}"));
        match upset {
            Upset::Pause { client, time } => {
                machines[client].pause(now, time);
                // Looks at the machine when it goes on, even if nothing wakes it.
                self.world.schedule(time, || {});
            }
            Upset::Crash { client } => self.world.kill(&machines[client]),
            Upset::BridgeRestart { time } => self.network.restart_bridge(self, now + time),
            Upset::RedisRestart { time } => {
                self.redis.db_mut().scripts.clear();
                self.network.restart_redis(self, now + time);
            }
            Upset::ScriptFlush => {
                self.redis.execute(&[b"SCRIPT", b"FLUSH"]);
            }
            Upset::DataLoss => {
                self.redis.execute(&[b"FLUSHALL"]);
                self.redis.db_mut().scripts.clear();
                self.network.restart_redis(self, now);
                self.check.lose_data(&self.redis.db(), now, true);
            }
            Upset::FailOver { behind } => {
                let snapshot = self.redis.db().table.clone();
                let case = self.clone();
                self.network.fail_overs.set(self.network.fail_overs.get() + 1);
                self.world.schedule(behind, move || {
                    case.network.fail_overs.set(case.network.fail_overs.get() - 1);
                    if case.healed.get().is_some() {
                        return;
                    }
                    case.redis.db_mut().restore(&snapshot);
                    case.network.restart_redis(&case, case.world.now());
                    let loses_locks = !case.is_replicated.get();
                    let now = case.world.now();
                    (case.check).lose_data(&case.redis.db(), now, loses_locks);
                });
            }
            Upset::ClockBack { by } => {
                let by = (by / 1_000) as i64;
                self.set_back(by);
            }
        }
    }

    /// Watches a part of the case that must be over by then.
    pub(crate) fn expect(
        self: &Rc<Self>,
        invariant: Invariant,
        machine: Option<&Rc<Machine>>,
        by: Time,
        what: impl Into<String>,
    ) -> Expected {
        let watch = Watch {
            invariant,
            machine: machine.cloned(),
            by,
            paused_before: None,
            what: what.into(),
        };
        self.watch(watch)
    }

    pub(crate) fn watch(self: &Rc<Self>, watch: Watch) -> Expected {
        // Looks at the time then, even if nothing happens.
        let after = (watch.by + 2 * ROUNDING).saturating_sub(self.world.now());
        self.world.schedule(after.min(1_000_000 * MS), || {});
        Expected(self.clone(), self.check.watch(watch))
    }
}

/// Something that must happen in time. Dropping this says that it did.
pub(crate) struct Expected(Rc<Case>, u64);

impl Drop for Expected {
    fn drop(&mut self) {
        self.0.check.end_watch(self.1);
    }
}
