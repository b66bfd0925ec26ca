//! Worlds of several limits in one lease, and of permits of each of their semaphores. All count
//! together, and nobody ever has a part of several limits. And broken variants that must be caught.

use super::check::Invariant::*;
use super::rng::Rng;
use super::sabotage::broken;
use super::workload::Kind;

/// Each as its name, how many permits it has, and how many are wanted.
pub(crate) type Wanted = &'static [(&'static str, u32, u32)];

const WANTED: [Wanted; 6] = [
    &[("a", 2, 1), ("b", 1, 1)],
    &[("b", 1, 1), ("a", 2, 2)],
    &[("b", 1, 1), ("c", 3, 2)],
    &[("c", 3, 1), ("a", 2, 1)],
    &[("c", 3, 3), ("b", 1, 1), ("a", 2, 1)],
    &[],
];

/// How many permits the semaphore `name` has.
pub(crate) fn permits(name: &str) -> u32 {
    let all = WANTED.iter().copied().flatten();
    let mut of_name = all.filter(|(other, ..)| *other == name);
    of_name.next().expect("a limit").1
}

/// What the next caller wants who wants something of `name`: several limits, or that alone.
pub(crate) fn anew(name: &str, rng: &Rng) -> Kind {
    let with = |wanted: &Wanted| {
        let mut names = wanted.iter().map(|(other, ..)| *other);
        wanted.is_empty() || names.any(|other| other == name)
    };
    let all: Vec<_> = WANTED.into_iter().filter(with).collect();
    match (rng.pick(&all), permits(name)) {
        ([], most) => Kind::Weighted(most, rng.between(1, most.into()) as u32),
        (wanted, _) => Kind::Limits(wanted),
    }
}

broken! {
    Limits;
    no_promise_breaks: 500 seeds;
    // It takes what it can have, and waits for the rest.
    permits_that_are_taken_though_another_name_is_full: AllOrNone in "limits" for 2,
        "if at ~= all.full then one[2]() end"
        => "if at ~= all.full then one[1](all.fence) end";
    counting_the_first_name_only: OneHolder in "limits" for 2,
        "elseif is_full(besides_kept(want) or want) then all.full ="
        => "elseif place == 1 and is_full(besides_kept(want) or want) then all.full =";
    a_release_of_the_first_name_only: AllOrNone in "limits" for 2,
        "each(function(_, _, free) pcall(free) end)"
        => "all[1][2]()";
    a_renewal_of_the_first_name_only: AllOrNone in "limits" for 2 with Expiry Expiry,
        "each(function(_, _, _, _, extend) left = math.max(left, extend(ms)) end)"
        => "left = all[1][4](ms)";
    one_name_is_taken_for_all: NoLateWrite in "limits-forced" for 3,
        "local function is_held() return not each(function(_, is_held) return not is_held() end) end"
        => "local function is_held() return all[1][1]() end";
    a_fence_that_is_higher_than_the_last_of_the_first_name_only: FencesGrow in "limits" for 2,
        "all.fence = math.max(all.fence or 0, next_fence())"
        => "all.fence = all.fence or tonumber(next_fence())";
    permits_that_count_as_one: OneHolder in "limits-heavy" for 2,
        "grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], want) end"
        => "grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], '1') end";
    a_release_that_hands_a_permit_to_a_waiter_for_several_limits: AllOrNone in "limits-queue" for 2,
        "local function suits(want) return string.find(want, '^%d') end"
        => "local function suits(want) return true end";
    a_straggler_that_takes_them_again: NoGhost in "limits" for 2 with Twice,
        "not all.held and (WENT or DONE)"
        => "not all.held and WENT";
    a_holder_that_stays_in_a_queue: NoGhost in "limits-queue" for 2,
        "remove_waiter(WAITER) LAST ="
        => "LAST =";
    giving_up_and_staying_in_a_queue: NoGhost unseen "nobody gives up while others want the same",
        "pcall(leave_queue, waiter_at(ARGV[3], at))"
        => "pcall(leave_queue, ARGV[3])";
    permits_that_never_end: NextWaiterHolds in "limits" for 2,
        "grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], want) end"
        => "grant(ARGV[2], FENCE_MS, ARGV[3], ARGV[7], want) end";
}
