//! Throttles and debounces: calls that hold nothing, on machines that are late, repeat requests,
//! give up and die.
//!
//! Time, network, Lua and the model of Redis are those of the worlds of locks. A model of its own
//! says after each script what must hold.

pub(crate) mod books;
pub(crate) mod sabotage;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Error, ThrottleOutcome};

use super::bridge::Dialect;
use super::case::Case;
use super::check::{Check, Invariant, Violation};
use super::faults::{Net, Plan, Upset};
use super::host::{self, Settings, SimClient, within};
use super::lua::Redis;
use super::rng::Rng;
use super::sabotage::Bent;
use super::seeds::{each_does_the_same_again, nothing_breaks};
use super::trace::Trace;
use super::workload::drift;
use super::world::{MS, Machine, Time};
use books::Books;

const SEEDS: u64 = 3_000;

/// Longer than any call takes after faults have stopped.
const PATIENT: Time = 60_000 * MS;

const WINDOWS: [u64; 3] = [40, 400, 1_600];
const WAITS: [u64; 3] = [30, 300, 900];

/// How many calls come in the end, and under which name.
const CALLS: usize = 12;
const CALM_NAME: &str = "calm";
const HOUR_US: i64 = 3_600_000_000;
const CALM_KEY: &str = "{calm}:debounce";
const CALM: Settings =
    Settings { script_cache: false, push: false, attempts: 3, timeout: Duration::from_millis(300) };

struct World {
    case: Rc<Case>,
    books: Rc<Books>,
    at_work: Cell<usize>,
}

fn run(seed: u64, redis: &Rc<Redis>, bent: Bent, trace: Trace) -> (Option<Violation>, String) {
    let case = Case::new(seed, redis, Check::default(), bent, trace);
    let world = Rc::new(World { books: Rc::default(), case, at_work: Cell::new(0) });
    world.run();
    let broken = world.books.broken.take();
    (broken, world.case.trace.lines())
}

impl World {
    fn run(self: &Rc<Self>) {
        let (case, rng) = (&self.case, &self.case.rng);
        case.dialect.set(Dialect::draw(rng));
        let books = self.books.clone();
        let time = case.world.clone();
        *case.ran.borrow_mut() = Some(Box::new(move |run, reply, db| {
            books.real.set((time.now() / MS) as i64);
            books.ran(run, reply, db);
        }));
        let machines: Vec<_> = (0..rng.between(2, 6))
            .map(|_| Rc::new(Machine::new(case.bent.drift(drift(rng)))))
            .collect();
        let plan = Plan::draw(rng, machines.len(), false);
        case.net.set(case.bent.net(plan.net));
        for machine in &machines {
            self.begin(machine);
        }
        for (at, upset) in plan.upsets {
            // The books are compared with what Redis has, so no data may be lost.
            if !matches!(upset, Upset::DataLoss | Upset::FailOver { .. }) {
                let (case, machines) = (case.clone(), machines.clone());
                (self.case.world).schedule(at, move || case.upset(upset, &machines));
            }
        }
        let is_done = || {
            let dead = machines.iter().filter(|machine| machine.is_dead.get());
            self.at_work.get() <= dead.count() || self.books.is_broken()
        };
        case.pass(plan.heal, is_done);
        case.heal();
        if !case.pass(PATIENT, is_done) {
            self.books.fail(Invariant::Answered, "a call never ends".into());
        }
        self.calm();
        case.world.end();
        case.ran.take();
    }

    /// Starts a machine that calls again and again.
    fn begin(self: &Rc<Self>, machine: &Rc<Machine>) {
        let rng = &self.case.rng;
        let client = host::client(&self.case, machine, settings(rng));
        let (world, machine_) = (self.clone(), machine.clone());
        self.at_work.set(self.at_work.get() + 1);
        let rounds = rng.between(1, 8);
        let live = async move {
            for _ in 0..rounds {
                let pause = world.ms(0, 200);
                world.case.world.sleep(&machine_, pause).await;
                world.round(&client, &machine_).await;
            }
            world.at_work.set(world.at_work.get() - 1);
        };
        self.case.world.spawn(machine, Box::pin(live));
    }

    /// One call, which may be dropped before it ends.
    async fn round(&self, client: &SimClient, machine: &Machine) {
        let rng = &self.case.rng;
        let name = rng.pick(&["a", "a", "b"]);
        let patience = match rng.chance(150) {
            true => self.ms(0, 400),
            false => Duration::from_secs(6_000),
        };
        let patience = self.case.world.sleep(machine, patience);
        if rng.chance(500) {
            within(patience, self.pass(client, name, rng.pick(&WINDOWS))).await;
        } else {
            let (wait, most) = (rng.pick(&WAITS), rng.pick(&[1, 2, 4]));
            within(patience, self.debounce(client, machine, name, wait, most)).await;
        }
    }

