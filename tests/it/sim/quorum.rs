//! A lock over several servers, each of which fails by itself.
//!
//! Time, machines, Lua and the model of Redis are those of the worlds with one server. This is a
//! world of its own, since nothing is handed over or written here, and nobody queues. Any number of
//! servers may die, go mute, or come back empty. Then nobody may get the lock, but never do two
//! have it.

mod exact;
pub(crate) mod place;
mod sabotage;
pub(crate) mod votes;
mod wire;
mod workload;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::lua::Redis;
use super::sabotage::Bent;
use super::seeds::seeds;
use super::trace::Trace;
use place::{Broken, Place};

const SEEDS: u64 = 700;

/// As many servers as any case has.
fn servers() -> Vec<Rc<Redis>> {
    (0..5).map(|_| Rc::default()).collect()
}

/// The scripts that a quorum's clients send, by their digests.
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
