//! After faults have stopped, only a few new waiters come. They must get what they wait for in
//! time.

pub(crate) mod once;
pub(crate) mod sets;
pub(crate) mod units;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::case::{Case, Expected};
use super::check::{Hold, Invariant, holders};
use super::faults::Net;
use super::host::{self, Settings, SimLock};
use super::record::Record;
use super::sabotage::Bent;
use super::script::Run;
use super::workload::{Crowd, Kind, Name, drift};
use super::world::{MS, Machine, Time};

const TIMEOUT: Duration = Duration::from_millis(300);

/// A time-out, the pause behind it, and a request.
const ONE_RETRY: Time = 400 * MS;

/// The time between two requests of a waiter that cannot listen, or does not know when the holder's
/// ttl ends, and one request.
const DELAY: Time = 620 * MS;

/// The ttl of those who wait; a waiter's liveness is as long.
const TTL: Duration = Duration::from_secs(4);

/// How long each holds the lock.
const HOLD: Time = 150 * MS;

/// From a release until a waiter that listens has heard of it, and one request more.
const PUSHED: Time = 40 * MS;

/// How long a lock is kept for a waiter that polls and was overtaken for long. That is the waiter's
/// liveness, and the time until others ask whether it is over, since that waiter may have died. If
/// several died, these times run side by side.
const KEPT: Time = TTL.as_nanos() as Time / 3 * 4;

/// The most that Redis's clock was set back. Keys live longer by as much.
const SET_BACK: Time = 1_250 * MS;

#[derive(Default)]
pub(crate) struct Quiet {
    machines: RefCell<Vec<Rc<Machine>>>,
    /// The machine behind each token that asked.
    asked: RefCell<BTreeMap<String, Rc<Machine>>>,
    /// Tokens that were granted the lock and may not know it yet.
    granted: RefCell<BTreeMap<String, Expected>>,
    at_work: Rc<Cell<usize>>,
}

impl Quiet {
    pub(crate) fn hold(&self, case: &Rc<Case>, crowd: &Crowd) {
        let all_push = case.rng.chance(500);
        let loses_grant = case.rng.chance(500);
        case.network.lose_next_grant.set(loses_grant);
        // Messages that are on their way still arrive.
        case.pass(2 * Net::QUIET.latency, || false);
        let longest = Crowd::longest_ttl(case);
        for name in &crowd.names {
            // A waiter that polled and has died may still stand in the queue.
            let is_left = !Record::of(name.name, &case.redis.db()).waiters.is_empty();
            let line = Rc::new(Line {
                case: case.clone(),
                name: *name,
                by: case.world.now()
                    + SET_BACK
                    + longest.as_nanos() as Time
                    + if is_left { KEPT } else { 0 }
                    + DELAY
                    + ONE_RETRY,
                delay: Cell::new(
                    if all_push { PUSHED } else { DELAY } + if loses_grant { ONE_RETRY } else { 0 },
                ),
                next: RefCell::default(),
                waiting: Cell::new(0),
                holding: Cell::new(0),
                all_push,
                // A waiter that dies must not have taken one of several places before.
                sees_death: Cell::new(
                    case.rng.chance(300) && name.permits() == 1 && !name.is_read_write(),
                ),
            });
            line.expect(Invariant::NextWaiterHolds, line.by);
            for _ in 0..case.rng.between(1, 3) {
                line.join();
            }
        }
        let limit = 60_000 * MS + longest.as_nanos() as Time;
        if !case.pass(limit, || self.at_work.get() == 0) {
            case.check.fail(Invariant::WaitsEnd, "somebody waits for ever".into());
        }
        case.pass(100 * MS, || false);
        for name in &crowd.names {
            // The permit of a client that died before may last longer than the others'. So may a
            // reader's hold.
            let is_one_of_several = name.permits() > 1 || name.is_read_write();
            let is_of_before =
                |who: &str| is_one_of_several && !self.asked.borrow().contains_key(who);
            let mut left = holders(name.name, &case.redis.db());
            left.retain(|(who, _)| !is_of_before(who));
            for (who, _) in left {
                case.check
                    .fail(Invariant::NoGhost, format!("{who} holds {} in the end", name.name));
            }
        }
        drop(self.granted.take());
    }

    /// Looks at each script: a token that is granted the lock must learn it by its next request.
    pub(crate) fn executed(
        &self,
        case: &Rc<Case>,
        from: &Rc<Machine>,
        run: &Run<'_>,
        granted: Vec<String>,
    ) {
        let waits = self.machines.borrow().iter().any(|waits| Rc::ptr_eq(waits, from));
        if waits && run.script.acquires() {
            let who = run.who().to_owned();
            self.asked.borrow_mut().insert(who, from.clone());
        }
        for who in granted {
            if let Some(machine) = self.asked.borrow().get(&who) {
                // A waiter that is handed the lock but does not listen finds it when it polls.
                let asks = run.script.acquires();
                let by = case.world.now() + ONE_RETRY + if asks { 0 } else { DELAY };
                let what = format!("{who} does not know that it has the lock");
                let expected = case.expect(Invariant::GrantIsLearned, Some(machine), by, what);
                self.granted.borrow_mut().insert(who, expected);
            }
        }
    }
}

