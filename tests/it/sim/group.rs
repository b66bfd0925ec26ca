//! Shared turns: callers of one process that hold the lock together.
//!
//! Time, network, Lua and the model of Redis are those of the worlds of single locks, and what a
//! single lock promises is checked here too. Each machine is a request to one of several processes.
//! It may stand still, even for ever, or die, while it drives a turn of others.

pub(crate) mod books;
mod handed;
mod prompt;
pub(crate) mod sabotage;
pub(crate) mod sale;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Command, Error, GroupCommit};
use send_wrapper::SendWrapper;

use super::bridge::Dialect;
use super::case::Case;
use super::check::{Check, Invariant, Violation};
use super::faults::{Plan, Upset};
use super::host::{self, Settings};
use super::lua::Redis;
use super::rng::Rng;
use super::sabotage::Bent;
use super::seeds::{each_does_the_same_again, nothing_breaks};
use super::trace::Trace;
use super::workload::drift;
use super::world::{MS, Machine, Time};
use books::Books;
use sale::{Order, RESTOCKED, STOCK, Sale};

const SEEDS: u64 = 2_000;

/// Longer than any call takes, even if all drivers before it are gone.
const PATIENT: Time = 120_000 * MS;

/// How users of shared turns go wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    Sound,
    /// Decides each item as if no other were in its turn.
    Forgetful,
    /// Takes "unknown" for "no", and orders again.
    Rash,
}

struct Market {
    case: Rc<Case>,
    habit: Habit,
    books: Rc<Books>,
    at_work: Cell<usize>,
    frozen: Cell<bool>,
    /// Requests that will never be answered.
    lost: RefCell<BTreeMap<usize, Rc<Machine>>>,
}

fn run(
    seed: u64,
    redis: &Rc<Redis>,
    bent: Bent,
    habit: Habit,
    trace: Trace,
) -> (Option<Violation>, String) {
    let case = Case::new(seed, redis, Check::default(), bent, trace);
    let market = Rc::new(Market {
        books: Rc::new(Books::open(&case)),
        case,
        habit,
        at_work: Cell::new(0),
        frozen: Cell::new(false),
        lost: RefCell::default(),
    });
    let broken = market.run();
    (broken, market.case.trace.lines())
}

impl Market {
    fn run(self: &Rc<Self>) -> Option<Violation> {
        match self.case.rng.chance(500) {
            true => self.sell::<true>(),
            false => self.sell::<false>(),
        }
    }

    fn sell<const FENCED: bool>(self: &Rc<Self>) -> Option<Violation> {
        let (case, rng) = (&self.case, &self.case.rng);
        case.dialect.set(Dialect::draw(rng));
        let mut machines = Vec::new();
        let groups: Vec<_> = (0..rng.between(1, 2))
            .enumerate()
            .map(|(process, _)| {
                let max_items = rng.pick(&[1, 2, 4, 256]);
                let group = GroupCommit::new(Sale::<FENCED>).max_items(max_items);
                if rng.chance(500) {
                    return group;
                }
                self.books.expect_no_order(process);
                group.peek(Sale::<FENCED>::peek)
            })
            .collect();
        for (process, group) in groups.iter().enumerate() {
            let drift = case.bent.drift(drift(rng));
            let settings = settings(rng);
            for _ in 0..rng.between(1, 12) {
                let machine = Rc::new(Machine::new(drift));
                self.request(process, group, &machine, settings);
                machines.push(machine);
            }
        }
        for _ in 0..rng.between(0, 5) {
            let machine = Rc::new(Machine::new(drift(rng)));
            self.restock(&machine, settings(rng));
        }
        let plan = Plan::draw(rng, machines.len(), false);
        case.net.set(plan.net);
        for (at, upset) in plan.upsets {
            // What was written must not be lost, since it is compared in the end.
            if !matches!(upset, Upset::DataLoss | Upset::FailOver { .. }) {
                let (case, machines) = (case.clone(), machines.clone());
                (self.case.world).schedule(at, move || case.upset(upset, &machines));
            }
        }
        for _ in 0..rng.between(0, 3) {
            let at = rng.between(0, 2_000 * MS);
            let (market, number) = (self.clone(), rng.between(0, machines.len() as u64 - 1));
            let machine = machines[number as usize].clone();
            (case.world).schedule(at, move || market.vanish(number as usize, &machine));
        }
        case.pass(plan.heal, || self.is_done(&machines));
        case.heal();
        if !case.pass(PATIENT, || self.is_done(&machines)) {
            self.books.check.fail(Invariant::Answered, "a caller waits yet".into());
        }
        // Turns go on for callers that hung up.
        case.pass(PATIENT, || groups.iter().all(is_idle));
        self.books.close(&case.redis.db());
        if !self.frozen.get() {
            for group in groups.iter().filter(|group| !is_idle(group)) {
                self.books.check.fail(Invariant::Forgotten, format!("{group:?}"));
            }
        }
        case.world.end();
        let of_lock = case.check.violation();
        let of_lock = of_lock
            .map(|broken| Violation { invariant: Invariant::OfLock, what: format!("{broken:?}") });
        of_lock.or_else(|| self.books.check.violation())
    }

