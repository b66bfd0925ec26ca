//! The lock in a simulated world: virtual time, clocks that drift, and everything that can go wrong
//! on the way to Redis.
//!
//! The shipped client runs on a simulated host ([`host`]), and the shipped scripts run in real Lua
//! ([`lua`]) on a model of Redis ([`redis`]). Everything follows from one number, the seed. The
//! promises are checked after every step ([`check`]).
#![cfg(not(target_family = "wasm"))]

mod bridge;
mod case;
mod check;
mod crowds;
mod differential;
mod exact;
mod explore;
mod fate;
mod faults;
mod group;
mod hangups;
mod host;
mod limits;
mod lua;
mod network;
mod once;
mod paced;
#[expect(dead_code, reason = "`build.rs` reads the heads too")]
#[path = "../../../src/kind/parts.rs"]
mod parts;
mod quiet;
mod quorum;
mod read_write;
mod record;
mod redis;
mod reservations;
mod rng;
mod sabotage;
mod script;
mod seeds;
mod semaphore;
mod sets;
mod take_over;
mod trace;
mod unovertaken;
mod weights;
mod workload;
mod world;

use std::num::NonZero;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use case::Case;
use check::{Check, Violation};
use lua::Redis;
use sabotage::Bent;
use seeds::{each_does_the_same_again, seeds};
use trace::Trace;
use workload::Locks;

/// With that of the system, a sixth of a simulation's time went into allocation.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[test]
fn no_promise_breaks() {
    hold_for(Locks::Single, 3_000);
}

/// Checks that no promise breaks in worlds of such locks, of so many seeds if nobody asks for more.
#[track_caller]
fn hold_for(locks: Locks, by_default: u64) {
    let (seeds, is_asked) = seeds(by_default);
    hold_among(locks, seeds, is_asked);
}

/// Checks that none breaks in one world.
#[track_caller]
fn hold_with(locks: Locks, seed: u64) {
    hold_among(locks, seed..seed + 1, false);
}

#[track_caller]
fn hold_among(locks: Locks, seeds: Range<u64>, is_asked: bool) {
    let Some(seed) = first_failure(locks, seeds.clone(), is_asked) else {
        println!("every promise held for the seeds {seeds:?}");
        return;
    };
    let (violation, trace) = replay(locks, seed);
    let Violation { invariant, what } = violation.expect("the same seed does the same");
    panic!(
        "{invariant:?} does not hold: {what}\n\n{trace}\n\nseed {seed} of {locks:?}; to see it again: cargo xtask sim --seeds 1 --from {seed}"
    );
}

/// The lowest of `seeds` in which a promise breaks. The threads take turns.
fn first_failure(locks: Locks, seeds: Range<u64>, shows_progress: bool) -> Option<u64> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (done, failed) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let search = |thread: usize| {
        let redis = [Redis::default(), Redis::with_few()].map(Rc::new);
        for seed in seeds.clone().skip(thread).step_by(threads) {
            if failed.load(Relaxed) < seed {
                return;
            }
            let case = unbent(seed, &redis[few_in(seed)], Trace::OFF).among(locks);
            if case.run().is_some() {
                failed.fetch_min(seed, Relaxed);
            }
            let done = done.fetch_add(1, Relaxed) + 1;
            if shows_progress && done.is_multiple_of(2_000) {
                eprintln!("{done} of {} seeds", seeds.end - seeds.start);
            }
        }
    };
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn({
                let search = &search;
                move || search(thread)
            });
        }
    });
    Some(failed.into_inner()).filter(|seed| *seed != u64::MAX)
}

/// In every other world, few are a crowd.
const fn few_in(seed: u64) -> usize {
    (seed % 2) as usize
}

fn unbent(seed: u64, redis: &Rc<Redis>, trace: Trace) -> Rc<Case> {
    Case::new(seed, redis, Check::default(), Bent::Straight, trace)
}

/// The promise that breaks with `seed`, and the story up to there.
fn replay(locks: Locks, seed: u64) -> (Option<Violation>, String) {
    let redis = [Redis::default(), Redis::with_few()].map(Rc::new);
    let case = unbent(seed, &redis[few_in(seed)], Trace::on()).among(locks);
    let violation = case.run();
    (violation, case.trace.lines())
}

/// Otherwise no failure could be looked into.
#[test]
fn the_same_seed_does_the_same() {
    for locks in Locks::ALL {
        each_does_the_same_again(|seed, _| replay(locks, seed));
    }
}
