//! The limits of a waiter: how long it counts as alive, and the extremes of every number that a
//! caller may choose.

use super::*;

/// What a caller may pass who wants no limit.
const FOREVER: Duration = Duration::MAX;

const DAY: Duration = s(24 * 60 * 60);

#[test]
fn a_waiter_that_died_delays_the_next_by_10_s_at_most_however_long_it_would_have_waited() {
    for max_requests in [4, 40, u32::MAX] {
        play(move |case| async move {
            let lease = held(&case).await;
            let dying = machine();
            let fair = client(&case, &dying).lock("a").fair(true);
            let fair = fair.wait_timeout(30 * DAY).max_requests(max_requests);
            meanwhile(&case, &dying, async move { fair.acquire().await });
            sleep(&case, 100).await;
            let next = lock(&case).fair(true).wait_timeout(DAY);
            let had = waits_by(&case, next.max_requests(1_000_000));
            sleep(&case, 1_000).await;
            case.world.kill(&dying);
            let delay = follows(&case, lease, &had, 20_000).await;
            assert!(delay.is_some_and(|delay| delay <= 10_020), "{delay:?}");
        });
    }
}

/// One waits, the clock is set back, and another comes. Returns when each has the lock.
fn have_it_around_a_step(redis: Redis) -> [Option<u64>; 2] {
    play_on(redis, move |case| async move {
        let lease = held(&case).await;
        let earlier = waits(&case);
        sleep(&case, 1_000).await;
        case.set_back(60_000_000);
        let later = waits(&case);
        sleep(&case, 1_000).await;
        lease.release().await.expect("held");
        sleep(&case, 1_000).await;
        [earlier.at(), later.at()]
    })
}

#[test]
fn no_duration_and_no_count_that_a_caller_may_choose_is_too_large() {
    for push in [true, false] {
        play(move |case| async move {
            let settings = Settings { attempts: u32::MAX, timeout: FOREVER, push, ..SETTINGS };
            let lock = lock_with(&case, settings)
                .wait_timeout(FOREVER)
                .max_requests(u32::MAX)
                .max_hold(FOREVER)
                .ttl(6 * DAY);
            // The bridge is away for a minute, and refuses every request at once.
            case.network.restart_bridge(&case, 60_000 * MS);
            let lease = lock.acquire().await.expect("a lease");
            assert!(now(&case) <= 61_100, "{}", now(&case));
            let work = lock.clone();
            let worked = meanwhile(&case, &machine(), async move {
                work.run(async |_| Ok::<_, Error>(())).await
            });
            sleep(&case, 5_000).await;
            assert_eq!(worked.at(), None);
            lease.release().await.expect("held");
            sleep(&case, 1_000).await;
            worked.told().expect("a lease");
        });
    }
}

#[test]
fn the_shortest_time_out_is_long_enough_for_a_bridge_that_answers_at_once() {
    play(|case| async move {
        let timeout = ms(1);
        slow_down(&case, 0);
        let lock = lock_with(&case, Settings { timeout, ..SETTINGS });
        let lease = lock.acquire().await.expect("a lease");
        lease.release().await.expect("held");
    });
}

/// Four wait, fair and by polling. The third dies at once, and the first later; then the lock is
/// free without a message. Returns how long after the second the fourth has it.
fn fourth_follows_after(redis: Redis) -> u64 {
    play_on(redis, move |case| async move {
        let lease = lock(&case).ttl(DAY).acquire().await;
        lease.expect("a lease").into_token();
        let mut waiters = Vec::new();
        for _ in 0..4 {
            let machine = machine();
            let lock = host::client(&case, &machine, pushes(false)).lock("a");
            let lock = lock.fair(true).wait_timeout(DAY).max_requests(1_000_000);
            let waits = meanwhile(&case, &machine, async move {
                let lease = lock.acquire().await.expect("a lease");
                lease.release().await.expect("held");
            });
            waiters.push((machine, waits));
            sleep(&case, 100).await;
        }
        case.world.kill(&waiters[2].0);
        sleep(&case, 9_000).await;
        case.world.kill(&waiters[0].0);
        sleep(&case, 2_000).await;
        case.redis.execute(&[b"DEL", b"a"]);
        sleep(&case, 30_000).await;
        let had = |at: usize| waiters[at].1.at().expect("a lease");
        had(3) - had(1)
    })
}

stories! {
    a_waiter_that_comes_later_waits_behind_though_the_clock_was_set_back:
        have_it_around_a_step(Redis::default()) => [Some(earlier), later] if later > Some(earlier),
    /// A sabotage: who comes later goes ahead.
    a_waiter_that_goes_ahead_since_the_clock_was_set_back_is_noticed:
        have_it_around_a_step(Redis::with(
            "WAITERS = table.concat({ WAITERS, digits(alive), ' ', digits(0), ' ', digits(now_ms()), ' ', WAITER, ',' })",
            "WAITERS = table.concat({ digits(alive), ' ', digits(0), ' ', digits(now_ms()), ' ', WAITER, ',', WAITERS })",
        )) => [earlier, Some(later)] if Some(later) < earlier,
    a_waiter_that_died_does_not_come_back: fourth_follows_after(Redis::default()) => 0..=600,
    /// A sabotage: the record is written by place, though a line of it is gone.
    a_waiter_that_another_brings_back_is_noticed: fourth_follows_after(Redis::with(
        "and string.sub(KEPT, -#WAITERS) == WAITERS then",
        "then",
    )) => 1_001..,
}
