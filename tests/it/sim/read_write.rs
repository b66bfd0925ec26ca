//! Worlds of read/write locks, some of which are also asked for as plain locks: a writer is always
//! alone. And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::{RENEW, broken};

const FULL: &str = "return HOLDER and not (want == 'r' and says('readers'))";

const LEAVE: &str = "local life = says('readers') and last_end() or '0' if life ~= '0' then redis.call('PEXPIRE', NAME, life) else redis.call('DEL', NAME) HOLDER = false end";

broken! {
    ReadWrites;
    no_promise_breaks: 1_000 seeds;
    a_writer_that_does_not_see_readers: OneHolder in "read-write" for 2,
        FULL
        => "return HOLDER and not says('readers')";
    a_reader_that_does_not_see_the_writer: OneHolder in "read-write" for 2,
        FULL
        => "return HOLDER and want ~= 'r'";
    a_hand_over_though_others_have_it: OneHolder in "readers-queue" for 3 with Expiry,
        "elseif is_full(want) then break elseif"
        => "elseif";
    a_name_that_lasts_as_long_as_its_last_reader: OneHolder
        in "reader-ttls" for 2 with Expiry Expiry,
        "if reads and says('readers') then store() redis.call('PEXPIRE', NAME, last_end())"
        => "if reads and says('readers') then store() redis.call('PEXPIRE', NAME, ms)";
    a_reader_that_frees_it_of_all: OneHolder in "read-write" for 3,
        LEAVE
        => "redis.call('DEL', NAME) HOLDER = false";
    a_last_reader_that_does_not_free_it: HandedOver in "read-write-queue" for 2,
        LEAVE
        => "local life = says('readers') and last_end() or '0' if life ~= '0' then redis.call('PEXPIRE', NAME, life) end";
    a_downgrade_that_lets_a_writer_in_between: OneHolder in "downgrade-queue" for 2,
        "local left = extend(ms, true)"
        => "redis.call('DEL', NAME) HOLDER = false if WAITERS ~= '' then pcall(hand_over) end local left = extend(ms, true)";
    a_downgrade_of_a_lost_writer: OneHolder in "read-write" for 2 with Twice,
        "if not is_held() or is_another(fence) then return lost() end"
        => "";
    counting_again_though_forced_out: NoLateWrite in "forced" for 3,
        "local IS_SHARED = says('readers')"
        => "local IS_SHARED = true";
    a_renewal_that_reads_again: OneHolder in "read-write" for 2 with Twice,
        RENEW
        => "if not is_held() then till[ARGV[2]] = 0 end local fence, ttl = acquired()";
    a_reader_that_has_the_fence_of_the_last_one: FencesGrow in "read-write" for 3 with LostReply,
        "local function acquired() return hold_of(ARGV[2]) end"
        => "local function acquired() return LAST, 300 end";
    a_straggler_that_takes_it_again: NoGhost in "read-write" for 2 with Twice,
        "if WENT or DONE then"
        => "if WENT then";
    standing_in_line_to_write_though_gone_down: NoGhost
        unseen "no waiter polls, and so none is handed what it did not hear of",
        "if held and not reads and not writes then return { -1, ARGV[1] } end"
        => "held = writes or reads and held";
    a_release_that_wakes_nobody: HandedOver in "read-write-queue" for 2,
        "pcall(hand_over)"
        => "";
    a_name_without_expiry: KeysExpire in "read-write" for 2,
        "redis.call('SET', NAME, token, 'NX', 'PX', ms)"
        => "redis.call('SET', NAME, token, 'NX')";
}
