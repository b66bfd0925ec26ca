//! A waiter that cannot subscribe, or whose stream breaks.

use super::*;

/// A waiter whose bridge refuses subscriptions with `status` for so long. Returns how long after
/// the release it has the lock, and how often it tried to subscribe.
fn handed_over_after(status: u16, mute_for: u64) -> (Option<u64>, u64) {
    play(move |case| async move {
        let lease = held(&case).await;
        case.network.mute.set(Some(status));
        let had = waits(&case);
        sleep(&case, mute_for).await;
        case.network.mute.set(None);
        sleep(&case, 12_000).await;
        let delay = follows(&case, lease, &had, 2_000).await;
        (delay, case.network.opened())
    })
}

stories! {
    // One way to Redis, and one to the waiter that listens. It tries at once, and then after pauses
    // that double from one second.
    a_waiter_that_may_not_listen_now_tries_again_within_the_same_wait:
        [503, 429, 500, 502, 401].map(|status| handed_over_after(status, 5_000))
        => all if all.iter().all(|all| matches!(all, (Some(20), 3..=6))),
    /// A proxy may say the same, or a bridge whose Redis is busy for a moment.
    one_answer_that_there_are_no_subscriptions_is_not_believed_for_ever:
        [404, 405, 501, 400, 403].map(|status| handed_over_after(status, 100))
        => all if all == [(Some(20), 2); 5],
    a_waiter_whose_first_request_gets_lost_listens_as_others_do: play(|case| async move {
        let lease = held(&case).await;
        case.network.fates.next(Fate::NotSent);
        let had = waits_by(&case, lock_with(&case, Settings { attempts: 1, ..SETTINGS }));
        sleep(&case, 5_000).await;
        follows(&case, lease, &had, 2_000).await
    }) => Some(20),
}

#[test]
fn a_bridge_that_has_no_subscriptions_is_asked_ever_more_seldom() {
    play(|case| async move {
        case.network.mute.set(Some(404));
        let lock = lock(&case).ttl(s(600));
        let lease = lock.acquire().await.expect("a lease");
        let lock = lock.wait_timeout(ms(300));
        // The pauses double from one second to a minute.
        let seconds = [0_u64, 2, 6, 12, 60, 120, 160, 210, 230];
        for (second, opened) in seconds.into_iter().zip([1, 2, 3, 4, 5, 6, 7, 7, 8]) {
            sleep(&case, (second * 1_000).saturating_sub(now(&case))).await;
            for _ in 0..3 {
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
        let lock = lock(&case).ttl(s(120));
        let lease = lock.acquire().await.expect("a lease");
        case.network.mute.set(Some(503));
        let lock = lock.wait_timeout(s(60)).max_requests(4);
        lock.acquire().await.expect_err("held");
        assert_eq!(case.network.opened(), 1);
        lease.release().await.expect("held");
    });
}

#[test]
fn a_stream_that_broke_is_opened_again() {
    play(|case| async move {
        let lease = held(&case).await;
        let had = waits(&case);
        sleep(&case, 1_000).await;
        case.network.restart_bridge(&case, case.world.now());
        sleep(&case, 3_000).await;
        assert_eq!(case.network.opened(), 2);
        assert_eq!(follows(&case, lease, &had, 100).await, Some(20));
    });
}
