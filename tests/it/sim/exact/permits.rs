//! Permits that become free before all waiters could hear of it.

use super::*;

/// Two permits vanish without a message while two waiters listen, of whom the second came 2 s
/// later. Returns how long after the first the second has a permit.
fn second_follows_after(redis: Redis) -> u64 {
    play_on(redis, move |case| async move {
        let semaphore = || client(&case, &machine()).semaphore("a", 2);
        // Starts a waiter for a permit, which keeps it.
        let waits = || {
            let semaphore = semaphore().wait_timeout(s(60));
            meanwhile(&case, &machine(), async move {
                semaphore.acquire().await.expect("a permit").into_token();
            })
        };
        for _ in 0..2 {
            let lease = semaphore().ttl(s(60)).try_acquire().await;
            lease.expect("a permit").into_token();
        }
        let first = waits();
        sleep(&case, 2_000).await;
        let second = waits();
        // By now the second has asked once more, and the first has not yet.
        sleep(&case, 1_200).await;
        case.redis.execute(&[b"DEL", b"a"]);
        sleep(&case, 10_000).await;
        let [first, second] = [first, second].map(|had| had.at().expect("a permit"));
        second - first
    })
}

/// Two wait, and one release leaves room for both, when the second has asked and does not listen
/// yet. Returns how many milliseconds after it asked the second has its place.
fn latecomer_follows_after(all: fn(&SimClient) -> SimLock, one: fn(&SimClient) -> SimLock) -> u64 {
    play(move |case| async move {
        let holder = all(&client(&case, &machine())).try_acquire().await.expect("all");
        let waits = || {
            let lock = one(&client(&case, &machine())).wait_timeout(s(60));
            meanwhile(&case, &machine(), async move {
                lock.acquire().await.expect("a place").into_token();
            })
        };
        let first = waits();
        sleep(&case, 100).await;
        let (second, asked_at) = (waits(), case.world.now() / MS);
        // Its request is there, and its subscription is not when the release is.
        sleep(&case, 10).await;
        holder.release().await.expect("it was held");
        sleep(&case, 10_000).await;
        first.told();
        second.at().expect("a place") - asked_at
    })
}

stories! {
    // The message takes as long as the first waiter's answer. Then the second asks, and is
    // answered.
    an_acquirer_of_a_permit_tells_the_next_of_another: second_follows_after(Redis::default()) => 20,
    /// A sabotage: without a message the second asks only when its liveness demands it.
    a_permit_of_which_nobody_is_told_is_noticed: second_follows_after(Redis::with(
        "if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end",
        "",
    )) => 1_001..,
    // Four ways until it listens, and two until it is answered.
    a_latecomer_has_the_permit_that_is_left: latecomer_follows_after(
        |client| client.semaphore("a", 2).weight(2),
        |client| client.semaphore("a", 2),
    ) => 60,
    a_latecomer_reads_beside_the_first: latecomer_follows_after(
        |client| client.read_write("a").write(),
        |client| client.read_write("a").read(),
    ) => 60,
}
