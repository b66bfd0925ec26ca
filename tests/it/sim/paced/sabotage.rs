//! Broken variants of throttles and debounces. The simulation must catch each by the promise that
//! it breaks.

use super::run;
use crate::check::Invariant::{self, *};
use crate::sabotage::{Bent, bend, broken};
use crate::seeds;
use crate::trace::Trace;

/// More seeds than any of them needs.
const SEEDS: u64 = 6_000;

/// The seed of a world that catches what no other of the first thousands does.
const RARE: [u64; 1] = [3_782];

/// Replaces `part` of some scripts by `by`.
#[track_caller]
fn caught(promise: Invariant, part: &'static str, by: &'static str) {
    caught_in(Bent::Straight, promise, part, by);
}

#[track_caller]
fn caught_in(bent: Bent, promise: Invariant, part: &'static str, by: &'static str) {
    bend(part, by, |redis| {
        let redis = redis();
        seeds::caught(promise, &RARE, SEEDS, |seed| {
            let (broken, _) = run(seed, &redis, bent, Trace::OFF);
            broken.is_some_and(|broken| broken.invariant == promise)
        });
    });
}

const WINDOW: &str = "redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3])";
const OPENED: &str = "if passed then redis.call('DEL', KEYS[1]) end";
const OVERTAKEN: &str = "if tonumber(at) > NOW_MS and is_told == '' then goes_on = true elseif";
const ENDS: &str =
    "local ends = math.min(goes_on and tonumber(ENDS) or math.huge, NOW_MS + ARGV[4])";

broken! {
    None, caught;
    a_pass_that_does_not_look_at_the_window: OnePasses in "throttle" for 2,
        "if last then"
        => "if last and redis.call('DEL', KEYS[1]) == 0 then";
    a_window_that_ends_with_its_first_half: OnePasses in "throttle" for 2 with LostRequest,
        WINDOW
        => "redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', math.floor(ARGV[3] / 2) + 1)";
    a_window_without_expiry: KeysExpire in "throttle" for 2,
        WINDOW
        => "redis.call('SET', KEYS[1], ARGV[2], 'NX')";
    a_window_that_each_refusal_makes_longer: Opens in "throttle" for 2 with LostRequest LostRequest,
        "if last then"
        => "if last then redis.call('PEXPIRE', KEYS[1], ARGV[3])";
    a_pass_without_receipt: ToldRight in "throttle" for 2 with LostReply,
        "redis.call('SET', KEYS[2], '1', 'PX', RECEIPT_MS)"
        => "";
    a_call_that_gives_back_what_another_has: OnePasses
        in "throttle" for 2 with LostRequest LostRequest,
        OPENED
        => "redis.call('DEL', KEYS[1])";
    a_call_that_is_given_up_and_keeps_its_window: Opens
        in "throttle" for 2 with LostReply LostReply,
        OPENED
        => "";
    a_call_that_is_given_up_and_forgotten: NoGhost in "throttle" for 2 with Late LostRequest,
        "redis.call('SET', KEYS[2], '-1', 'PX', GONE_MS)"
        => "";
    a_call_that_overtakes_nobody: LastGoes in "debounce" for 2,
        OVERTAKEN
        => "if tonumber(at) > NOW_MS then goes_on = true end if";
    a_call_that_overtakes_those_whose_time_has_come: NobodyLost
        in "debounce" for 2 with Late Expiry,
        OVERTAKEN
        => "if tonumber(at) > NOW_MS then goes_on = true elseif false and";
    a_burst_that_each_call_makes_longer: InTime in "debounce" for 2 with LostRequest,
        ENDS
        => "local ends = NOW_MS + ARGV[4]";
    a_burst_that_a_clock_set_back_makes_longer: InTime unseen "no clock is set back",
        ENDS
        => "local ends = goes_on and tonumber(ENDS) or NOW_MS + ARGV[4]";
    a_repeat_that_a_clock_set_back_keeps_waiting: InTime unseen "no clock is set back",
        "math.min(math.max(at - NOW_MS, 0), ARGV[3])"
        => "math.max(at - NOW_MS, 0)";
    a_call_that_a_clock_set_back_keeps_waiting: Answered unseen "no clock is set back",
        "if at > NOW_MS and ARGV[3] ~= '1' then"
        => "if at > NOW_MS then";
    a_burst_without_an_end: InTime in "debounce" for 2 with LostRequest,
        "local at = math.min(NOW_MS + ARGV[3], ends)"
        => "local at = NOW_MS + ARGV[3]";
    a_call_that_goes_through_before_its_time: InTime
        unseen "no host's clock runs faster than Redis's, so nobody asks too early",
        "if at > NOW_MS and ARGV[3] ~= '1' then return { 2, ARGV[1], at - NOW_MS } end"
        => "";
}

#[test]
fn a_repeat_that_arrives_again() {
    caught_in(Bent::Doubled, InTime, "if BEFORE then", "if BEFORE and false then");
}
