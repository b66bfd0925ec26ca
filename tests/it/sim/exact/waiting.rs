//! The limits of a waiter: how long it counts as alive, and the extremes of every number that a
//! caller may choose.

use super::*;

/// What a caller may pass who wants no limit.
const FOREVER: Duration = Duration::MAX;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn a_waiter_that_died_delays_the_next_by_10_s_at_most_however_long_it_would_have_waited() {
    for max_requests in [4, 40, u32::MAX] {
        play(move |case| async move {
            let lock = client(&case, &machine()).lock("a");
            let lease = lock.acquire().await.expect("a lease");
            let dying = machine();
            let lock = client(&case, &dying).lock("a");
            let lock = lock
                .fair(true)
                .wait_timeout(30 * DAY)
                .max_requests(max_requests);
            meanwhile(&case, &dying, async move { drop(lock.acquire().await) });
            sleep(&case, 100).await;
            let machine = machine();
            let lock = client(&case, &machine).lock("a");
            let lock = lock.fair(true).wait_timeout(DAY).max_requests(1_000_000);
            let held = meanwhile(&case, &machine, async move {
                drop(lock.acquire().await.expect("a lease"));
            });
            sleep(&case, 1_000).await;
            case.world.kill(&dying);
            lease.release().await.expect("held");
            let released = now(&case);
            sleep(&case, 20_000).await;
            let delay = in_ms(&held).map(|at| at - released);
            assert!(delay.is_some_and(|delay| delay <= 10_000), "{delay:?}");
        });
    }
}

/// One waits, the clock is set back, and another comes. Returns when each has the lock.
fn have_it_around_a_step(redis: Redis) -> [Option<u64>; 2] {
    play_on(&Rc::new(redis), move |case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let earlier = waits(&case);
        sleep(&case, 1_000).await;
        case.set_back(60_000_000);
        let later = waits(&case);
        sleep(&case, 1_000).await;
        lease.release().await.expect("held");
        sleep(&case, 1_000).await;
        [in_ms(&earlier), in_ms(&later)]
    })
}

#[test]
fn a_waiter_that_comes_later_waits_behind_though_the_clock_was_set_back() {
    let [earlier, later] = have_it_around_a_step(Redis::default());
    assert!(
        earlier.is_some() && earlier < later,
        "{earlier:?} {later:?}"
    );
}

/// A sabotage: who comes later goes ahead.
#[test]
fn a_waiter_that_goes_ahead_since_the_clock_was_set_back_is_noticed() {
    let redis = Redis::with(
        "WAITERS = table.concat({ WAITERS, digits(alive), ' ', digits(0), ' ', digits(now_ms()), ' ', WAITER, ',' })",
        "WAITERS = table.concat({ digits(alive), ' ', digits(0), ' ', digits(now_ms()), ' ', WAITER, ',', WAITERS })",
    );
    let [earlier, later] = have_it_around_a_step(redis);
    assert!(later.is_some() && later < earlier, "{earlier:?} {later:?}");
}

#[test]
fn no_duration_and_no_count_that_a_caller_may_choose_is_too_large() {
    for push in [true, false] {
        play(move |case| async move {
            let settings = Settings {
                attempts: u32::MAX,
                timeout: FOREVER,
                push,
                ..SETTINGS
            };
            let machine = machine();
            let client = host::client(&case, &machine, settings);
            let lock = client.lock("a");
            let lock = lock
                .wait_timeout(FOREVER)
                .max_requests(u32::MAX)
                .max_hold(FOREVER)
                .ttl(6 * DAY);
            // The bridge is away for a minute, and refuses every request at once.
            case.network.restart_bridge(&case, 60_000 * MS);
            let lease = lock.acquire().await.expect("a lease");
            assert!(now(&case) <= 61_100, "{}", now(&case));
            let work = lock.clone();
            let held = meanwhile(&case, &machine, async move {
                work.run(async |_| Ok::<_, edgelock::Error>(()))
                    .await
                    .expect("a lease");
            });
            sleep(&case, 5_000).await;
            assert_eq!(in_ms(&held), None);
            lease.release().await.expect("held");
            sleep(&case, 1_000).await;
            assert!(held.get().is_some());
        });
    }
}

#[test]
fn the_shortest_time_out_is_long_enough_for_a_bridge_that_answers_at_once() {
    play(|case| async move {
        let settings = Settings {
            timeout: Duration::from_millis(1),
            ..SETTINGS
        };
        slow_down(&case, 0);
        let client = host::client(&case, &machine(), settings);
        let lock = client.lock("a");
        let lease = lock.acquire().await.expect("a lease");
        lease.release().await.expect("held");
    });
}

/// Starts a fair waiter that polls, and notes when it has the lock, which it gives back at once.
fn polls(case: &Rc<Case>, machine: &Rc<Machine>) -> Rc<Cell<Option<Time>>> {
    let settings = Settings {
        push: false,
        ..SETTINGS
    };
    let lock = host::client(case, machine, settings).lock("a").fair(true);
    let lock = lock.wait_timeout(DAY).max_requests(1_000_000);
    meanwhile(case, machine, async move {
        let lease = lock.acquire().await.expect("a lease");
        lease.release().await.expect("held");
    })
}

/// Four wait. The third dies at once, and the first later; then the lock is free without a message.
/// Returns how long after the second the fourth has it.
fn fourth_follows_after(redis: Redis) -> u64 {
    play_on(&Rc::new(redis), move |case| async move {
        let held = client(&case, &machine()).lock("a").ttl(DAY);
        drop(held.acquire().await.expect("a lease").into_token());
        let machines = [(); 4].map(|()| machine());
        let mut waiters = Vec::new();
        for machine in &machines {
            waiters.push(polls(&case, machine));
            sleep(&case, 100).await;
        }
        case.world.kill(&machines[2]);
        sleep(&case, 9_000).await;
        case.world.kill(&machines[0]);
        sleep(&case, 2_000).await;
        case.redis.execute(&[b"DEL", b"a"]);
        sleep(&case, 30_000).await;
        let had = |at: usize| in_ms(&waiters[at]).expect("a lease");
        had(3) - had(1)
    })
}

#[test]
fn a_waiter_that_died_does_not_come_back() {
    let after = fourth_follows_after(Redis::default());
    assert!(after <= 600, "{after}");
}

/// A sabotage: the record is written by place, though a line of it is gone.
#[test]
fn a_waiter_that_another_brings_back_is_noticed() {
    let redis = Redis::with("and string.sub(KEPT, -#WAITERS) == WAITERS then", "then");
    let after = fourth_follows_after(redis);
    assert!(after > 1_000, "{after}");
}
