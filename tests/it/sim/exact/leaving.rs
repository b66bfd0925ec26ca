//! How a waiter gives up.

use super::*;

#[test]
fn a_lock_that_is_handed_to_a_waiter_that_just_gave_up_is_handed_on_when_it_has_left() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let (machine, world) = (machine(), case.world.clone());
        let impatient = client(&case, &machine).lock("a");
        let impatient = impatient.wait_timeout(Duration::from_millis(500));
        let end = now(&case) + 500;
        meanwhile(&case, &machine, async move {
            let error = impatient.acquire().await.expect_err("held");
            assert_eq!((error.code(), world.now() / MS), ("held", end + 20));
        });
        sleep(&case, 100).await;
        let held = waits(&case);
        // After the first waiter's last request was executed, and before it leaves the queue.
        sleep(&case, end + 12 - now(&case)).await;
        lease.release().await.expect("held");
        sleep(&case, 500).await;
        // The answer to its last request, the request by which it leaves, and the message to the
        // next waiter.
        assert_eq!(in_ms(&held), Some(end + 20 + 10 + 10));
    });
}