    async fn pass(
        &self,
        client: &SimClient,
        name: &str,
        window: u64,
    ) -> Result<ThrottleOutcome, Error> {
        let window = self.books.number(window);
        let throttle = client.throttle(name, Duration::from_millis(window));
        let told = throttle.try_pass().await;
        self.note(|| format!("the pass {window} came to {told:?}"));
        self.books.told_pass(window, &told);
        told
    }

    /// A debounced call, in a burst of at most `most` times its wait.
    async fn debounce(
        &self,
        client: &SimClient,
        machine: &Machine,
        name: &str,
        wait: u64,
        most: u64,
    ) {
        let wait = self.books.number(wait);
        let debounce = client
            .debounce(name, Duration::from_millis(wait))
            .max_wait(Duration::from_millis(wait * most));
        let work = async || {
            self.books.begins_work(wait);
            self.case.world.sleep(machine, self.ms(0, 30)).await;
            Ok::<_, Error>(())
        };
        let told = debounce.run(work).await;
        self.note(|| format!("the call {wait} came to {told:?}"));
        self.books.told_call(wait, &told);
        if name == CALM_NAME && told.is_err() {
            let what = format!("{wait} came to {told:?}");
            self.books.fail(Invariant::Answered, what);
        }
    }

    /// After faults have stopped, every window opens, and a debounce whose calls never cease lets
    /// one through in time, though the clock of Redis is set back by an hour.
    fn calm(self: &Rc<Self>) {
        let case = &self.case;
        case.pass(2 * Net::QUIET.latency, || false);
        let machine = Rc::new(Machine::new(case.bent.drift(drift(&case.rng))));
        let gap = Duration::from_millis(case.rng.pick(&[5, 40, 110]));
        let left = Rc::new(Cell::new(CALLS + 1));
        let (world, on, noted) = (self.clone(), machine.clone(), left.clone());
        let calls = async move {
            let client = host::client(&world.case, &on, CALM);
            world.open(&client, &on).await;
            if world.case.rng.chance(500) {
                let (case, all) = (world.case.clone(), CALLS as u64 * gap.as_millis() as u64);
                let at = case.rng.between(0, (all + 100) * MS);
                (world.case.world).schedule(at, move || case.set_back(HOUR_US));
            }
            for _ in 0..CALLS {
                let (world_, client, on_, noted) =
                    (world.clone(), client.clone(), on.clone(), noted.clone());
                let call = async move {
                    world_.debounce(&client, &on_, CALM_NAME, 100, 2).await;
                    noted.set(noted.get() - 1);
                };
                world.case.world.spawn(&on, Box::pin(call));
                world.case.world.sleep(&on, gap).await;
            }
            noted.set(noted.get() - 1);
        };
        case.world.spawn(&machine, Box::pin(calls));
        if !case.pass(PATIENT, || left.get() == 0 || self.books.is_broken()) {
            let what = format!("{} of the last calls never end", left.get());
            self.books.fail(Invariant::Answered, what);
        }
        self.books.close();
    }

    /// A caller that stays away for as long as it is told must pass.
    async fn open(&self, client: &SimClient, machine: &Machine) {
        for name in ["a", "b"] {
            for tries in 1.. {
                match self.pass(client, name, 20).await {
                    Ok(ThrottleOutcome::Passed) => break,
                    // A clock that drifts may count too little time.
                    Ok(ThrottleOutcome::Throttled { retry_after }) if tries < 3 => {
                        let away = retry_after + retry_after / 50 + Duration::from_millis(2);
                        self.case.world.sleep(machine, away).await;
                    }
                    told => {
                        let what = format!("{name} came to {told:?} in try {tries}");
                        return self.books.fail(Invariant::Opens, what);
                    }
                }
            }
        }
    }

    fn ms(&self, low: u64, high: u64) -> Duration {
        Duration::from_nanos(self.case.rng.between(low * MS, high * MS))
    }

    fn note(&self, what: impl FnOnce() -> String) {
        self.case.trace.note(self.case.world.now(), what);
    }
}

fn settings(rng: &Rng) -> Settings {
    Settings {
        script_cache: rng.chance(300),
        push: false,
        attempts: rng.pick(&[1, 2, 3]),
        timeout: Duration::from_millis(rng.pick(&[150, 600, 2_000])),
    }
}

/// All scripts that are sent, by their digests.
pub(crate) fn texts() -> BTreeMap<String, String> {
    let redis = Rc::<Redis>::default();
    for seed in 0..50 {
        run(seed, &redis, Bent::Straight, Trace::OFF);
    }
    redis.texts()
}

#[test]
fn no_promise_breaks() {
    let redis = Rc::default();
    nothing_breaks("of throttles and debounces", SEEDS, |seed, trace| {
        run(seed, &redis, Bent::Straight, trace)
    });
}

#[test]
fn the_same_seed_does_the_same_to_throttles_and_debounces() {
    let redis = Rc::default();
    each_does_the_same_again(|seed, trace| run(seed, &redis, Bent::Straight, trace));
}
