//! Permits that become free before all waiters could hear of it.

use super::*;

/// Starts a waiter for one of two permits, which keeps it. Notes when it has it.
fn waits_for_a_permit(case: &Rc<Case>) -> Rc<Cell<Option<Time>>> {
    let machine = machine();
    let semaphore = client(case, &machine).semaphore("a", 2);
    let semaphore = semaphore.wait_timeout(Duration::from_secs(60));
    meanwhile(case, &machine, async move {
        let lease = semaphore.acquire().await.expect("a permit");
        drop(lease.into_token());
    })
}

/// Two permits vanish without a message while two waiters listen, of whom the second came 2 s
/// later. Returns how long after the first the second has a permit.
fn second_follows_after(redis: &Rc<Redis>) -> u64 {
    play_on(redis, move |case| async move {
        let semaphore = client(&case, &machine()).semaphore("a", 2);
        let semaphore = semaphore.ttl(Duration::from_secs(60));
        for _ in 0..2 {
            let lease = semaphore.try_acquire().await.expect("a permit");
            drop(lease.into_token());
        }
        let first = waits_for_a_permit(&case);
        sleep(&case, 2_000).await;
        let second = waits_for_a_permit(&case);
        // By now the second has asked once more, and the first has not yet.
        sleep(&case, 1_200).await;
        case.redis.execute(&[b"DEL", b"a"]);
        sleep(&case, 10_000).await;
        let [first, second] = [first, second].map(|had| in_ms(&had).expect("a permit"));
        second - first
    })
}

#[test]
fn an_acquirer_of_a_permit_tells_the_next_of_another() {
    // The message takes as long as the first waiter's answer. Then the second asks, and is
    // answered.
    assert_eq!(second_follows_after(&Rc::default()), 20);
}

/// A sabotage: without a message the second asks only when its liveness demands it.
#[test]
fn a_permit_of_which_nobody_is_told_is_noticed() {
    let told = "if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end";
    let redis = Rc::new(Redis::with(told, ""));
    assert!(second_follows_after(&redis) > 1_000);
}
