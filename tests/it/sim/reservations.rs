//! Worlds of units that are reserved and confirmed: no unit is confirmed twice, and none gets lost.
//! And broken variants that must be caught.

use super::check::Invariant::*;
use super::sabotage::broken;
use super::workload::Locks::Reservations;

/// In this world Redis's clock was set back, and what an owner had reserved before was there again,
/// although all reservations had ended.
#[test]
fn what_an_owner_had_is_forgotten_with_the_last_reservation() {
    super::hold_with(Reservations, 682_160_061_769);
}

broken! {
    Reservations;
    no_promise_breaks: 1_000 seeds;
    a_confirmation_that_counts_nothing: SoldOnce in "reserved" for 2,
        "redis.call('INCRBY', CONFIRMED, units)"
        => "";
    a_confirmation_that_counts_several_units_as_one: SoldOnce in "reserved-heavy" for 2,
        "redis.call('INCRBY', CONFIRMED, units)"
        => "redis.call('INCR', CONFIRMED)";
    a_release_that_confirms: SoldOnce in "reserved-again" for 2,
        "NUMBER < LAST_NUMBER and"
        => "";
    a_confirmed_unit_that_is_sold_again: SoldOnce in "reserved" for 2,
        "permits_in(ARGV[8]) - confirmed()"
        => "permits_in(ARGV[8])";
    a_confirmation_behind_its_deadline: NoLateWrite
        unseen "no host's clock runs slower than Redis's, so nobody sends it too late",
        "if ends >= now_ms() then till[token] = ends else"
        => "if ends >= now_ms() or ARGV[3] == '' or ARGV[4] and not tonumber(ARGV[3]) then till[token] = ends else";
    a_confirmation_of_what_is_not_held: SoldOnce in "reserved" for 2 with Expiry,
        "if not is_held() then return lost() end local is_over"
        => "if not is_held() then redis.call('INCRBY', KEYS[7], 1) return lost() end local is_over";
    a_repeat_that_is_counted_again: SoldOnce in "reserved" for 2 with LostReply,
        "local reply = replay() if reply then return reply end if not is_held() then return lost() end local is_over"
        => "local reply = replay() if reply then redis.call('INCRBY', KEYS[7], 1) return reply end if not is_held() then return lost() end local is_over";
    a_confirmation_that_is_forgotten: ToldRight in "reserved" for 2,
        "if WENT == 'confirmed' then"
        => "if false then";
    a_token_that_is_said_to_be_confirmed_and_was_given_back: ToldRight
        unseen "nobody confirms what it gave back",
        "if WENT == 'confirmed' then"
        => "if DONE or WENT then WENT = 'confirmed'";
    an_owner_whose_units_nobody_counts: SoldOnce in "reserved-again" for 2,
        "count_for(ARGV[7], units)"
        => "";
    an_owner_whose_units_count_for_ever: SoldOnce in "reserved-again" for 3,
        "if end_hold(token) == 1 and owner then pcall(count_for, owner, -units) end"
        => "end_hold(token)";
    an_owner_who_is_forgotten_while_its_units_are_renewed: SoldOnce
        in "reserved-again" for 2 with Expiry Expiry,
        "local left = keep_up(token, ms) keep_counts()"
        => "local left = keep_up(token, ms)";
    a_commit_that_gives_nothing_back: SoldOnce in "reserved" for 2,
        "give_back() if units then"
        => "if units then";
    a_reservation_that_never_falls_back: NextWaiterHolds in "reserved" for 2,
        "earliest = now_ms() + ms, true"
        => "earliest = now_ms() + FENCE_MS, true";
}
