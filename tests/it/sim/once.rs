//! Worlds of work that is executed once: what is kept is of one, and all are told of that; and broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RELEASE, script_among};
use super::seeds::seeds;
use super::workload::Locks::Onces;

const SEEDS: u64 = 6_000;

#[test]
fn no_promise_breaks() {
    super::hold_for(Onces, seeds(SEEDS));
}

#[test]
fn an_acquire_that_does_not_look_at_what_is_kept() {
    let kept = "if kept then return { 2, ARGV[1], resp(kept) } end";
    script_among(Onces, ExecutedOnce, kept, "");
}

#[test]
fn a_result_that_is_stored_without_owner_check() {
    script_among(Onces, ExecutedOnce, RELEASE, "local results = run(6)");
}

#[test]
fn a_release_that_stores_nothing() {
    script_among(
        Onces,
        ToldWhatIsKept,
        "local results = run(6)",
        "local results = ''",
    );
}

#[test]
fn a_result_that_is_stored_and_told_to_be_lost() {
    let left = "redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)";
    script_among(Onces, ToldWhatIsKept, left, "");
}

#[test]
fn a_result_that_is_given_to_who_asks_for_something_else() {
    script_among(Onces, RightRequest, "mark ~= ARGV[7]", "false");
}

#[test]
fn a_fingerprint_that_differs_from_none() {
    let both = "string.find(mark, '^once:') and string.find(ARGV[7], '^once:') and";
    script_among(Onces, RightRequest, both, "(kept or label) and");
}

#[test]
fn an_end_of_the_work_that_nobody_is_told_of() {
    script_among(
        Onces,
        HandedOver,
        "local function wake() redis.pcall('PUBLISH', KEYS[7], '0') end",
        "local function wake() end",
    );
}

#[test]
fn a_lock_that_stays_behind_the_work() {
    script_among(
        Onces,
        HandedOver,
        "local function wipe() redis.call('DEL', NAME) wake() end local free = wipe",
        "local function wipe() wake() end local free = wipe",
    );
}

#[test]
fn a_straggler_that_takes_the_lock_again() {
    script_among(
        Onces,
        NoGhost,
        "redis.call('EXISTS', GONE, RECEIPT) > 0",
        "redis.call('EXISTS', GONE) > 0",
    );
}

#[test]
fn a_renewal_that_takes_the_lock_again() {
    let again = "if not is_held() then redis.call('SET', NAME, ARGV[2], 'PX', ARGV[6]) end local fence, ttl = acquired()";
    script_among(Onces, ExecutedOnce, super::sabotage::RENEW, again);
}
