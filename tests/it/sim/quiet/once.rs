//! After faults have stopped, whoever asks for a result has it in time, those who wait have it when
//! it is there, and all have the same.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Error, OnceOutcome};

use super::{DELAY, HOLD, ONE_RETRY, PUSHED, SET_BACK, TIMEOUT, TTL};
use crate::case::{Case, Expected};
use crate::check::{Invariant, Wanted, result};
use crate::faults::Net;
use crate::host::{self, Settings};
use crate::workload::{Crowd, drift};
use crate::world::{MS, Machine, Time};

/// The callers that ask for one result.
struct Asks {
    case: Rc<Case>,
    key: &'static str,
    /// From the end of the work until those who wait have its result.
    delay: Time,
    /// Whether the first caller's work fails.
    fails: Cell<bool>,
    waiting: RefCell<Vec<Option<Expected>>>,
    results: RefCell<BTreeSet<String>>,
    all_push: bool,
    /// Whether an earlier result may end while they ask.
    is_new: bool,
}

pub(crate) fn hold(case: &Rc<Case>, crowd: &Crowd) {
    case.pass(2 * Net::QUIET.latency, || false);
    let longest = Crowd::longest_ttl(case);
    let by = case.world.now() + SET_BACK + longest.as_nanos() as Time + 2 * (DELAY + ONE_RETRY);
    let mut all = Vec::new();
    // Keys that were used before, which may have a result left, and a new one.
    for key in crowd.names.iter().map(|name| name.name).chain(["new"]) {
        let all_push = case.rng.chance(500);
        let asks = Rc::new(Asks {
            case: case.clone(),
            key,
            delay: if all_push { PUSHED } else { DELAY },
            fails: Cell::new(case.rng.chance(500)),
            waiting: RefCell::default(),
            results: RefCell::default(),
            all_push,
            is_new: result(key, &case.redis.db()).is_none(),
        });
        let count = case.rng.between(2, 4);
        for place in 0..count {
            let limit = by + HOLD * 4 + count * (DELAY + ONE_RETRY);
            let what = format!("{place} has no result of {key}");
            let expected = case.expect(Invariant::NextWaiterHolds, None, limit, what);
            asks.waiting.borrow_mut().push(Some(expected));
            asks.clone().join(place as usize);
        }
        all.push(asks);
    }
    let is_done = || (all.iter()).all(|asks| asks.waiting.borrow().iter().all(Option::is_none));
    if !case.pass(60_000 * MS + longest.as_nanos() as Time, is_done) {
        let what = "somebody waits for a result for ever";
        case.check.fail(Invariant::WaitsEnd, what.into());
    }
    case.pass(100 * MS, || false);
    for asks in all {
        let results = asks.results.borrow();
        if asks.is_new && results.len() > 1 {
            let what = format!("{results:?} were told of {}", asks.key);
            case.check.fail(Invariant::ExecutedOnce, what);
        }
        asks.waiting.borrow_mut().clear();
    }
}

impl Asks {
    fn join(self: Rc<Self>, place: usize) {
        let case = self.case.clone();
        let machine = Rc::new(Machine::new(case.bent.drift(drift(&case.rng))));
        let on = machine.clone();
        let task = async move { self.ask(place, &on).await };
        case.world.spawn(&machine, Box::pin(task));
    }

    async fn ask(&self, place: usize, machine: &Rc<Machine>) {
        let case = &self.case;
        let settings = Settings {
            script_cache: case.rng.chance(500),
            push: self.all_push || case.rng.chance(500),
            attempts: 3,
            timeout: TIMEOUT,
        };
        let once = host::client(case, machine, settings)
            .once(self.key)
            .ttl(TTL)
            .wait_timeout(Duration::from_secs(30) + Crowd::longest_ttl(case))
            .max_requests(2_000);
        let (begun, own) = (case.world.now(), format!("{} ", case.rng.next()));
        case.check.want(self.key, None);
        let told = once
            .run_text(async |_| {
                case.world.sleep(machine, Duration::from_nanos(HOLD)).await;
                match self.fails.replace(false) {
                    true => {
                        self.expect_next(place);
                        Err(Error::example("invalid_argument", "").expect("a code"))
                    }
                    false => {
                        self.expect_all(place);
                        Ok(own.clone())
                    }
                }
            })
            .await;
        let (is_done, print, key) = (told.is_ok(), None, self.key);
        let wanted = Wanted { key, print, begun, own, is_done };
        case.check.told_result(&wanted, &told);
        self.waiting.borrow_mut()[place] = None;
        match told.map(OnceOutcome::into_value) {
            Ok(result) => drop(self.results.borrow_mut().insert(result)),
            Err(Error::InvalidArgument { .. }) => {}
            Err(error) => {
                let what = format!("a caller got no result: {error}");
                case.check.fail(Invariant::NextWaiterHolds, what);
            }
        }
    }

    /// All other callers must have the result soon.
    fn expect_all(&self, place: usize) {
        let by = self.case.world.now() + self.delay + PUSHED;
        for (other, expected) in self.waiting.borrow_mut().iter_mut().enumerate() {
            if other != place && expected.is_some() {
                let what = format!("{other} was not told of {}", self.key);
                let told = self.case.expect(Invariant::HandedOver, None, by, what);
                *expected = Some(told);
            }
        }
    }

    /// One of the other callers must do the work soon.
    fn expect_next(&self, place: usize) {
        let by = self.case.world.now() + 2 * (self.delay + PUSHED) + HOLD;
        for (other, expected) in self.waiting.borrow_mut().iter_mut().enumerate() {
            if other != place && expected.is_some() {
                let what = format!("{other} was not told that {} failed", self.key);
                let told = self.case.expect(Invariant::HandedOver, None, by, what);
                *expected = Some(told);
            }
        }
    }
}
