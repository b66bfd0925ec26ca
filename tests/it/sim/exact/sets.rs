//! Several names at once: how soon a waiter has all of them, and that none waits for ever while
//! others come without end.

use super::*;

/// How long each holds what it asked for, in milliseconds.
const WORK: u64 = 50;

/// When the client under test comes.
const BEGINS: u64 = 1_005;

/// For how long the others go on.
const ENDS: u64 = 20_000;

/// Somebody takes `names` again and again; a single name by a plain lock. Returns how often it had
/// them.
fn goes_on(
    case: &Rc<Case>,
    names: &'static [&'static str],
    fair: bool,
    begins: u64,
) -> Rc<Cell<u64>> {
    let (on, turns) = (case.clone(), Rc::<Cell<u64>>::default());
    let (client, noted) = (client(case, &machine()), turns.clone());
    let lock = match names {
        [name] => client.lock(name),
        names => client.lock_all(names),
    };
    let lock = lock.fair(fair).wait_timeout(s(60)).max_requests(100_000);
    meanwhile(case, &machine(), async move {
        sleep(&on, begins).await;
        while now(&on) < ENDS {
            let lease = lock.acquire().await.expect("a lease");
            noted.set(noted.get() + 1);
            sleep(&on, on.rng.between(WORK / 2, WORK)).await;
            lease.release().await.expect("held");
            sleep(&on, on.rng.between(0, 5)).await;
        }
    });
    turns
}

/// Starts a waiter for `a` and `b`, which keeps them for as long as it takes to give them back.
fn waits_for_both(case: &Rc<Case>, is_fair: bool) -> Beside<()> {
    let both = client(case, &machine()).lock_all(["a", "b"]).fair(is_fair);
    let both = both.wait_timeout(s(60)).max_requests(100_000);
    meanwhile(case, &machine(), async move {
        drop(both.acquire().await.expect("a lease"));
    })
}

/// Three clients keep `a` busy and three keep `b` busy, all fair or none. One wants both. Returns
/// after how long it has them.
fn waits_among_locks(redis: Redis, are_fair: bool) -> Option<u64> {
    play_on(redis, move |case| async move {
        for place in 0..3 {
            goes_on(&case, &["a"], are_fair, 7 * place);
            goes_on(&case, &["b"], are_fair, 7 * place + 3);
        }
        sleep(&case, BEGINS).await;
        let had = waits_for_both(&case, true);
        sleep(&case, ENDS + 15_000).await;
        had.at().map(|at| at - BEGINS)
    })
}

#[test]
fn of_sets_that_cross_each_has_its_turn_again_and_again() {
    for locks_are_fair in [false, true] {
        play(move |case| async move {
            let sets: [&[&str]; 6] =
                [&["a", "b"], &["b", "a"], &["b", "c"], &["c", "a"], &["a", "b", "c"], &["c"]];
            let begin = |(at, set): (u64, &'static [&'static str])| {
                goes_on(&case, set, locks_are_fair || set.len() > 1, 7 * at)
            };
            let turns: Vec<_> = (0..).zip(sets).map(begin).collect();
            sleep(&case, ENDS + 15_000).await;
            let turns: Vec<_> = turns.iter().map(|turns| turns.get()).collect();
            println!("turns of {sets:?}: {turns:?}");
            assert!(turns.iter().all(|turns| *turns >= 10), "{turns:?}");
        });
    }
}

/// One has `a`. Two wait for `a` and `b`. While the clock is ahead, another asks for `a` alone, and
/// so takes the first one for dead there. Returns when each has both names.
fn have_both_around_a_step(redis: Redis) -> [Option<u64>; 2] {
    play_on(redis, move |case| async move {
        let lease = held(&case).await;
        let first = waits_for_both(&case, true);
        // The first one asks every 3.3 s, and counts as alive for 10 s.
        sleep(&case, 3_000).await;
        let second = waits_for_both(&case, true);
        sleep(&case, 250).await;
        case.set_back(-8_000_000);
        let asks = lock(&case).fair(true).wait_timeout(ms(1));
        asks.acquire().await.expect_err("it is held");
        case.set_back(8_000_000);
        sleep(&case, 5_000).await;
        lease.release().await.expect("held");
        sleep(&case, 20_000).await;
        [first.at(), second.at()]
    })
}

