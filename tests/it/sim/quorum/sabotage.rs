//! Broken variants of the quorum. The simulation must catch each by the promise that it breaks.

use std::rc::Rc;

use crate::check::Invariant::{self, *};
use crate::lua::Redis;
use crate::sabotage::{Bent, bend, each_caught};
use crate::seeds;
use crate::trace::Trace;

use super::run;

/// More seeds than any of them needs.
const SEEDS: u64 = 4_000;

/// What a server that is asked again does.
const NEW_VOTE: &str =
    "redis.call('SET', NAME, ARGV[2], 'PX', ARGV[6], 'NX') prolong(NAME, ARGV[6])";

/// Seeds of worlds that catch what few others do. They are looked at first.
const RARE: [u64; 5] = [1_012, 691, 265, 237, 203];

#[track_caller]
fn caught(promise: Invariant, redis: &[Rc<Redis>], bent: Bent) {
    seeds::caught(promise, &RARE, SEEDS, |seed| {
        let (broken, _) = run(seed, redis, bent, Trace::OFF);
        broken.is_some_and(|broken| broken.invariant == promise)
    });
}

/// Replaces `part` of a script by `by`.
#[track_caller]
fn script(promise: Invariant, part: &'static str, by: &'static str) {
    bend(part, by, |redis| {
        let servers: Vec<_> = (0..5).map(|_| redis()).collect();
        caught(promise, &servers, Bent::Straight);
    });
}

#[test]
fn a_validity_reckoned_from_the_replies() {
    caught(OneHolder, &super::servers(), Bent::Standstill);
}

#[test]
fn clocks_that_run_slower_than_the_lock_allows_for() {
    caught(OneHolder, &super::servers(), Bent::Slow);
}

#[test]
fn clocks_of_servers_that_are_further_apart_than_the_quarantine() {
    caught(FencesGrow, &super::servers(), Bent::Apart);
}

#[test]
fn a_release_that_is_taken_for_not_done_if_it_failed() {
    caught(OneHolder, &super::servers(), Bent::Denying);
}

#[test]
fn a_mute_server_that_is_waited_for() {
    caught(EndsInTime, &super::servers(), Bent::Patient);
}

each_caught! {
    script;
    a_server_that_votes_although_it_has_given_its_vote: OneVote,
        "if HOLDER then return { 0, ARGV[1], redis.call('PTTL', NAME), 0, 0, select(4, hold_of(HOLDER)) or '' } end"
        => "if HOLDER then redis.call('DEL', NAME) end";
    a_server_that_votes_at_once_when_it_came_back_empty: NoSay,
        "if missing > 0 then"
        => "if false then";
    a_vote_given_back_by_another: OneHolder,
        "held = is_held() and 'held' or ''"
        => "held = 'held'";
    a_renewal_of_what_is_anothers: CountsLater,
        "local held, last, yes = is_held(),"
        => "local held, last, yes = true,";
    a_renewal_that_asks_no_server_again: Heals,
        NEW_VOTE
        => "";
    a_new_vote_that_never_counts: Heals,
        "(string.find(last, '^=') or last == ARGV[11])"
        => "string.find(last, '^=')";
    a_new_vote_by_a_server_that_came_back_empty: NoSay,
        "and missing_uptime(ARGV[9]) == 0 then"
        => "then";
    a_new_vote_that_counts_at_once: CountsLater,
        NEW_VOTE
        => "redis.call('SET', NAME, ARGV[2], 'PX', ARGV[6]) return { 1, ARGV[1], '0 ' .. ARGV[6] .. ' ' }";
    a_new_vote_that_does_not_know_the_fence: KnowsTheFence,
        "raise_fence(ARGV[5], ARGV[6], ARGV[8])"
        => "";
    a_new_vote_for_a_token_that_was_given_back: NoGhost,
        "and not WENT then if held"
        => "then if held";
    a_new_vote_of_a_server_that_has_given_its_vote: OneVote,
        "if held or redis.call('EXISTS', NAME) == 0 and"
        => "redis.call('DEL', NAME) if";
    a_fence_that_the_majority_does_not_know: FencesGrow,
        "raise_fence(ARGV[3], ARGV[4], ARGV[5])"
        => "";
    a_resumed_lease_that_takes_the_fence_of_a_server_for_its_own: FencesGrow,
        "keep(fence, ARGV[2], hold_of(ARGV[2]) or 0, ARGV[3], ARGV[7])"
        => "keep(fence, ARGV[2], fence, ARGV[3], ARGV[7])";
    a_token_that_is_taken_after_it_was_given_back: NoGhost,
        "if WENT or DONE then return { -1, ARGV[1] } end"
        => "";
    a_vote_that_is_not_given_back: IsHadAgain,
        "if held ~= '' then free() end"
        => "";
}
