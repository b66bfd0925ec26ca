//! How long a bridge is left alone that asks for it, and what callers are told.

use super::*;

const DAY: Duration = s(86_400);

/// With a time-out of 2 s, the default.
const USUAL: Settings = Settings { timeout: s(2), ..SETTINGS };

fn lock(case: &Rc<Case>) -> SimLock {
    lock_with(case, USUAL).ttl(s(60))
}

/// The bridge refuses the next `count` requests, and asks to be left alone for so many seconds.
fn shed(case: &Case, count: usize, seconds: &str) {
    for _ in 0..count {
        let later = bridge::overloaded(429, seconds);
        case.network.fates.next(Fate::Shed(later));
    }
}

/// Checks that `call` was sent once, fails at once, and says that the bridge should be asked again
/// tomorrow.
async fn is_told_to_come_back<O: std::fmt::Debug>(
    case: &Case,
    what: &str,
    call: impl Future<Output = Result<O, Error>>,
) {
    shed(case, 2, "86400");
    let begun = now(case);
    let error = call.await.expect_err(what);
    assert_eq!(error.code(), "unavailable", "{what}");
    assert_eq!((error.retry_after(), error.is_outcome_unknown()), (Some(DAY), false), "{what}");
    assert!(now(case) <= begun + 20, "{what} took until {}", now(case));
    assert_eq!(case.network.fates.left(), 1, "{what}");
    case.network.fates.take();
}

#[test]
fn no_call_sleeps_for_a_day_because_a_bridge_says_so() {
    play(|case| async move {
        let client = host::client(&case, &machine(), USUAL);
        let lock = lock(&case);
        let long = lock.clone().ttl(6 * DAY);
        let case = case.as_ref();
        is_told_to_come_back(case, "tryAcquire", lock.try_acquire()).await;
        is_told_to_come_back(case, "acquire", lock.acquire()).await;
        is_told_to_come_back(case, "inspect", lock.inspect()).await;
        is_told_to_come_back(case, "force_release", lock.force_release()).await;
        let reads = [Command::new("GET").key("n")];
        is_told_to_come_back(case, "read", client.read(&reads)).await;
        let lease = long.try_acquire().await.expect("a lease");
        is_told_to_come_back(case, "renew", lease.renew()).await;
        is_told_to_come_back(case, "exec", lease.exec(&append())).await;
        is_told_to_come_back(case, "commit", lease.commit(&append())).await;
        is_told_to_come_back(case, "release", lease.release()).await;
        let resumed = long.resume(lease.into_token()).expect("randomness");
        is_told_to_come_back(case, "renew, resumed", resumed.renew()).await;
        is_told_to_come_back(case, "exec, resumed", resumed.exec(&append())).await;
        is_told_to_come_back(case, "release, resumed", resumed.release()).await;
        resumed.release().await.expect("held");
    });
}

#[test]
fn a_try_is_not_held_up_for_7_s() {
    play(|case| async move {
        shed(&case, 2, "7");
        let error = lock(&case).try_acquire().await.expect_err("shed");
        assert_eq!(error.retry_after(), Some(s(7)));
        assert_eq!((now(&case), case.network.fates.left()), (20, 1));
    });
}

#[test]
fn a_bridge_is_left_alone_for_the_time_out_of_a_request_in_all() {
    play(|case| async move {
        shed(&case, 2, "1");
        lock(&case).inspect().await.expect("an answer");
        assert_eq!(now(&case), 2_060);
        let persistent = Settings { attempts: 10, ..USUAL };
        let lock = lock_with(&case, persistent);
        shed(&case, 9, "1");
        let error = lock.inspect().await.expect_err("shed");
        assert_eq!(error.retry_after(), Some(s(1)));
        assert_eq!((now(&case), case.network.fates.left()), (4_120, 6));
    });
}

#[test]
fn a_waiter_leaves_the_bridge_alone_for_as_long_as_it_would_wait_anyway() {
    play(|case| async move {
        let wait = |seconds| lock(&case).wait_timeout(s(seconds));
        shed(&case, 1, "7");
        drop(wait(30).acquire().await.expect("a lease"));
        assert_eq!(now(&case), 7_040);
        shed(&case, 1, "7");
        let error = wait(5).acquire().await.expect_err("shed");
        assert_eq!(error.retry_after(), Some(s(7)));
    });
}

#[test]
fn a_write_of_unknown_outcome_is_worth_waiting_for() {
    play(|case| async move {
        let lease = lock(&case).try_acquire().await.expect("a lease");
        let busy = bridge::overloaded(503, "9");
        case.network.fates.next(Fate::Executed(busy));
        shed(&case, 1, "9");
        assert_eq!(lease.exec(&append()).await.map(|replies| replies.len()), Ok(1));
        assert_eq!(now(&case), 18_080);
        assert_eq!(log_of("a", &case.redis.db()).len(), 1);
    });
}

#[test]
fn when_to_come_back_is_said_of_an_unknown_outcome_too() {
    play(|case| async move {
        let lock = lock(&case);
        case.network.fates.next(Fate::Lost);
        shed(&case, 1, "60");
        let error = lock.force_release().await.expect_err("lost, and shed");
        assert!(error.is_outcome_unknown(), "{error}");
        assert_eq!(error.retry_after(), Some(s(60)));
    });
}

#[test]
fn renewals_of_run_are_tried_again_when_the_bridge_said_and_before_the_lease_is_over() {
    play(|case| async move {
        let (lock, fates) = (lock(&case), &case.network.fates);
        fates.next(Fate::Passed);
        shed(&case, 6, "10");
        let renewed = lock.run(async |_| {
            sleep(&case, 45_000).await;
            // The renewal was due at 20 s, and is tried again at 30 and 40 s, not each second in
            // between.
            assert_eq!(fates.left(), 3);
            (0..3).for_each(|_| drop(fates.take()));
            Ok::<_, Error>(())
        });
        renewed.await.expect("held");
        // The bridge said tomorrow, and is asked again all the same: by tomorrow the lease would be
        // over.
        fates.next(Fate::Passed);
        shed(&case, 2, "86400");
        let renewed = lock.run(async |_| {
            sleep(&case, 100_000).await;
            Ok::<_, Error>(())
        });
        renewed.await.expect("held throughout");
    });
}
