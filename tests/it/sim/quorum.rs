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

use super::check::Violation;
use super::lua::Redis;
use super::sabotage::Bent;
use super::seeds::{each_does_the_same_again, nothing_breaks};
use super::trace::Trace;
use place::Place;

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

fn run(seed: u64, servers: &[Rc<Redis>], bent: Bent, trace: Trace) -> (Option<Violation>, String) {
    let place = Place::new(seed, servers, bent, trace);
    (place.run(), place.trace.lines())
}

#[test]
fn no_promise_breaks_over_several_servers() {
    let redis = servers();
    nothing_breaks("over several servers", SEEDS, |seed, trace| {
        run(seed, &redis, Bent::Straight, trace)
    });
}

#[test]
fn the_same_seed_does_the_same_over_several_servers() {
    each_does_the_same_again(|seed, trace| run(seed, &servers(), Bent::Straight, trace));
}
