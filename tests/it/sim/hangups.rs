//! Callers that hang up, on hosts that tell that, and then go on only for what asked them to.
//!
//! The ttl is ten minutes. What is free before was given back.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use edgelock::Error;

use super::case::Case;
use super::check::Check;
use super::faults::Net;
use super::host::{self, Settings, SimLease, SimLock};
use super::lua::Redis;
use super::sabotage::Bent;
use super::seeds::{self, nothing_breaks};
use super::trace::Trace;
use super::world::{MS, Machine, Time};

const SEEDS: u64 = 3_000;
const TTL: Duration = Duration::from_secs(600);
const WAIT: Duration = Duration::from_secs(20);
const SETTINGS: Settings = Settings {
    script_cache: false,
    push: true,
    attempts: 3,
    timeout: Duration::from_millis(1_000),
};
/// A wait, the work of all who stay, and what is given back for those who do not.
const PATIENT: Time = 40_000 * MS;

/// How a host goes wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    Sound,
    /// It does not tell that a caller is gone.
    Silent,
    /// It goes on for nothing once a caller is gone.
    Hasty,
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Acquire,
    Try,
    Read,
    Run,
    Write,
    Once,
}

const VERBS: [Verb; 6] = [Verb::Acquire, Verb::Try, Verb::Read, Verb::Run, Verb::Write, Verb::Once];

/// What a caller does under the lock.
struct Work {
    case: Rc<Case>,
    machine: Rc<Machine>,
    /// `None` if it never ends.
    lasts: Option<Duration>,
}

impl Work {
    async fn done(&self) {
        match self.lasts {
            Some(lasts) => self.case.world.sleep(&self.machine, lasts).await,
            None => pending().await,
        }
    }
}

struct Shop {
    case: Rc<Case>,
    habit: Habit,
    /// How often the work was done that is to be done once.
    executed: Cell<usize>,
    begun: Cell<usize>,
    /// How many of its locks were taken in the end.
    ended: Cell<usize>,
}

fn run(seed: u64, redis: &Rc<Redis>, habit: Habit, trace: Trace) -> (Option<String>, String) {
    let case = Case::new(seed, redis, Check::default(), Bent::Straight, trace);
    let shop = Rc::new(Shop {
        case,
        habit,
        executed: Cell::new(0),
        begun: Cell::new(0),
        ended: Cell::new(0),
    });
    let broken = shop.run();
    (broken, shop.case.trace.lines())
}

impl Shop {
    fn run(self: &Rc<Self>) -> Option<String> {
        let (case, rng) = (&self.case, &self.case.rng);
        let latency = rng.pick(&[2 * MS, 20 * MS, 80 * MS]);
        case.net.set(Net { least: latency / 4, latency, ..Net::QUIET });
        let overs: Vec<_> = (0..rng.between(2, 7)).map(|_| self.call()).collect();
        let is_over = || overs.iter().all(|over| over.get()) && self.ended.get() == 2;
        self.take_both(2_000 * MS);
        let is_over = case.pass(PATIENT, is_over);
        let violation = case.check.violation();
        let (begun, executed) = (self.begun.get(), self.executed.get());
        case.world.end();
        if let Some(violation) = violation {
            return Some(format!("{violation:?}"));
        }
        if begun > 1 || begun != executed {
            return Some(format!("executed {executed} times, and begun {begun}"));
        }
        (!is_over).then(|| format!("{} of 2 locks are free, or a call goes on", self.ended.get()))
    }

    /// Takes the locks of all callers, once all have come.
    fn take_both(self: &Rc<Self>, after: Time) {
        for name in ["a", "o"] {
            let machine = Rc::new(Machine::new(0));
            let client = host::client(&self.case, &machine, SETTINGS);
            let (shop, on) = (self.clone(), machine.clone());
            let live = async move {
                let world = &shop.case.world;
                world.sleep(&on, Duration::from_nanos(after)).await;
                let lock = client.lock(name).wait_timeout(WAIT);
                if lock.acquire().await.is_ok() {
                    shop.ended.set(shop.ended.get() + 1);
                }
            };
            self.case.world.spawn(&machine, Box::pin(live));
        }
    }