    /// The request stands still for ever, or dies.
    fn vanish(&self, number: usize, machine: &Rc<Machine>) {
        if self.case.healed.get().is_some() {
            return;
        }
        let dies = self.case.rng.chance(500);
        let now = self.case.world.now();
        (self.case.trace).note(now, || format!("request {number} is gone, it dies: {dies}"));
        self.lost.borrow_mut().insert(number, machine.clone());
        if dies {
            self.case.world.kill(machine);
        } else {
            self.frozen.set(true);
            machine.pause(now, 1_000_000_000 * MS);
        }
    }

    /// Whether every caller is answered that can be.
    fn is_done(&self, machines: &[Rc<Machine>]) -> bool {
        let gone = |machine: &&Rc<Machine>| {
            let lost = self.lost.borrow();
            machine.is_dead.get() || lost.values().any(|lost| Rc::ptr_eq(lost, machine))
        };
        let answered = self.books.answered.borrow();
        let mut alive = machines.iter().enumerate();
        alive.all(|(number, machine)| gone(&machine) || answered.contains(&number))
    }

    /// Starts a request that adds one to the stock, under the same lock without a turn.
    fn restock(&self, machine: &Rc<Machine>, settings: Settings) {
        let rng = &self.case.rng;
        let come = Duration::from_nanos(rng.between(0, 1_000 * MS));
        let think = Duration::from_nanos(rng.between(0, 200 * MS));
        let client = host::client(&self.case, machine, settings);
        let (case, on) = (self.case.clone(), machine.clone());
        let live = async move {
            case.world.sleep(&on, come).await;
            let lock = client.lock("a").ttl(Duration::from_millis(500));
            let lock = lock.wait_timeout(Duration::from_secs(2));
            let read = Command::new("GET").key(STOCK);
            let Ok((lease, found)) = lock.acquire_and_read(&[read]).await else {
                return;
            };
            case.world.sleep(&on, think).await;
            let stock = found[0].as_i64().expect("a stock") + 1;
            let stock = Command::new("SET").key(STOCK).arg(stock);
            let note = Command::new("APPEND").key(RESTOCKED).arg("+");
            let _ = lease.commit(&[stock, note]).await;
        };
        self.case.world.spawn(machine, Box::pin(live));
    }

    /// Starts a request that orders, and may hang up before it is answered.
    fn request<const FENCED: bool>(
        self: &Rc<Self>,
        process: usize,
        group: &GroupCommit<Sale<FENCED>>,
        machine: &Rc<Machine>,
        settings: Settings,
    ) {
        let number = self.at_work.replace(self.at_work.get() + 1);
        let rng = &self.case.rng;
        let come = Duration::from_nanos(rng.between(0, rng.pick(&[5, 200, 2_000]) * MS));
        let ttl = Duration::from_millis(rng.pick(&[300, 1_000, 2_500]));
        let wait = Duration::from_millis(rng.pick(&[400, 1_500, 4_000]));
        let leave = rng.chance(150).then(|| rng.between(0, 300 * MS));
        let client = host::client(&self.case, machine, settings);
        let (market, group, machine_) = (self.clone(), group.clone(), machine.clone());
        let live = async move {
            market.case.world.sleep(&machine_, come).await;
            let lock = client.lock("a").ttl(ttl).wait_timeout(wait);
            let order = || Order {
                process,
                number,
                remembers: market.habit != Habit::Forgetful,
                reads: None,
                books: SendWrapper::new(market.books.clone()),
            };
            let submitted = async {
                let outcome = group.submit(&lock, order()).await;
                match outcome {
                    Err(error) if error.is_outcome_unknown() && market.habit == Habit::Rash => {
                        group.submit(&lock, order()).await
                    }
                    outcome => outcome,
                }
            };
            let patience = leave.map_or(Duration::MAX, Duration::from_nanos);
            let limit = market.case.world.sleep(&machine_, patience);
            let outcome: Option<Result<_, Error>> = host::within(limit, submitted).await;
            let now = market.case.world.now();
            (market.case.trace).note(now, || format!("request {number}: {outcome:?}"));
            market.books.answer(number, outcome);
        };
        self.case.world.spawn(machine, Box::pin(live));
    }
}

fn is_idle<const FENCED: bool>(group: &GroupCommit<Sale<FENCED>>) -> bool {
    format!("{group:?}").contains("names: 0")
}

fn settings(rng: &Rng) -> Settings {
    Settings {
        script_cache: rng.chance(300),
        push: rng.chance(700),
        attempts: rng.pick(&[1, 2, 3]),
        timeout: Duration::from_millis(rng.pick(&[150, 600, 2_000])),
    }
}

/// All scripts that are sent, by their digests.
pub(crate) fn texts() -> BTreeMap<String, String> {
    let redis = Rc::<Redis>::default();
    for seed in 0..100 {
        run(seed, &redis, Bent::Straight, Habit::Sound, Trace::OFF);
    }
    redis.texts()
}

#[test]
fn no_promise_breaks_in_shared_turns() {
    let redis = Rc::default();
    nothing_breaks("of shared turns", SEEDS, |seed, trace| {
        run(seed, &redis, Bent::Straight, Habit::Sound, trace)
    });
}

#[test]
fn the_same_seed_does_the_same_to_shared_turns() {
    each_does_the_same_again(|seed, trace| {
        run(seed, &Rc::default(), Bent::Straight, Habit::Sound, trace)
    });
}
