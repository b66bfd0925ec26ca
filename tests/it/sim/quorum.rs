//! A lock over several servers, each of which fails by itself.
//!
//! The same time, machines, Lua and model of Redis as for one server; a world of its own, since
//! here nothing is handed over, nothing written and nobody queues. Any number of servers may die,
//! go mute, or come back empty: then nobody gets the lock, but never two.

mod exact;
mod place;
mod sabotage;
mod wire;
mod workload;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::lua::Redis;
use super::sabotage::Bent;
use super::seeds::seeds;
use super::trace::Trace;
use place::{Broken, Place};

const SEEDS: u64 = 4_000;

/// As many as a case may have.
fn servers() -> Vec<Rc<Redis>> {
    (0..5).map(|_| Rc::default()).collect()
}

/// The scripts that clients send to servers of which a majority decides, by their digests.
pub(crate) fn texts() -> BTreeMap<String, String> {
    let redis = servers();
    for seed in 0..20 {
        Place::new(seed, &redis, Bent::Straight, Trace::OFF).run();
    }
    redis[0].texts()
}

fn replay(seed: u64) -> (Option<Broken>, String) {
    let place = Place::new(seed, &servers(), Bent::Straight, Trace::on());
    (place.run(), place.trace.lines())
}

#[test]
fn no_promise_breaks_over_several_servers() {
    let redis = servers();
    let fails = |seed: &u64| {
        let place = Place::new(*seed, &redis, Bent::Straight, Trace::OFF);
        place.run().is_some()
    };
    let (seeds, _) = seeds(SEEDS);
    let Some(seed) = seeds.clone().find(fails) else {
        println!("every promise over several servers held for the seeds {seeds:?}");
        return;
    };
    let (broken, trace) = replay(seed);
    let Broken(promise, what) = broken.expect("the same seed does the same");
    panic!(
        "{promise:?} does not hold: {what}\n\n{trace}\n\nseed {seed}; to see it again: cargo xtask sim --seeds 1 --from {seed}"
    );
}

#[test]
fn the_same_seed_does_the_same_over_several_servers() {
    for seed in 0..20 {
        assert_eq!(replay(seed).1, replay(seed).1, "seed {seed}");
    }
}
