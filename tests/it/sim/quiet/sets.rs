//! After faults have stopped, whoever waits for several names, or for one of them, has them in
//! time, whatever the others wait for.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use super::{DELAY, HOLD, KEPT, ONE_RETRY, PUSHED, SET_BACK, TIMEOUT, TTL};
use crate::case::Case;
use crate::check::{Hold, Invariant, holders};
use crate::faults::Net;
use crate::host::{self, Settings};
use crate::workload::{Crowd, Name, drift};
use crate::world::{MS, Machine, Time};

/// Clients that wait for sets of names with names in common.
struct Waiters {
    case: Rc<Case>,
    all_push: bool,
    at_work: Cell<usize>,
    tokens: RefCell<BTreeSet<String>>,
}

pub(crate) fn hold(case: &Rc<Case>, crowd: &Crowd) {
    let loses_grant = case.rng.chance(300);
    case.network.lose_next_grant.set(loses_grant);
    case.pass(2 * Net::QUIET.latency, || false);
    let longest = Crowd::longest_ttl(case).as_nanos() as Time;
    let all_push = case.rng.chance(500);
    // When the effects of faults, and the waiters that died, are gone.
    let left = SET_BACK + longest + KEPT + DELAY + ONE_RETRY;
    let waiters = Rc::new(Waiters {
        case: case.clone(),
        all_push,
        at_work: Cell::new(0),
        tokens: RefCell::default(),
    });
    let count = case.rng.between(3, 6);
    // At worst they come one after another. A waiter that is told in vain waits for the next, and
    // that one may poll, or listen and ask less often.
    let turn = HOLD + if all_push { 2 * PUSHED } else { DELAY };
    let by = case.world.now() + left + count * turn + if all_push { 0 } else { KEPT };
    let mut expected = Vec::new();
    for place in 0..count {
        let name = case.rng.pick(&crowd.names).anew(&case.rng);
        let what = format!("{place} has nothing of {} and {:?}", name.name, name.others());
        let told =
            Rc::new(Cell::new(Some(case.expect(Invariant::NextWaiterHolds, None, by, what))));
        expected.push(told.clone());
        let machine = Rc::new(Machine::new(case.bent.drift(drift(&case.rng))));
        let (on, waiting) = (machine.clone(), waiters.clone());
        waiting.at_work.set(waiting.at_work.get() + 1);
        let task = async move {
            waiting.turn(name, &on, || drop(told.take())).await;
            waiting.at_work.set(waiting.at_work.get() - 1);
        };
        case.world.spawn(&machine, Box::pin(task));
    }
    if !case.pass(60_000 * MS + longest, || waiters.at_work.get() == 0) {
        case.check.fail(Invariant::WaitsEnd, "somebody waits for ever".into());
    }
    case.pass(100 * MS, || false);
    for name in &crowd.names {
        // A client that died before may hold a name that nobody waits for.
        let mut left = holders(name.name, &case.redis.db());
        left.retain(|(who, _)| waiters.tokens.borrow().contains(who));
        for (who, _) in left {
            let what = format!("{who} holds {} in the end", name.name);
            case.check.fail(Invariant::NoGhost, what);
        }
    }
    for told in expected {
        drop(told.take());
    }
}

impl Waiters {
    async fn turn(&self, name: Name, machine: &Rc<Machine>, has: impl FnOnce()) {
        let case = &self.case;
        let settings = Settings {
            script_cache: case.rng.chance(500),
            push: self.all_push || case.rng.chance(500),
            attempts: 3,
            timeout: TIMEOUT,
        };
        let client = host::client(case, machine, settings);
        let lock = name
            .lock(&client, "nobody")
            .ttl(TTL)
            .wait_timeout(Duration::from_secs(30) + Crowd::longest_ttl(case))
            .max_requests(2_000);
        let lease = match lock.acquire().await {
            Ok(lease) => lease,
            Err(error) => {
                let what = format!("a waiter got nothing: {error}");
                return case.check.fail(Invariant::NextWaiterHolds, what);
            }
        };
        has();
        let token = lease.token().expose().to_owned();
        self.tokens.borrow_mut().insert(token.clone());
        let until = machine.clock(case.world.now()) + lease.remaining().as_nanos() as Time;
        let names: Vec<_> = name.others().into_iter().chain([name.name]).collect();
        let hold = |held: &&'static str| Hold {
            machine: machine.clone(),
            lock: (*held).to_owned(),
            who: token.clone(),
            fence: lease.fence(),
            reads: false,
            weight: name.weight_of(held) as usize,
            others: names.clone(),
            until,
        };
        let holds: Vec<u64> = names.iter().map(|held| case.check.hold(hold(held))).collect();
        case.world.sleep(machine, Duration::from_nanos(HOLD)).await;
        for hold in holds {
            case.check.end_hold(hold);
        }
        if let Err(error) = lease.release().await {
            let what = format!("a release failed: {error}");
            case.check.fail(Invariant::NextWaiterHolds, what);
        }
    }
}
