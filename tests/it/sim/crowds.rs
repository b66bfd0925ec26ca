//! Broken variants that only a crowd of waiters or of holders shows. In these worlds two are one.

use super::check::Invariant::*;
use super::sabotage::{crowd_among, each_caught};
use super::workload::Locks::*;

each_caught! {
    |(locks, promise), part, by| crowd_among(locks, promise, part, by);
    a_waiter_that_leaves_the_record_only: (Single, NoGhost),
        "elseif waiter ~= '' and others_wait() then redis.call('ZREM', QUEUE, waiter, '+' .. waiter) end"
        => "end";
    a_waiter_that_is_taken_in_and_stays: (Single, NoGhost),
        "if #gone > 0 then redis.call('ZREM', QUEUE, unpack(gone)) end"
        => "";
    a_crowd_that_the_record_does_not_know_of: (Single, HandedOver),
        "if not others_wait() then WAITERS = WAITERS .. '+' end"
        => "";
    a_hold_that_makes_room_and_is_forgotten: (Semaphores, FencesGrow),
        "redis.call('HSET', MORE, whose, table.concat({ fence, its_ttl, its_label, its_weight ~= '0' and its_weight or nil }, ' '))"
        => "";
    permits_of_which_the_first_ones_count: (Semaphores, OneHolder),
        "free = free - redis.call('ZCOUNT', HOLDERS, integer(now_ms()), '+inf')"
        => "for _ in pairs(till) do free = free - 1 end";
}
