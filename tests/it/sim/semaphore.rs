//! Worlds of semaphores: never more than there are permits, and broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RELEASE, RENEW, script_among};
use super::seeds::seeds;
use super::workload::Locks::Semaphores;

const SEEDS: u64 = 6_000;

#[test]
fn no_promise_breaks() {
    super::hold_for(Semaphores, seeds(SEEDS));
}

#[test]
fn one_permit_too_many() {
    script_among(
        Semaphores,
        OneHolder,
        ">= tonumber(permits)",
        "> tonumber(permits)",
    );
}

#[test]
fn a_permit_that_is_handed_on_though_there_is_none() {
    script_among(
        Semaphores,
        OneHolder,
        "elseif is_full(want) then",
        "elseif false then",
    );
}

#[test]
fn a_release_without_owner_check() {
    // It leaves its place twice, and somebody else's is handed on.
    let results = "local results = run(6)";
    script_among(Semaphores, NoLateWrite, RELEASE, results);
}

#[test]
fn a_renewal_that_takes_a_permit_again() {
    let again = "if not is_held() then stay(ARGV[2], ARGV[6]) end local fence, ttl = acquired()";
    script_among(Semaphores, OneHolder, RENEW, again);
}

#[test]
fn a_late_renewal_that_cuts_what_a_later_one_gave() {
    script_among(
        Semaphores,
        OneHolder,
        "math.max(redis.call('ZSCORE', HOLDERS, ARGV[2]) - NOW_MS, ms)",
        "ms",
    );
}

#[test]
fn a_short_permit_that_cuts_a_long_one() {
    script_among(
        Semaphores,
        OneHolder,
        "prolong(HOLDERS, ms)",
        "redis.call('PEXPIRE', HOLDERS, ms)",
    );
}

#[test]
fn a_permit_that_never_ends() {
    script_among(
        Semaphores,
        NextWaiterHolds,
        "redis.call('ZADD', HOLDERS, whole(NOW_MS + ms), token)",
        "redis.call('ZADD', HOLDERS, whole(NOW_MS + FENCE_MS), token)",
    );
}

#[test]
fn a_permit_with_the_fence_of_the_last_one() {
    script_among(
        Semaphores,
        FencesGrow,
        "redis.call('HGET', HOLDS, token) or ''",
        "(string.gsub(redis.call('GET', FENCE) or '', '^(%d+) %S+ %d+', '%1'))",
    );
}

#[test]
fn a_release_that_wakes_nobody() {
    script_among(
        Semaphores,
        HandedOver,
        "local function wake() pcall(hand_on) end",
        "local function wake() end",
    );
}

#[test]
fn a_hand_over_to_who_does_not_hear() {
    script_among(
        Semaphores,
        HandedOver,
        "if channel ~= '' and listens(channel) then",
        "if channel ~= '' then",
    );
}

#[test]
fn a_straggler_that_takes_a_permit_again() {
    script_among(
        Semaphores,
        NoGhost,
        "redis.call('EXISTS', GONE, RECEIPT) > 0",
        "redis.call('EXISTS', GONE) > 0",
    );
}

#[test]
fn a_holder_that_stays_in_the_queue() {
    script_among(
        Semaphores,
        NoGhost,
        "if WAITER ~= '' then bury(WAITER) end",
        "",
    );
}

#[test]
fn holds_without_expiry() {
    script_among(Semaphores, KeysExpire, "prolong(HOLDS, ms)", "");
}
