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
    let (machine, turns) = (machine(), Rc::<Cell<u64>>::default());
    let (on, noted) = (case.clone(), turns.clone());
    let client = client(case, &machine);
    let lock = match names {
        [name] => client.lock(name),
        names => client.lock_all(names),
    };
    let lock = lock
        .fair(fair)
        .wait_timeout(Duration::from_secs(60))
        .max_requests(100_000);
    meanwhile(case, &machine.clone(), async move {
        let pause = |low, high| Duration::from_millis(on.rng.between(low, high));
        on.world
            .sleep(&machine, Duration::from_millis(begins))
            .await;
        while on.world.now() < ENDS * MS {
            let lease = lock.acquire().await.expect("a lease");
            noted.set(noted.get() + 1);
            on.world.sleep(&machine, pause(WORK / 2, WORK)).await;
            lease.release().await.expect("held");
            on.world.sleep(&machine, pause(0, 5)).await;
        }
    });
    turns
}

/// Three clients keep `a` busy and three keep `b` busy, all fair or none. One wants both. Returns
/// after how long it has them.
fn waits_among_locks(redis: Redis, are_fair: bool) -> Option<u64> {
    play_on(&Rc::new(redis), move |case| async move {
        for place in 0..3 {
            goes_on(&case, &["a"], are_fair, 7 * place);
            goes_on(&case, &["b"], are_fair, 7 * place + 3);
        }
        sleep(&case, BEGINS).await;
        let wanting = machine();
        let both = client(&case, &wanting).lock_all(["a", "b"]);
        let both = both
            .wait_timeout(Duration::from_secs(60))
            .max_requests(100_000);
        let had = meanwhile(&case, &wanting, async move {
            let lease = both.acquire().await.expect("a lease");
            lease.release().await.expect("held");
        });
        sleep(&case, ENDS + 15_000).await;
        in_ms(&had).map(|at| at - BEGINS)
    })
}

#[test]
fn a_waiter_for_several_names_has_them_when_those_are_done_that_came_before() {
    let waited = waits_among_locks(Redis::default(), true).expect("its turn");
    // Three others at each name, with a way or two between their turns.
    assert!(waited < 4 * (WORK + 40) + 60, "{waited}");
}

#[test]
fn a_waiter_for_several_names_has_them_among_locks_that_barge() {
    let waited = waits_among_locks(Redis::default(), false).expect("its turn");
    println!("among locks that barge: {waited} ms");
    assert!(waited < 10_000, "{waited}");
}

/// A sabotage: it waits as one who barges does.
#[test]
fn a_waiter_that_stands_in_one_queue_at_a_time_is_starved() {
    let redis = Redis::with(
        "elseif WAITER ~= '' and fair then join()",
        "elseif WAITER ~= '' and fair then notify() elseif false then",
    );
    let waited = waits_among_locks(redis, true).expect("its turn, in the end");
    assert!(waited > ENDS - BEGINS - 1_000, "{waited}");
}

