//! Worlds of sets that have names in common, and of plain locks on each name. A name never has two
//! holders, and nobody ever has a part of a set. And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::broken;
use super::seeds::seeds;
use super::workload::Locks;

const SEEDS: u64 = 6_000;

#[test]
fn no_promise_breaks() {
    super::hold_for(Locks::Sets, seeds(SEEDS));
}

const TAKE: &str =
    "if held then prolong(NAME, ARGV[3]) else redis.call('SET', NAME, ARGV[2], 'PX', ARGV[3]) end";

broken! {
    Sets;
    // It takes the names that are free, and waits for the rest.
    a_name_that_is_taken_though_another_is_held: AllOrNone,
        "if at == taken then"
        => "if redis.call('EXISTS', NAME) == 0 then redis.call('SET', NAME, ARGV[2], 'PX', ARGV[3]) end if at == taken then";
    looking_at_the_first_name_only: OneHolder,
        "if holder then ms, label ="
        => "if holder and at == 1 then ms, label =";
    a_release_that_hands_one_name_to_a_waiter_for_several: AllOrNone,
        "if want ~= '' and want ~= 'r' then return redis.pcall('PUBLISH', channel, '0') end"
        => "";
    a_release_of_the_first_name_only: AllOrNone,
        "if redis.pcall('GET', NAME) == ARGV[2] then redis.call('DEL', NAME) end"
        => "if redis.pcall('GET', NAME) == ARGV[2] then redis.call('DEL', NAME) return true end";
    a_renewal_of_the_first_name_only: AllOrNone,
        "each(function() extend_one(ms) end)"
        => "extend_one(ms)";
    one_name_is_taken_for_all: NoLateWrite,
        "return not each(function() return redis.pcall('GET', NAME) ~= ARGV[2] end)"
        => "return redis.pcall('GET', NAME) == ARGV[2]";
    a_fence_that_is_higher_than_the_last_of_the_first_name_only: FencesGrow,
        "each(function() fence = math.max(fence, next_fence()) end)"
        => "fence = next_fence()";
    a_straggler_that_takes_them_again: NoGhost,
        "redis.call('EXISTS', GONE, RECEIPT) > 0"
        => "redis.call('EXISTS', GONE) > 0";
    a_holder_that_stays_in_a_queue: NoGhost,
        "if WAITER ~= '' then each(function() remove_waiter(WAITER) end) end"
        => "if WAITER ~= '' then remove_waiter(WAITER) end";
    giving_up_and_staying_in_a_queue: NoGhost,
        "each(function() remove_from_one(waiter) end)"
        => "remove_from_one(waiter)";
    names_that_never_end: NextWaiterHolds,
        TAKE
        => "if held then prolong(NAME, ARGV[3]) else redis.call('SET', NAME, ARGV[2], 'PX', FENCE_MS) end";
}
