//! How a waiter gives up.

use super::*;

#[test]
fn a_lock_that_is_handed_to_a_waiter_that_just_gave_up_is_handed_on_when_it_has_left() {
    play(|case| async move {
        let lease = held(&case).await;
        let impatient = lock(&case).wait_timeout(ms(500));
        let end = now(&case) + 500;
        let gives_up = meanwhile(&case, &machine(), async move {
            impatient.acquire().await.expect_err("held").code()
        });
        sleep(&case, 100).await;
        let had = waits(&case);
        // After the first waiter's last request was executed, and before it leaves the queue.
        sleep(&case, end + 12 - now(&case)).await;
        lease.release().await.expect("held");
        sleep(&case, 500).await;
        assert_eq!((gives_up.at(), gives_up.told()), (Some(end + 20), "held"));
        // The answer to its last request, the request by which it leaves, and the message to the
        // next waiter.
        assert_eq!(had.at(), Some(end + 20 + 10 + 10));
    });
}
