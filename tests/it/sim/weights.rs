//! Worlds of semaphores of which callers want several permits at once. And broken variants that
//! must be caught.

use super::check::Invariant::*;
use super::sabotage::{each_caught, script_among};
use super::workload::Locks::Weights;

#[test]
fn no_promise_breaks() {
    super::hold_for(Weights, 1_000);
}

/// In this world the holds of a heavy and of a light one had ended. Who removed the heavy one
/// forgot whose the other was, and took it for another program's.
#[test]
fn who_removes_a_heavy_holder_knows_the_others_that_have_ended() {
    super::hold_with(Weights, 14_681_055_492);
}

each_caught! {
    |promise, part, by| script_among(Weights, promise, part, by);
    a_heavy_holder_that_counts_as_one: OneHolder,
        "extra = extra + weight - 1"
        => "";
    a_heavy_waiter_for_which_there_is_room_for_one: OneHolder,
        "(permits_in(want) or 0) + 1 - weight_in(want) - extra"
        => "(permits_in(want) or 0) - extra";
    a_light_holder_that_gives_back_more_than_it_has: OneHolder,
        "extra = extra - weight + 1"
        => "extra = 0";
    a_heavy_holder_that_gives_back_less_than_it_has: NextWaiterHolds,
        "extra = extra - weight + 1"
        => "";
    a_heavy_holder_that_is_given_back_twice: OneHolder,
        "if was_there == 0 then weight = 1 end"
        => "weight = 2 * weight - 1";
    a_weight_that_the_next_grant_forgets: OneHolder,
        "weight > 1 and weight or 0, with_extra(others), life)"
        => "weight > 1 and weight or 0, others, life)";
}
