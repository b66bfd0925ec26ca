//! Broken variants of shared turns. The simulation must catch each by the promise that it breaks.

use std::cell::Cell;
use std::rc::Rc;

use crate::lua::Redis;
use crate::sabotage::Bent;
use crate::script;
use crate::trace::Trace;

use super::books::Promise::{self, *};
use super::{Broken, Habit, run};

/// More seeds than any of them needs.
const SEEDS: u64 = 4_000;

#[track_caller]
fn caught(promise: Promise, redis: Redis, bent: Bent, habit: Habit) {
    let redis = Rc::new(redis);
    let breaks = |seed: &u64| {
        let broken = run(*seed, &redis, bent, habit, Trace::OFF);
        broken.is_some_and(|Broken(which, _)| which == promise)
    };
    let seed = (0..SEEDS).find(breaks);
    println!("caught by {promise:?} with seed {seed:?}");
    assert!(seed.is_some(), "{promise:?} held for {SEEDS} seeds");
}

/// Replaces `part` of some scripts by `by`.
#[track_caller]
fn script(promise: Promise, part: &'static str, by: &'static str) {
    let replaced = Rc::new(Cell::new(false));
    let redis = {
        let replaced = replaced.clone();
        Redis::new(Box::new(move |text| {
            let (text, count) = script::replaced(text, part, by);
            replaced.set(replaced.get() || count > 0);
            text
        }))
    };
    caught(promise, redis, Bent::Straight, Habit::Sound);
    assert!(replaced.get(), "no script has {part}");
}

#[test]
fn a_section_that_decides_each_item_alone() {
    caught(
        NotOversold,
        Redis::default(),
        Bent::Straight,
        Habit::Forgetful,
    );
}

#[test]
fn a_caller_that_takes_unknown_for_no() {
    caught(DecidedOnce, Redis::default(), Bent::Straight, Habit::Rash);
}

#[test]
fn a_commit_that_lands_when_its_turn_was_given_up() {
    const RELEASE: &str = "if not is_held() then return lost() end local is_over = is_another(acquired()) free() if is_over then reply = lost() else reply = { 1, ARGV[1], run(6) }";
    script(
        FencesGrow,
        RELEASE,
        "free() if false then else reply = { 1, ARGV[1], run(6) }",
    );
}

#[test]
fn a_commit_that_does_not_know_its_repeat() {
    let left = "redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)";
    script(Truth, left, "");
}

#[test]
fn a_request_for_many_that_has_no_time_out() {
    caught(Answered, Redis::default(), Bent::Patient, Habit::Sound);
}

// Turns without the lock: `turn.lua`.

#[test]
fn a_turn_that_does_not_compare_what_it_reads() {
    script(NotOversold, "found == ARGV[4] and left_us", "left_us");
}

#[test]
fn a_turn_beside_a_holder() {
    let held = "if HOLDER or WAITERS ~= '' or redis.call('EXISTS', NAME) == 1 then";
    script(OfLock, held, "if false then");
}

#[test]
fn a_turn_that_does_not_know_its_repeat() {
    let left = "redis.call('SET', RECEIPT, table.concat({ 'ran', fence, results }, ' '), 'PX', RECEIPT_MS)";
    script(Truth, left, "");
}