    /// Whether the call is over, or nobody waits for it.
    fn call(self: &Rc<Self>) -> Rc<Cell<bool>> {
        let (case, rng) = (&self.case, &self.case.rng);
        let machine = Rc::new(Machine::new(0));
        let (verb, come) = (rng.pick(&VERBS), rng.between(0, 800 * MS));
        let hangs_up = rng.chance(600).then(|| come + rng.between(1, 1_500 * MS));
        let never_ends = hangs_up.is_some() && rng.chance(500);
        let lasts = Duration::from_nanos(rng.between(0, 1_500 * MS));
        let over = Rc::new(Cell::new(false));
        if let Some(at) = hangs_up.filter(|_| self.habit != Habit::Silent) {
            machine.hangs_up_at.set(hangs_up);
            let (shop, machine, over) = (self.clone(), machine.clone(), over.clone());
            case.world.schedule(at, move || shop.stop(machine, over));
        }
        let work = Work {
            case: case.clone(),
            machine: machine.clone(),
            lasts: (!never_ends || matches!(verb, Verb::Once)).then_some(lasts),
        };
        over.set(work.lasts.is_none());
        let (shop, on, noted) = (self.clone(), machine.clone(), over.clone());
        let client = host::client(case, &machine, SETTINGS);
        let live = async move {
            shop.case.world.sleep(&on, Duration::from_nanos(come)).await;
            let lock = client.lock("a").ttl(TTL).wait_timeout(WAIT);
            let told = match verb {
                Verb::Once => {
                    let once = client.once("o").ttl(TTL);
                    let once = once.wait_timeout(WAIT);
                    let execute = async |_: &SimLease| {
                        shop.begun.set(shop.begun.get() + 1);
                        work.done().await;
                        shop.executed.set(shop.executed.get() + 1);
                        Ok::<_, Error>(7)
                    };
                    once.run(execute).await.map(drop)
                }
                verb => make(verb, &lock, &work).await,
            };
            let now = shop.case.world.now();
            (shop.case.trace).note(now, || format!("{verb:?} came to {told:?}"));
            noted.set(true);
        };
        case.world.spawn(&machine, Box::pin(live));
        over
    }

    /// The host of a caller that is gone stops once nothing asks it to go on.
    fn stop(self: &Rc<Self>, machine: Rc<Machine>, over: Rc<Cell<bool>>) {
        let world = self.case.world.clone();
        if machine.stays.get() == 0 || self.habit == Habit::Hasty {
            over.set(true);
            return world.kill(&machine);
        }
        let shop = self.clone();
        world.schedule(MS, move || shop.stop(machine, over));
    }
}

async fn make(verb: Verb, lock: &SimLock, work: &Work) -> Result<(), Error> {
    let lease = match verb {
        Verb::Run => {
            let under = async |_: &SimLease| {
                work.done().await;
                Ok(())
            };
            return lock.run(under).await;
        }
        Verb::Read => lock.acquire_and_read(&[]).await?.0,
        Verb::Try => lock.try_acquire().await?,
        _ => lock.acquire().await?,
    };
    if let Verb::Write = verb {
        lease.exec(&[]).await?;
    }
    work.done().await;
    lease.release().await
}

#[test]
fn no_promise_breaks_of_callers_that_hang_up() {
    let redis = Rc::default();
    nothing_breaks("of callers that hang up", SEEDS, |seed, trace| {
        run(seed, &redis, Habit::Sound, trace)
    });
}

fn caught(habit: Habit) {
    let redis = Rc::default();
    seeds::caught("an answer", &[], SEEDS, |seed| run(seed, &redis, habit, Trace::OFF).0.is_some());
}

#[test]
fn a_host_that_does_not_tell_that_its_caller_is_gone() {
    caught(Habit::Silent);
}

#[test]
fn a_host_that_goes_on_for_nothing_once_its_caller_is_gone() {
    caught(Habit::Hasty);
}