#[test]
fn of_sets_that_cross_each_has_its_turn_again_and_again() {
    for locks_are_fair in [false, true] {
        play(move |case| async move {
            let sets: [&[&str]; 6] = [
                &["a", "b"],
                &["b", "a"],
                &["b", "c"],
                &["c", "a"],
                &["a", "b", "c"],
                &["c"],
            ];
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
    play_on(&Rc::new(redis), move |case| async move {
        let waits = || {
            let machine = machine();
            let both = client(&case, &machine).lock_all(["a", "b"]);
            let both = both.wait_timeout(Duration::from_secs(30)).max_requests(100);
            meanwhile(&case, &machine, async move {
                let lease = both.acquire().await.expect("a lease");
                lease.release().await.expect("held");
            })
        };
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.ttl(Duration::from_secs(60)).acquire().await;
        let first = waits();
        // The first one asks every 3.3 s, and counts as alive for 10 s.
        sleep(&case, 3_000).await;
        let second = waits();
        sleep(&case, 250).await;
        case.set_back(-8_000_000);
        let asks = client(&case, &machine()).lock("a").fair(true);
        let asks = asks.wait_timeout(Duration::from_millis(1));
        asks.acquire().await.expect_err("it is held");
        case.set_back(8_000_000);
        sleep(&case, 5_000).await;
        lease.expect("a lease").release().await.expect("held");
        sleep(&case, 20_000).await;
        [in_ms(&first), in_ms(&second)]
    })
}

#[test]
fn a_waiter_that_was_taken_for_dead_at_one_name_does_not_wait_in_a_circle() {
    let had = have_both_around_a_step(Redis::default());
    assert!(had.iter().all(Option::is_some), "{had:?}");
}

/// A sabotage: who is missing in one queue joins that one only.
#[test]
fn waiters_in_different_orders_in_two_queues_are_noticed() {
    let had = have_both_around_a_step(Redis::with("if fair and each(", "if false and each("));
    assert_eq!(had, [None, None]);
}

/// One client has `b`. Another waits for `a` and `b`, and listens. Returns how long after the
/// release it has both.
fn has_both_after(redis: Redis) -> u64 {
    play_on(&Rc::new(redis), move |case| async move {
        let holding = machine();
        let lease = client(&case, &holding).lock("b").acquire().await;
        let waiting = machine();
        let both = client(&case, &waiting).lock_all(["a", "b"]);
        let both = both.wait_timeout(Duration::from_secs(60));
        let had = meanwhile(&case, &waiting, async move {
            both.acquire().await.expect("a lease").into_token();
        });
        sleep(&case, 500).await;
        let released_at = case.world.now() / MS;
        lease.expect("a lease").release().await.expect("held");
        sleep(&case, 15_000).await;
        in_ms(&had).expect("both") - released_at
    })
}

#[test]
fn a_waiter_has_all_names_two_round_trips_after_the_release() {
    // The release, the message, the request, and the answer.
    assert_eq!(has_both_after(Redis::default()), 4 * 10);
}

/// A sabotage: the waiter is not told.
#[test]
fn a_waiter_that_no_release_tells_asks_late() {
    let part = "for _, channel in pairs(asks) do redis.pcall('PUBLISH', channel, '0') end";
    let redis = Redis::with(part, "");
    let waited = has_both_after(redis);
    assert!(waited > 1_000, "{waited}");
}

/// Another holds `b`. One waits for `a` and `b`, and two plain locks for `a`. Its holder releases
/// it `ms` after the first one came. Returns how much later than by a hand-over each of the two has
/// it.
fn have_it_later(redis: Redis, ms: u64, is_fair: bool) -> [u64; 2] {
    play_on(&Rc::new(redis), move |case| async move {
        let holding = machine();
        let holder = client(&case, &holding);
        let long = Duration::from_secs(60);
        let (a, b) = (
            holder.lock("a").ttl(long).acquire().await,
            holder.lock("b").ttl(long).acquire().await,
        );
        let waiting = machine();
        let both = client(&case, &waiting).lock_all(["a", "b"]).fair(is_fair);
        let both = both.wait_timeout(Duration::from_secs(60));
        meanwhile(&case, &waiting, async move {
            both.acquire().await.expect("a lease").into_token();
        });
        sleep(&case, ms - 200).await;
        let next = [waits(&case), waits(&case)];
        sleep(&case, 200).await;
        let released_at = now(&case);
        a.expect("a lease").release().await.expect("held");
        sleep(&case, 10_000).await;
        let [mut first, mut second] = next.map(|had| in_ms(&had).expect("its turn"));
        (first, second) = (first.min(second), first.max(second));
        b.expect("a lease").release().await.expect("held");
        sleep(&case, 15_000).await;
        [first - released_at - 20, second - first - 20]
    })
}

#[test]
fn who_barges_goes_ahead_of_a_waiter_for_several_names_that_was_told_in_vain() {
    // A message and a request.
    for is_fair in [true, false] {
        let later = have_it_later(Redis::default(), 600, is_fair);
        assert_eq!(later, [2 * 10, 0]);
    }
}

#[test]
fn a_waiter_that_insists_in_vain_costs_the_next_one_the_rest_of_its_round() {
    // It asks when its round of 1.6 s is over.
    let [first, second] = have_it_later(Redis::default(), 1_450, true);
    assert!((100..=180).contains(&first), "{first} ms");
    assert_eq!(second, 0);
}

/// A sabotage: it does not ask then.
#[test]
fn a_name_that_is_kept_for_longer_than_its_waiter_insists_is_noticed() {
    let redis = Redis::with("taken, kept or nil", "taken, nil");
    let [first, _] = have_it_later(redis, 1_450, true);
    assert!(first > 500, "{first} ms");
}
