//! The lock in a simulated world: virtual time, drifting clocks, and everything that can go wrong on the way to Redis.

mod bridge;
mod case;
mod check;
mod faults;
mod host;
mod lua;
mod network;
mod quiet;
mod redis;
mod rng;
mod sabotage;
mod script;
mod trace;
mod workload;
mod world;

use std::rc::Rc;

use case::Case;
use lua::Redis;
use sabotage::Bent;
use trace::Trace;

#[test]
fn no_promise_breaks() {
    let redis = Rc::new(Redis::new(Box::new(str::to_owned)));
    let from: u64 = std::env::var("EDGELOCK_SIM_FROM").map_or(0, |n| n.parse().unwrap());
    let seeds: u64 = std::env::var("EDGELOCK_SIM_SEEDS").map_or(20_000, |n| n.parse().unwrap());
    for seed in from..from + seeds {
        let case = Case::new(seed, &redis, Bent::Straight, Trace::OFF);
        if let Some(violation) = case.run() {
            let case = Case::new(seed, &redis, Bent::Straight, Trace::on());
            case.run();
            panic!("seed {seed}: {violation:?}\n{}", case.trace.lines());
        }
    }
}
