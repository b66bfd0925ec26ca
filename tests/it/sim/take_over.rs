//! Worlds of locks that are taken over from their holders. And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RELEASE, RENEW, each_caught, script_among};
use super::workload::Locks::TakeOvers;

#[test]
fn no_promise_breaks() {
    super::hold_for(TakeOvers, 1_500);
}

each_caught! {
    |promise, part, by| script_among(TakeOvers, promise, part, by);
    a_late_copy_that_takes_the_lock_back: NoGhost,
        "redis.call('SET', GONE, '', 'PX', 60000) return { 1, ARGV[1], fence, run(10) }"
        => "return { 1, ARGV[1], fence, run(10) }";
    a_take_over_with_the_old_fence: FencesGrow,
        "'XX', 'PX', ARGV[3]) store()"
        => "'XX', 'PX', ARGV[3]) fence = hold_of(HOLDER)";
    a_repeat_that_takes_over_itself: FencesGrow,
        "local fence = mine and hold_of(ARGV[2]) local function store()"
        => "is_taken = HOLDER local fence local function store()";
    an_old_holder_that_frees_the_lock_of_the_new_one: OneHolder,
        RELEASE
        => "free() if false then else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }";
    an_old_holder_that_renews_the_lock_of_the_new_one: NoLateWrite,
        RENEW
        => "local fence, ttl = acquired()";
    a_take_over_without_expiry: KeysExpire,
        "redis.call('SET', NAME, ARGV[2], 'XX', 'PX', ARGV[3])"
        => "redis.call('SET', NAME, ARGV[2], 'XX')";
    a_take_over_for_what_the_old_holder_had_left: OneHolder,
        "'XX', 'PX', ARGV[3]) store()"
        => "'XX', 'PX', redis.call('PTTL', NAME)) store()";
}
