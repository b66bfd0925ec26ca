//! What `run` makes of a write of its work that is under way.

use edgelock::{Error, Reply};

use super::*;
use crate::host::SimLock;

/// Renewed every 3,333 ms; the last deadline of one that is not is 9,898 ms.
fn lock(case: &Rc<Case>) -> SimLock {
    client(case, &machine()).lock("a").expect("a lock")
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
                // Asked again behind its time-out, when a renewal would have been due.
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
                // What is sent now, and that is a renewal, takes long.
                let slow = 100 * MS;
                case.net.set(Net {
                    least: slow,
                    latency: slow,
                    ..STEADY
                });
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
