//! Waiting while a bridge or Redis is away.

use edgelock::Error;

use super::*;

/// Makes something go away until an instant.
type Outage = fn(&Rc<Case>, Time);

const OUTAGES: [Outage; 3] = [
    |case, until| case.network.restart_bridge(case, until),
    |case, until| case.network.restart_redis(case, until),
    |case, until| {
        let (case, net) = (case.clone(), case.net.get());
        case.net.set(Net {
            lose_request: 1_000,
            ..net
        });
        let world = case.world.clone();
        world.schedule(until - world.now(), move || case.net.set(net));
    },
];

#[test]
fn a_wait_is_for_a_bridge_that_is_away_too() {
    for outage in OUTAGES {
        for away in [200, 1_000, 4_000] {
            play(move |case| async move {
                let lock = client(&case, &machine()).lock("a");
                outage(&case, away * MS);
                let lock = lock.wait_timeout(Duration::from_secs(5));
                let lease = lock.acquire().await.expect("a lease");
                // A request that was lost, the pause behind it, and the request that was not lost.
                let most = away + 500 + 1_000 + 20;
                assert!((away..=most).contains(&now(&case)), "{}", now(&case));
                lease.release().await.expect("held");
            });
        }
    }
}

#[test]
fn a_bridge_that_is_away_for_longer_is_what_a_wait_tells_in_the_end() {
    for outage in OUTAGES {
        play(move |case| async move {
            let lock = client(&case, &machine()).lock("a");
            outage(&case, 60_000 * MS);
            let lock = lock.wait_timeout(Duration::from_secs(3));
            let error = lock.acquire().await.expect_err("away");
            assert!(
                matches!(error, Error::Unavailable { .. } | Error::TimedOut { .. }),
                "{error}"
            );
            // The last request leaves at the very end of the wait.
            assert!((3_000..=3_500).contains(&now(&case)), "{}", now(&case));
        });
    }
}

#[test]
fn without_a_wait_it_is_asked_as_often_as_there_are_attempts() {
    for outage in &OUTAGES[..2] {
        play(move |case| async move {
            let lock = client(&case, &machine()).lock("a");
            outage(&case, 60_000 * MS);
            lock.try_acquire().await.expect_err("away");
            // Three round trips, and pauses of up to 50 and 100 ms.
            assert!(now(&case) <= 3 * 20 + 150, "{}", now(&case));
            let retried = case.events.take();
            assert_eq!(retried, ["retried", "retried"]);
        });
    }
}

#[test]
fn requests_to_a_bridge_that_is_away_count_and_end_the_wait() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        case.network.restart_bridge(&case, 60_000 * MS);
        let lock = lock.wait_timeout(Duration::from_secs(5)).max_requests(6);
        let error = lock.acquire().await.expect_err("away");
        assert_eq!(error.code(), "unavailable");
        // One request is kept for leaving the queue.
        let events = ["retried", "retried", "retried", "retried", "gave_up"];
        assert_eq!(case.events.take(), events);
    });
}

#[test]
fn a_wait_goes_on_over_an_outage() {
    for outage in OUTAGES {
        for push in [true, false] {
            play(move |case| async move {
                let lock = client(&case, &machine()).lock("a");
                let lock = lock.ttl(Duration::from_secs(60));
                let lease = lock.acquire().await.expect("a lease");
                let machine = machine();
                let settings = Settings { push, ..SETTINGS };
                let lock = host::client(&case, &machine, settings).lock("a");
                let lock = lock.wait_timeout(Duration::from_secs(30));
                let held = meanwhile(&case, &machine, async move {
                    drop(lock.acquire().await.expect("a lease"));
                });
                sleep(&case, 1_000).await;
                outage(&case, case.world.now() + 5_000 * MS);
                sleep(&case, 6_000).await;
                lease.release().await.expect("held");
                let released = now(&case);
                sleep(&case, 5_000).await;
                // By then it has subscribed again, or asked before its liveness was over.
                let delay = in_ms(&held).map(|at| at - released);
                assert!(delay.is_some_and(|delay| delay <= 4_000), "{delay:?}");
            });
        }
    }
}
