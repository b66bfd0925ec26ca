//! Worlds of work that is executed once: one result is kept, and all callers are told that one. And
//! broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RELEASE, RENEW, broken};

broken! {
    Onces;
    no_promise_breaks: 1_000 seeds;
    an_acquire_that_does_not_look_at_what_is_kept: ExecutedOnce in "once" for 2,
        "if kept and not (is_stale and (not HOLDER or HOLDER == ARGV[2])) then return { 2, ARGV[1], resp(kept) } end"
        => "";
    a_copy_that_is_made_anew_while_it_is_fresh: ExecutedOnce in "cached" for 2,
        "redis.call('PTTL', KEYS[6]) <= tonumber(ARGV[8])"
        => "true";
    a_copy_that_is_kept_from_the_others: ToldWhatIsKept in "cached" for 2,
        "not (is_stale and (not HOLDER or HOLDER == ARGV[2]))"
        => "not is_stale";
    a_result_that_is_stored_without_owner_check: ExecutedOnce
        unseen "no host stands still while its work goes on",
        RELEASE
        => "free() if false then else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }";
    a_release_that_stores_nothing: ToldWhatIsKept in "once" for 2,
        "reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }"
        => "reply = { 1, ARGV[1], '' }";
    a_result_that_is_stored_and_told_to_be_lost: ToldWhatIsKept in "once" for 2 with LostReply,
        "redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)"
        => "";
    a_result_that_is_given_to_a_caller_of_something_else: RightRequest in "prints" for 3,
        "mark ~= ARGV[7]"
        => "false";
    a_fingerprint_that_differs_from_none: RightRequest in "prints" for 2,
        "string.find(mark, '^once:') and string.find(ARGV[7], '^once:') and"
        => "(kept or HOLDER) and";
    an_end_of_the_work_that_nobody_is_told_of: HandedOver in "once" for 2,
        "if not HOLDER then redis.pcall('PUBLISH', KEYS[6], '0') end"
        => "";
    a_lock_that_stays_behind_the_work: HandedOver in "once" for 2,
        "local function free() redis.call('DEL', NAME) HOLDER = false end"
        => "local function free() HOLDER = false end";
    a_straggler_that_takes_the_lock_again: NoGhost in "failed" for 2 with Twice,
        "(WENT or DONE)"
        => "(WENT)";
    a_renewal_that_takes_the_lock_again: ExecutedOnce
        unseen "no host stands still while its work goes on",
        RENEW
        => "if not is_held() then redis.call('SET', NAME, ARGV[2], 'PX', ARGV[6]) end local fence, ttl = acquired()";
}
