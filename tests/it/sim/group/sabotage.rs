//! Broken variants of shared turns. The simulation must catch each by the promise that it breaks.

use std::rc::Rc;

use crate::check::Invariant::{self, *};
use crate::lua::Redis;
use crate::sabotage::{Bent, bend, broken};
use crate::seeds;
use crate::trace::Trace;
use crate::workload::Locks;

use super::{Habit, run};

/// More seeds than any of them needs.
const SEEDS: u64 = 4_000;

/// The seed of a world that catches what no other of the first thousands does.
const RARE: [u64; 1] = [3_052];

#[track_caller]
fn caught(promise: Invariant, redis: &Rc<Redis>, bent: Bent, habit: Habit) {
    seeds::caught(promise, &RARE, SEEDS, |seed| {
        let (broken, _) = run(seed, redis, bent, habit, Trace::OFF);
        broken.is_some_and(|broken| broken.invariant == promise)
    });
}

/// Replaces `part` of some scripts by `by`.
#[track_caller]
fn script(promise: Invariant, part: &'static str, by: &'static str) {
    bend(part, by, |redis| caught(promise, &redis(), Bent::Straight, Habit::Sound));
}

#[test]
fn a_section_that_decides_each_item_alone() {
    caught(NotOversold, &Rc::default(), Bent::Straight, Habit::Forgetful);
}

#[test]
fn a_caller_that_takes_unknown_for_no() {
    caught(DecidedOnce, &Rc::default(), Bent::Straight, Habit::Rash);
}

#[test]
fn a_request_for_many_that_has_no_time_out() {
    caught(Answered, &Rc::default(), Bent::Patient, Habit::Sound);
}

broken! {
    Some(Locks::Single), script;
    a_commit_that_lands_when_its_turn_was_given_up: FencesGrow
        unseen "who commits in vain gives its token up, too: it takes more faults",
        "if not is_held() then return lost() end local is_over = is_another(acquired()) free() if is_over then reply = lost() else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }"
        => "free() if false then else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }";
    a_commit_that_does_not_know_its_repeat: Truth in "turns" for 2 with LostReply,
        "redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)"
        => "";
    a_turn_that_does_not_compare_what_it_reads: NotOversold in "turns-restocked" for 2,
        "found == ARGV[4] and left_us"
        => "left_us";
    a_turn_beside_a_holder: OfLock in "turns-entered" for 2,
        "if HOLDER or WAITERS ~= '' or redis.call('EXISTS', NAME) == 1 then"
        => "if false then";
    a_turn_of_a_lock_that_was_handed_over_and_does_not_compare: NotOversold
        unseen "turns stand in the queue only in a crowd",
        "if WENT or not is_right then"
        => "if WENT then";
    a_turn_that_does_not_know_its_repeat: Truth in "turns" for 2 with LostReply,
        "redis.call('SET', RECEIPT, table.concat({ 'ran', fence, results }, ' '), 'PX', RAN_MS)"
        => "";
}
