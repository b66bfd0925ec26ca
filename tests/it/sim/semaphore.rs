//! Worlds of semaphores: there are never more permits than allowed. And broken variants that must
//! be caught.

use super::check::Invariant::*;
use super::sabotage::{RELEASE, RENEW, broken};
use super::workload::Locks::Semaphores;

/// In the only broken one of 1,050,000 worlds, a waiter was handed a permit by a message that was
/// late. It asked when the permit was over and the clock was set back, and heard the message after
/// that.
#[test]
fn a_hand_over_from_before_is_not_taken_for_a_new_one_though_the_clock_is_set_back() {
    super::hold_with(Semaphores, 171_968_638_999);
}

const ADD: &str = "redis.call('ZADD', HOLDERS, integer(till[token]), token) keep_all(life)";

broken! {
    Semaphores;
    no_promise_breaks: 1_000 seeds;
    one_permit_too_many: OneHolder in "semaphore" for 3,
        "return is_theirs or free <= 0"
        => "return is_theirs or free < 0";
    a_permit_that_is_handed_on_though_there_is_none: OneHolder in "permit-queue" for 3,
        "elseif is_full(want) then break elseif"
        => "elseif";
    // It leaves its place twice, and a place that another has is handed on.
    a_release_without_owner_check: NoLateWrite in "permit-resumed" for 2 with Expiry Expiry,
        RELEASE
        => "free() if false then else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }";
    a_renewal_that_takes_a_permit_again: OneHolder in "permit-resumed" for 2 with Expiry Expiry,
        RENEW
        => "if not is_held() then till[ARGV[2]] = 0 end local fence, ttl = acquired()";
    a_late_renewal_that_cuts_what_a_later_one_gave: OneHolder
        in "permit-prolonged" for 2 with Late Expiry Expiry,
        "math.max(till[token] or 0, now_ms() + ms)"
        => "now_ms() + ms";
    a_short_permit_that_cuts_a_long_one: OneHolder in "permit-ttls" for 2 with Expiry,
        "redis.call('PEXPIRE', HOLDERS, life)"
        => "redis.call('PEXPIRE', HOLDERS, integer(till[ARGV[2]] - now_ms()))";
    a_permit_that_never_ends: NextWaiterHolds in "semaphore" for 3,
        "earliest = now_ms() + ms, true"
        => "earliest = now_ms() + FENCE_MS, true";
    a_permit_with_the_fence_of_the_last_one: FencesGrow in "semaphore" for 2 with LostReply,
        "local function acquired() return hold_of(ARGV[2]) end"
        => "local function acquired() return LAST, 300 end";
    a_release_that_wakes_nobody: HandedOver in "permit-queue" for 2,
        "pcall(hand_over)"
        => "";
    a_hand_over_to_a_deaf_waiter: HandedOver
        unseen "it only costs time: who is handed it finds it by asking",
        "if channel ~= '' and listens(channel) then"
        => "if channel ~= '' then";
    a_straggler_that_takes_a_permit_again: NoGhost in "semaphore" for 2 with Twice,
        "if WENT or DONE then"
        => "if WENT then";
    a_holder_that_stays_in_the_queue: NoGhost in "permit-queue" for 2,
        "remove_waiter(WAITER) if fence then"
        => "if fence then";
    permits_without_expiry: KeysExpire in "semaphore" for 2,
        ADD
        => "redis.call('ZADD', HOLDERS, integer(till[token]), token)";
}