/// One client has `b`. Another waits for `a` and `b`, and listens. Returns how long after the
/// release it has both.
fn has_both_after(redis: Redis) -> Option<u64> {
    play_on(redis, move |case| async move {
        let b = client(&case, &machine()).lock("b").ttl(s(60));
        let b = b.acquire().await.expect("a lease");
        let had = waits_for_both(&case, true);
        sleep(&case, 500).await;
        follows(&case, b, &had, 15_000).await
    })
}

/// Another holds `b`. One waits for `a` and `b`, and two plain locks for `a`. Its holder releases
/// it `ms` after the first one came. Returns how much later than by a hand-over each of the two has
/// it.
fn have_it_later(redis: Redis, ms: u64, is_fair: bool) -> [u64; 2] {
    play_on(redis, move |case| async move {
        let a = held(&case).await;
        let b = client(&case, &machine()).lock("b").ttl(s(60));
        let b = b.acquire().await.expect("a lease");
        let both = waits_for_both(&case, is_fair);
        sleep(&case, ms - 200).await;
        let next = [waits(&case), waits(&case)];
        sleep(&case, 200).await;
        let released_at = now(&case);
        a.release().await.expect("held");
        sleep(&case, 10_000).await;
        let mut next = next.map(|had| had.at().expect("its turn"));
        next.sort_unstable();
        b.release().await.expect("held");
        sleep(&case, 15_000).await;
        both.told();
        [next[0] - released_at - 20, next[1] - next[0] - 20]
    })
}

stories! {
    // Three others at each name, with a way or two between their turns.
    a_waiter_for_several_names_has_them_when_those_are_done_that_came_before:
        waits_among_locks(Redis::default(), true)
        => Some(waited) if waited < 4 * (WORK + 40) + 60,
    a_waiter_for_several_names_has_them_among_locks_that_barge:
        waits_among_locks(Redis::default(), false) => Some(..10_000),
    /// A sabotage: it waits as one who barges does.
    a_waiter_that_stands_in_one_queue_at_a_time_is_starved:
        waits_among_locks(Redis::with(
            "elseif WAITER ~= '' and fair then join()",
            "elseif WAITER ~= '' and fair then notify() elseif false then",
        ), true) => Some(waited) if waited > ENDS - BEGINS - 1_000,
    a_waiter_that_was_taken_for_dead_at_one_name_does_not_wait_in_a_circle:
        have_both_around_a_step(Redis::default()) => [Some(_), Some(_)],
    /// A sabotage: who is missing in one queue joins that one only.
    waiters_in_different_orders_in_two_queues_are_noticed:
        have_both_around_a_step(Redis::with("if fair and each(", "if false and each("))
        => [None, None],
    // The release, the message, the request, and the answer.
    a_waiter_has_all_names_two_round_trips_after_the_release:
        has_both_after(Redis::default()) => Some(40),
    /// A sabotage: the waiter is not told.
    a_waiter_that_no_release_tells_asks_late:
        has_both_after(Redis::with(
            "for _, channel in pairs(asks) do redis.pcall('PUBLISH', channel, '0') end",
            "",
        )) => Some(1_001..),
    // A message and a request.
    who_barges_goes_ahead_of_a_waiter_for_several_names_that_was_told_in_vain:
        [true, false].map(|is_fair| have_it_later(Redis::default(), 600, is_fair))
        => [[20, 0], [20, 0]],
    // It asks when its round of 1.6 s is over.
    a_waiter_that_insists_in_vain_costs_the_next_one_the_rest_of_its_round:
        have_it_later(Redis::default(), 1_450, true) => [100..=180, 0],
    /// A sabotage: it does not ask then.
    a_name_that_is_kept_for_longer_than_its_waiter_insists_is_noticed:
        have_it_later(Redis::with("taken, kept or nil", "taken, nil"), 1_450, true) => [(501..), _],
}
