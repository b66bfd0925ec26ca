//! A waiter that cannot subscribe, or whose stream breaks.

use super::*;

/// A waiter whose bridge refuses subscriptions with `status` for so long. Returns how long after
/// the release it has the lock, and how often it tried to subscribe.
fn handed_over_after(status: u16, mute_for: u64) -> (u64, u64) {
    play(move |case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lock = lock.ttl(Duration::from_secs(60));
        let lease = lock.acquire().await.expect("a lease");
        case.network.mute.set(Some(status));
        let held = waits(&case);
        sleep(&case, mute_for).await;
        case.network.mute.set(None);
        sleep(&case, 12_000).await;
        let released = now(&case);
        lease.release().await.expect("held");
        sleep(&case, 2_000).await;
        let held = in_ms(&held).expect("a lease");
        (held - released, case.network.opened())
    })
}

#[test]
fn a_waiter_that_may_not_listen_now_tries_again_within_the_same_wait() {
    for status in [503, 429, 500, 502, 401] {
        let (delay, opened) = handed_over_after(status, 5_000);
        // One way to Redis, and one to the waiter that listens.
        assert_eq!(delay, 20, "{status}");
        // It tries at once, and then after pauses that double from one second.
        assert!((3..=6).contains(&opened), "{status}: {opened}");
    }
}

/// A proxy may say the same, or a bridge whose Redis is busy for a moment.
#[test]
fn one_answer_that_there_are_no_subscriptions_is_not_believed_for_ever() {
    for status in [404, 405, 501, 400, 403] {
        let (delay, opened) = handed_over_after(status, 100);
        assert_eq!((delay, opened), (20, 2), "{status}");
    }
}

#[test]
fn a_bridge_that_has_no_subscriptions_is_asked_ever_more_seldom() {
    play(|case| async move {
        let machine = machine();
        let client = client(&case, &machine);
        case.network.mute.set(Some(404));
        let lock = client.lock("a").ttl(Duration::from_secs(600));
        let lease = lock.acquire().await.expect("a lease");
        // The pauses double from one second to a minute.
        for (second, opened) in [
            (0, 1),
            (2, 2),
            (6, 3),
            (12, 4),
            (60, 5),
            (120, 6),
            (160, 7),
            (210, 7),
            (230, 8),
        ] {
            sleep(&case, (second * 1_000_u64).saturating_sub(now(&case))).await;
            for _ in 0..3 {
                let lock = client.lock("a").wait_timeout(Duration::from_millis(300));
                lock.acquire().await.expect_err("held");
            }
            assert_eq!(case.network.opened(), opened, "{second} s");
        }
        lease.release().await.expect("held");
    });
}

#[test]
fn a_waiter_that_may_send_one_more_request_spends_it_on_asking() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lock = lock.ttl(Duration::from_secs(120));
        let lease = lock.acquire().await.expect("a lease");
        case.network.mute.set(Some(503));
        let lock = lock.wait_timeout(Duration::from_secs(60)).max_requests(4);
        lock.acquire().await.expect_err("held");
        assert_eq!(case.network.opened(), 1);
        lease.release().await.expect("held");
    });
}

#[test]
fn a_stream_that_broke_is_opened_again() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lock = lock.ttl(Duration::from_secs(60));
        let lease = lock.acquire().await.expect("a lease");
        let held = waits(&case);
        sleep(&case, 1_000).await;
        case.network.restart_bridge(&case, case.world.now());
        sleep(&case, 3_000).await;
        assert_eq!(case.network.opened(), 2);
        let released = now(&case);
        lease.release().await.expect("held");
        sleep(&case, 100).await;
        assert_eq!(in_ms(&held), Some(released + 20));
    });
}
