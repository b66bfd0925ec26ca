//! What `run` does about a write that its work has under way.

use std::future::pending;

use edgelock::{Error, Reply};

use super::*;
use crate::host::SimLock;

/// A lock that `run` renews every 3,333 ms. If no renewal succeeds, its deadline is at 9,898 ms.
fn lock(case: &Rc<Case>) -> SimLock {
    client(case, &machine()).lock("a")
}

fn append() -> [Command; 1] {
    [Command::new("APPEND").key("log:a").arg(";")]
}

#[test]
fn work_whose_commit_is_answered_late_is_told_of_it_and_not_stopped() {
    play(|case| async move {
        let done = lock(&case)
            .run(async |lease| {
                sleep(&case, 3_200).await;
                case.network.lose_next_grant.set(true);
                // The commit is sent again after its time-out, when a renewal would have been due.
                lease.commit(&append()).await
            })
            .await;
        assert_eq!(done, Ok(vec![Reply::Int(1)]));
        assert!(now(&case) > 3_700);
    });
}

#[test]
fn work_whose_release_is_answered_late_may_go_on() {
    play(|case| async move {
        let done = lock(&case)
            .run(async |lease| {
                sleep(&case, 3_200).await;
                case.network.lose_next_grant.set(true);
                lease.release().await?;
                sleep(&case, 20_000).await;
                Ok::<_, Error>(7)
            })
            .await;
        assert_eq!(done, Ok(7));
    });
}

#[test]
fn a_renewal_that_was_overtaken_by_a_commit_does_not_stop_the_work() {
    play(|case| async move {
        let done = lock(&case)
            .run(async |lease| {
                sleep(&case, 3_310).await;
                // The renewal is sent now, and takes long.

                slow_down(&case, 100 * MS);
                sleep(&case, 10).await;
                case.net.set(STEADY);
                case.network.lose_next_grant.set(true);
                lease.commit(&append()).await
            })
            .await;
        assert_eq!(done, Ok(vec![Reply::Int(1)]));
    });
}

#[test]
fn a_commit_may_come_to_its_end_when_the_lock_was_held_for_too_long() {
    play(|case| async move {
        let lock = lock(&case).max_hold(Duration::from_secs(3));
        let done = lock
            .run(async |lease| {
                sleep(&case, 2_900).await;
                case.network.lose_next_grant.set(true);
                lease.commit(&append()).await
            })
            .await;
        assert_eq!(done, Ok(vec![Reply::Int(1)]));
        assert!(now(&case) > 3_400);
    });
}

#[test]
fn when_work_is_stopped_while_its_write_is_under_way_the_outcome_is_unknown() {
    for (max_hold, writes_at) in [(3_000, 2_900), (60_000, 9_500)] {
        play(move |case| async move {
            let lock = lock(&case).max_hold(Duration::from_millis(max_hold));
            let outcome = lock
                .run(async |lease| {
                    cut(&case);
                    sleep(&case, writes_at).await;
                    lease.exec(&append()).await.map(drop)
                })
                .await;
            let error = outcome.expect_err("nobody answers");
            assert!(error.is_outcome_unknown(), "{error}");
        });
    }
}

#[test]
fn when_work_is_stopped_behind_a_write_of_unknown_outcome_its_own_is_unknown() {
    for is_last in [false, true] {
        play(move |case| async move {
            let outcome: Result<(), Error> = lock(&case)
                .run(async |lease| {
                    sleep(&case, 100).await;
                    cut(&case);
                    let written = match is_last {
                        true => lease.commit(&append()).await,
                        false => lease.exec(&append()).await,
                    };
                    assert!(written.is_err_and(|error| error.is_outcome_unknown()));
                    pending().await
                })
                .await;
            let error = outcome.expect_err("nobody answers");
            assert!(error.is_outcome_unknown(), "{error}");
            assert!(now(&case).abs_diff(9_898 + 102) <= 1, "{}", now(&case));
        });
    }
}

#[test]
fn a_run_ends_though_its_commit_hangs() {
    play_bent(Bent::Patient, |case| async move {
        let outcome = lock(&case)
            .run(async |lease| {
                sleep(&case, 100).await;
                cut(&case);
                lease.commit(&append()).await
            })
            .await;
        let error = outcome.expect_err("nobody answers");
        assert!(error.is_outcome_unknown(), "{error}");
        // A time-out past the deadline, and no longer than Redis may keep the lock.
        assert!(now(&case) <= 9_898 + 500 + 102, "{}", now(&case));
    });
}

#[test]
fn a_commit_that_its_caller_dropped_is_unknown_and_names_the_lock() {
    play(|case| async move {
        let lease = lock(&case).try_acquire().await.expect("it is free");
        cut(&case);
        {
            let writes = append();
            let mut commit = std::pin::pin!(lease.commit(&writes));
            let polled =
                std::future::poll_fn(|cx| std::task::Poll::Ready(commit.as_mut().poll(cx)));
            assert!(polled.await.is_pending());
        }
        // After the deadline nothing more is sent.
        sleep(&case, 10_000).await;
        let error = lease.commit(&append()).await.expect_err("it is over");
        assert!(error.is_outcome_unknown());
        assert_eq!(error.lock(), Some("a"));
    });
}
