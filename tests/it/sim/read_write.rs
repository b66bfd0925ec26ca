//! Worlds of read/write locks, some of which are also asked for as plain locks: a writer is always
//! alone. And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RENEW, broken};
use super::seeds::seeds;
use super::workload::Locks::ReadWrites;

const SEEDS: u64 = 6_000;

#[test]
fn no_promise_breaks() {
    super::hold_for(ReadWrites, seeds(SEEDS));
}

const FULL: &str =
    "return redis.call('EXISTS', NAME) > 0 and not (want == 'r' and says('readers'))";

const LEAVE: &str =
    "if last then redis.call('PEXPIRE', NAME, last - NOW_MS) else redis.call('DEL', NAME) end";

broken! {
    ReadWrites;
    a_writer_that_does_not_see_readers: OneHolder,
        FULL
        => "return redis.call('EXISTS', NAME) > 0 and not says('readers')";
    a_reader_that_does_not_see_the_writer: OneHolder,
        FULL
        => "return redis.call('EXISTS', NAME) > 0 and want ~= 'r'";
    a_hand_over_though_others_have_it: OneHolder,
        "elseif is_full(want) then"
        => "elseif false then";
    a_name_that_lasts_as_long_as_its_last_reader: OneHolder,
        "local life = math.max(redis.call('PTTL', NAME), ms)"
        => "local life = ms";
    a_reader_that_frees_it_of_all: OneHolder,
        LEAVE
        => "redis.call('DEL', NAME)";
    a_last_reader_that_does_not_free_it: HandedOver,
        LEAVE
        => "if last then redis.call('PEXPIRE', NAME, last - NOW_MS) end";
    a_downgrade_that_lets_a_writer_in_between: OneHolder,
        "extend(ms, true)"
        => "redis.call('DEL', NAME) notify() extend(ms, true)";
    a_downgrade_of_a_lost_writer: OneHolder,
        "if not is_held() or is_another(fence) then return lost() end"
        => "";
    counting_again_though_forced_out: NoLateWrite,
        "local over = says('readers') and '(' .. integer(NOW_MS) or '+inf'"
        => "local over = '(' .. integer(NOW_MS)";
    a_renewal_that_reads_again: OneHolder,
        RENEW
        => "if not is_held() then read(ARGV[2], ARGV[6]) end local fence, ttl = acquired()";
    a_reader_that_has_the_fence_of_the_last_one: FencesGrow,
        "if whose == token then return fence, ttl, label end"
        => "return string.match(redis.call('GET', FENCE) or '', '^%d+'), ttl, label";
    a_straggler_that_takes_it_again: NoGhost,
        "redis.call('EXISTS', GONE, RECEIPT) > 0"
        => "redis.call('EXISTS', GONE) > 0";
    standing_in_line_to_write_though_gone_down: NoGhost,
        "if held and not reads and not writes then return { -1, ARGV[1] } end"
        => "held = writes or reads and held";
    a_release_that_wakes_nobody: HandedOver,
        "local function notify() pcall(hand_on) end"
        => "local function notify() end";
    holds_without_expiry: KeysExpire,
        "redis.call('PEXPIRE', HOLDS, life)"
        => "";
}