/// The clients that wait for one lock.
struct Line {
    case: Rc<Case>,
    name: Name,
    /// When the last effects of faults are over.
    by: Time,
    delay: Cell<Time>,
    next: RefCell<Option<Expected>>,
    /// How many wait, including those that hold the lock.
    waiting: Cell<u64>,
    holding: Cell<u64>,
    all_push: bool,
    /// Whether one of them will die while it waits.
    sees_death: Cell<bool>,
}

impl Line {
    fn expect(&self, invariant: Invariant, by: Time) {
        let what = format!("nobody holds {}", self.name.name);
        *self.next.borrow_mut() = Some(self.case.expect(invariant, None, by, what));
    }

    /// The next waiter must hold the lock in time, if there is a place for it.
    fn expect_next(&self) {
        // A writer also waits for the last of several readers.
        let has_room = !self.name.is_read_write() || self.holding.get() == 0;
        if has_room && self.waiting.get() > self.holding.get() {
            let by = (self.case.world.now() + self.delay.get()).max(self.by);
            self.expect(Invariant::HandedOver, by);
        }
    }

    /// One more waiter.
    fn join(self: &Rc<Self>) {
        let case = &self.case;
        let machine = Rc::new(Machine::new(case.bent.drift(drift(&case.rng))));
        (case.quiet.machines.borrow_mut()).push(machine.clone());
        let pushes = self.all_push || case.rng.chance(500);
        self.waiting.set(self.waiting.get() + 1);
        let (line, on, at_work) = (self.clone(), machine.clone(), case.quiet.at_work.clone());
        at_work.set(at_work.get() + 1);
        let task = async move {
            line.turn(&on, pushes).await;
            at_work.set(at_work.get() - 1);
        };
        case.world.spawn(&machine, Box::pin(task));
    }

    /// One more waiter, which dies, and one behind it.
    fn join_and_die(self: &Rc<Self>) {
        let machine = Rc::new(Machine::new(0));
        let lock = self.lock(self.name, &machine, true, "who dies");
        let wait = async move { drop(lock.acquire().await) };
        self.case.world.spawn(&machine, Box::pin(wait));
        let (case, line) = (self.case.clone(), self.clone());
        (self.case.world).schedule(HOLD / 3, move || line.join());
        (self.case.world).schedule(HOLD / 3 * 2, move || case.world.kill(&machine));
        if self.name.is_fair {
            // The lock is kept for it as long as it counts as alive.
            self.delay.set(self.delay.get() + TTL.as_nanos() as Time + DELAY);
        } else if self.case.bent == Bent::Orderly {
            self.delay.set(self.delay.get() + KEPT);
        }
    }

    fn lock(&self, name: Name, machine: &Rc<Machine>, pushes: bool, owner: &str) -> SimLock {
        let settings = Settings {
            script_cache: self.case.rng.chance(500),
            push: pushes,
            attempts: 3,
            timeout: TIMEOUT,
        };
        let client = host::client(&self.case, machine, settings);
        name.lock(&client, owner)
            .ttl(TTL)
            .wait_timeout(Duration::from_secs(30) + Crowd::longest_ttl(&self.case))
            .max_requests(2_000)
    }

    /// A waiter's turn: it acquires, holds for a while, and releases.
    async fn turn(self: &Rc<Self>, machine: &Rc<Machine>, pushes: bool) {
        let case = &self.case;
        let owner = format!("waiter-{}", case.rng.next());
        // Nobody takes it over any more.
        let name = match self.name.kind {
            Kind::TakenOver(_) => self.name,
            _ => self.name.anew(&case.rng),
        };
        let lock = self.lock(name, machine, pushes, &owner);
        let lease = match lock.acquire().await {
            Ok(lease) => lease,
            Err(error) => {
                let what = format!("a waiter got nothing: {error}");
                return case.check.fail(Invariant::NextWaiterHolds, what);
            }
        };
        let who = self.name.who(&owner, &lease);
        drop(self.next.take());
        self.holding.set(self.holding.get() + 1);
        if self.holding.get() < self.name.permits() {
            self.expect_next();
        }
        drop(case.quiet.granted.borrow_mut().remove(&who));
        let held = case.check.hold(Hold {
            machine: machine.clone(),
            lock: self.name.name.to_owned(),
            who,
            fence: lease.fence(),
            reads: name.reads(),
            weight: 1,
            others: Vec::new(),
            until: machine.clock(case.world.now()) + lease.remaining().as_nanos() as Time,
        });
        if self.sees_death.take() {
            self.join_and_die();
        }
        case.world.sleep(machine, Duration::from_nanos(HOLD)).await;
        case.check.end_hold(held);
        self.waiting.set(self.waiting.get() - 1);
        self.holding.set(self.holding.get() - 1);
        self.expect_next();
        if let Err(error) = lease.release().await {
            let what = format!("a release failed: {error}");
            case.check.fail(Invariant::NextWaiterHolds, what);
        }
    }
}
