//! Waiting while a bridge or Redis is away.

use super::*;

/// Makes something go away until an instant.
type Outage = fn(&Rc<Case>, Time);

const OUTAGES: [Outage; 3] = [
    |case, until| case.network.restart_bridge(case, until),
    |case, until| case.network.restart_redis(case, until),
    |case, until| {
        let (case, net) = (case.clone(), case.net.replace(CUT));
        let world = case.world.clone();
        world.schedule(until - world.now(), move || case.net.set(net));
    },
];

#[test]
fn a_wait_is_for_a_bridge_that_is_away_too() {
    for outage in OUTAGES {
        for away in [200, 1_000, 4_000] {
            play(move |case| async move {
                outage(&case, away * MS);
                let lease = lock(&case).wait_timeout(s(5)).acquire().await;
                // A request that was lost, the pause behind it, and the request that was not lost.
                let most = away + 500 + 1_000 + 20;
                assert!((away..=most).contains(&now(&case)), "{}", now(&case));
                lease.expect("a lease").release().await.expect("held");
            });
        }
    }
}

#[test]
fn a_bridge_that_is_away_for_longer_is_what_a_wait_tells_in_the_end() {
    for outage in OUTAGES {
        play(move |case| async move {
            outage(&case, 60_000 * MS);
            let lease = lock(&case).wait_timeout(s(3)).acquire().await;
            let error = lease.expect_err("away");
            assert!(matches!(error.code(), "unavailable" | "timed_out"), "{error}");
            // The last request leaves at the very end of the wait.
            assert!((3_000..=3_500).contains(&now(&case)), "{}", now(&case));
        });
    }
}

#[test]
fn without_a_wait_it_is_asked_as_often_as_there_are_attempts() {
    for outage in &OUTAGES[..2] {
        play(move |case| async move {
            outage(&case, 60_000 * MS);
            lock(&case).try_acquire().await.expect_err("away");
            // Three round trips, and pauses of up to 50 and 100 ms.
            assert!(now(&case) <= 3 * 20 + 150, "{}", now(&case));
            assert_eq!(case.events.take(), ["retried", "retried"]);
        });
    }
}

#[test]
fn requests_to_a_bridge_that_is_away_count_and_end_the_wait() {
    play(|case| async move {
        case.network.restart_bridge(&case, 60_000 * MS);
        let lock = lock(&case).wait_timeout(s(5)).max_requests(6);
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
                let lease = held(&case).await;
                let lock = lock_with(&case, pushes(push)).wait_timeout(s(30));
                let had = waits_by(&case, lock);
                sleep(&case, 1_000).await;
                outage(&case, case.world.now() + 5_000 * MS);
                sleep(&case, 6_000).await;
                // By then it has subscribed again, or asked before its liveness was over.
                let delay = follows(&case, lease, &had, 5_000).await;
                assert!(delay.is_some_and(|delay| delay <= 4_000), "{delay:?}");
            });
        }
    }
}
