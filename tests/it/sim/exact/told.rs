//! What a waiter makes of a message, and of an answer that was on its way meanwhile.

use super::*;

/// The message of a release to a waiter that has the lock from `us` on, by Redis's clock.
fn handed_over(us: u64) -> String {
    format!("{us} {us}")
}

/// When a waiter asks again that began to wait at 20 ms and listens since 60 ms. The answer leaves
/// Redis 10 ms later.
const ASKS_AGAIN: u64 = 80 + 10_000 / 3;

impl Case {
    /// Redis's clock at `ms`, in microseconds.
    fn redis_us(&self, ms: u64) -> u64 {
        self.now_us() as u64 - self.world.now() / 1_000 + ms * 1_000
    }

    async fn at(&self, ms: u64) {
        sleep(self, ms - now(self)).await;
    }
}

/// A lease from 20 ms on, and a waiter for its lock from then on.
async fn waited_for(case: &Rc<Case>) -> (SimLease, Beside<()>) {
    let lease = held(case).await;
    (lease, waits(case))
}

/// Checks that the waiter does not get the lock for a while, and then gets it when it is released.
async fn is_not_had(case: &Case, lease: SimLease, had: &Beside<()>) {
    sleep(case, 500).await;
    assert_eq!(had.at(), None);
    assert!(follows(case, lease, had, 100).await.is_some());
}

#[test]
fn a_message_from_before_the_last_answer_is_no_lease() {
    play(|case| async move {
        let (lease, had) = waited_for(&case).await;
        case.at(500).await;
        case.invent(&handed_over(case.redis_us(30)));
        is_not_had(&case, lease, &had).await;
    });
}

#[test]
fn a_message_from_before_the_last_answer_is_no_lease_though_the_clock_was_set_back() {
    play(|case| async move {
        let lease = held(&case).await;
        case.set_back(3_600_000_000);
        let had = waits(&case);
        case.at(500).await;
        // As if this hold had been the waiter's, and had ended before the clock was set back.
        case.invent(&handed_over(lease.fence()));
        is_not_had(&case, lease, &had).await;
    });
}

#[test]
fn a_fence_that_is_ahead_of_the_clock_makes_no_lease_longer() {
    play(|case| async move {
        let lease = held(&case).await;
        let told = lock(&case).wait_timeout(s(60));
        let noted = case.clone();
        let had = meanwhile(&case, &machine(), async move {
            let lease = told.acquire().await.expect("a lease");
            // Its request left at 20 ms, and was answered by Redis at 30 ms. It was handed the lock
            // at 50 ms.
            let most = ms(20 + 20 + 10_000 - now(&noted));
            assert!(lease.remaining() <= most, "{:?}", lease.remaining());
        });
        case.at(1_000).await;
        let ahead = case.redis_us(50) + 3_600_000_000;
        case.invent(&format!("{ahead} {}", case.redis_us(50)));
        sleep(&case, 100).await;
        assert_eq!(had.at(), Some(1_000 + 10));
        drop(lease);
    });
}

#[test]
fn a_message_from_before_an_answer_that_is_on_its_way_is_no_lease() {
    play(|case| async move {
        let (lease, had) = waited_for(&case).await;
        case.at(ASKS_AGAIN - 3).await;
        // The message arrives when the answer has left Redis, and has not arrived.
        let said = case.redis_us(ASKS_AGAIN - 3);
        case.invent(&handed_over(said));
        is_not_had(&case, lease, &had).await;
    });
}

#[test]
fn a_message_from_before_an_answer_that_was_not_enough_is_no_lease() {
    play(|case| async move {
        // The subscription is confirmed while a request of one second is under way, so that it asks
        // once more.
        let (lease, had) = waited_for(&case).await;
        case.at(35).await;
        slow_down(&case, 1_000);
        case.at(45).await;
        case.net.set(STEADY);
        // The first answer leaves Redis at 1,050 ms.
        case.at(1_061).await;
        let said = case.redis_us(1_045);
        case.invent(&handed_over(said));
        is_not_had(&case, lease, &had).await;
    });
}

#[test]
fn a_hand_over_behind_an_answer_that_is_on_its_way_is_taken_at_no_further_request() {
    play(|case| async move {
        let (lease, had) = waited_for(&case).await;
        // The answer to its next request takes longer than the message of the release behind it.
        case.at(ASKS_AGAIN + 5).await;
        slow_down(&case, 80);
        case.at(ASKS_AGAIN + 12).await;
        case.net.set(STEADY);
        lease.release().await.expect("held");
        sleep(&case, 500).await;
        assert_eq!(had.at(), Some(ASKS_AGAIN + 10 + 80));
    });
}

#[test]
fn a_hand_over_is_taken_though_what_was_asked_meanwhile_gets_lost() {
    play(|case| async move {
        let (lease, had) = waited_for(&case).await;
        case.at(ASKS_AGAIN - 5).await;
        case.net.set(CUT);
        case.at(ASKS_AGAIN + 5).await;
        case.net.set(STEADY);
        lease.release().await.expect("held");
        sleep(&case, 1_000).await;
        // It takes the hand-over once the request has timed out.
        assert_eq!(had.at(), Some(ASKS_AGAIN + 500));
    });
}
