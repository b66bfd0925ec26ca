//! Worlds of sets that have names in common, and of plain locks on each name. A name never has two
//! holders, and nobody ever has a part of a set. And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::broken;

broken! {
    Sets;
    no_promise_breaks: 800 seeds;
    // It takes the names that are free, and waits for the rest.
    a_name_that_is_taken_though_another_is_held: AllOrNone in "set" for 2,
        "if at == taken then"
        => "if not HOLDER then redis.call('SET', NAME, ARGV[2], 'PX', ARGV[3]) end if at == taken then";
    looking_at_the_first_name_only: OneHolder in "set" for 2,
        "if HOLDER then ms, label ="
        => "if HOLDER and at == 1 then ms, label =";
    a_release_that_hands_one_name_to_a_waiter_for_several: AllOrNone in "set-queue" for 2,
        "if want ~= '' and want ~= 'r' then"
        => "if false then";
    a_release_of_the_first_name_only: AllOrNone in "set" for 2,
        "redis.call('DEL', unpack(mine))"
        => "redis.call('DEL', mine[1])";
    a_renewal_of_the_first_name_only: AllOrNone in "set" for 2 with Expiry Expiry,
        "each(function() left = math.max(left, extend_one(ms)) end)"
        => "left = extend_one(ms)";
    one_name_is_taken_for_all: NoLateWrite in "set-forced" for 3,
        "local function is_held() return #mine == #states end"
        => "local function is_held() return HOLDER == ARGV[2] end";
    a_fence_that_is_higher_than_the_last_of_the_first_name_only: FencesGrow in "set" for 2,
        "each(function() fence = math.max(fence, next_fence()) end)"
        => "fence = next_fence()";
    a_straggler_that_takes_them_again: NoGhost in "set" for 2 with Twice,
        "if has_part or WENT or DONE then"
        => "if has_part or WENT then";
    a_holder_that_stays_in_a_queue: NoGhost in "set-queue" for 2,
        "each(function() remove_waiter(WAITER) end) local fence ="
        => "remove_waiter(WAITER) local fence =";
    giving_up_and_staying_in_a_queue: NoGhost unseen "nobody gives up while others want the same",
        "each(function() pcall(remove_from_one, waiter) end)"
        => "remove_from_one(waiter)";
    names_that_never_end: NextWaiterHolds in "set" for 2,
        "redis.call('SET', NAME, ARGV[2], 'NX', 'PX', ARGV[3])"
        => "redis.call('SET', NAME, ARGV[2], 'NX', 'PX', FENCE_MS)";
}
