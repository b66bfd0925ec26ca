//! Worlds of read/write locks, of whom some are asked for as locks of that name: a writer is alone. And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RENEW, script_among};
use super::seeds::seeds;
use super::workload::Locks::ReadWrites;

const SEEDS: u64 = 6_000;

#[test]
fn no_promise_breaks() {
    super::hold_for(ReadWrites, seeds(SEEDS));
}

const FULL: &str =
    "return redis.call('EXISTS', NAME) > 0 and not (want == 'r' and says('readers'))";

#[test]
fn a_writer_that_does_not_see_readers() {
    let full = "return redis.call('EXISTS', NAME) > 0 and not says('readers')";
    script_among(ReadWrites, OneHolder, FULL, full);
}

#[test]
fn a_reader_that_does_not_see_the_writer() {
    let full = "return redis.call('EXISTS', NAME) > 0 and want ~= 'r'";
    script_among(ReadWrites, OneHolder, FULL, full);
}

#[test]
fn a_hand_over_though_others_have_it() {
    let room = "elseif is_full(want) then";
    script_among(ReadWrites, OneHolder, room, "elseif false then");
}

#[test]
fn a_name_that_lasts_as_long_as_who_came_last() {
    let longest = "local longest = math.max(redis.call('PTTL', NAME), ms)";
    script_among(ReadWrites, OneHolder, longest, "local longest = ms");
}

const LEAVE: &str =
    "if last then redis.call('PEXPIRE', NAME, last - NOW_MS) else redis.call('DEL', NAME) end";

#[test]
fn a_reader_that_frees_it_of_all() {
    script_among(ReadWrites, OneHolder, LEAVE, "redis.call('DEL', NAME)");
}

#[test]
fn a_last_reader_that_does_not_free_it() {
    let last = "if last then redis.call('PEXPIRE', NAME, last - NOW_MS) end";
    script_among(ReadWrites, HandedOver, LEAVE, last);
}

#[test]
fn a_downgrade_that_lets_a_writer_in_between() {
    script_among(
        ReadWrites,
        OneHolder,
        "extend(ms, true)",
        "redis.call('DEL', NAME) wake() extend(ms, true)",
    );
}

#[test]
fn a_downgrade_of_who_has_lost_it() {
    script_among(
        ReadWrites,
        OneHolder,
        "if not is_held() or is_another(fence) then return lost() end",
        "",
    );
}

#[test]
fn who_was_forced_out_and_counts_again() {
    script_among(
        ReadWrites,
        NoLateWrite,
        "local over = says('readers') and '(' .. whole(NOW_MS) or '+inf'",
        "local over = '(' .. whole(NOW_MS)",
    );
}

#[test]
fn a_renewal_that_reads_again() {
    let again = "if not is_held() then read(ARGV[2], ARGV[6]) end local fence, ttl = acquired()";
    script_among(ReadWrites, OneHolder, RENEW, again);
}

#[test]
fn a_reader_that_has_the_fence_of_the_last_one() {
    script_among(
        ReadWrites,
        FencesGrow,
        "if whose == token then return fence, ttl, label end",
        "return string.match(redis.call('GET', FENCE) or '', '^%d+'), ttl, label",
    );
}

#[test]
fn a_straggler_that_takes_it_again() {
    script_among(
        ReadWrites,
        NoGhost,
        "redis.call('EXISTS', GONE, RECEIPT) > 0",
        "redis.call('EXISTS', GONE) > 0",
    );
}

#[test]
fn who_went_down_and_stands_in_line_to_write() {
    script_among(
        ReadWrites,
        NoGhost,
        "if held and not reads and not writes then return { -1, ARGV[1] } end",
        "held = writes or reads and held",
    );
}

#[test]
fn a_release_that_wakes_nobody() {
    script_among(
        ReadWrites,
        HandedOver,
        "local function wake() pcall(hand_on) end",
        "local function wake() end",
    );
}

#[test]
fn holds_without_expiry() {
    script_among(
        ReadWrites,
        KeysExpire,
        "redis.call('PEXPIRE', HOLDS, longest)",
        "",
    );
}
