//! Semaphores: so many permits may be held at once, and each promises what a lock does.

use edgelock::{Error, Token};
use tokio::task::JoinHandle;

use crate::support::watched::Seen;
use crate::support::{Spawn, Stack, TestClient, TestLock, code, eventually, ms, over};
use crate::waiting::Watched;

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_permit_is_the_token_in_a_sorted_set_until_when_it_ends,
        as_many_hold_it_at_once_as_there_are_permits,
        a_client_that_counts_fewer_permits_takes_none_away_and_waits,
        a_permit_that_ran_out_is_none_that_a_forced_release_frees,
    }
}

/// Promises that need a bridge with subscriptions.
mod push {
    use super::*;

    over! {
        [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
            a_permit_that_was_free_before_a_waiter_listened_is_not_left_lying,
            a_forced_release_hands_permits_to_as_many_as_wait,
            a_waiter_for_a_permit_is_handed_no_lock_of_another_kind,
        }
    }
}

impl Stack {
    fn semaphore(&self, permits: u32) -> TestLock {
        permitted(&self.client(), permits)
    }

    fn permits(&mut self) -> usize {
        self.redis("ZCARD a")
    }

    /// Starts one more waiter for one of two permits; `place` in the queue counts from 1.
    async fn listens_for_a_permit(&mut self, place: usize) -> (JoinHandle<Watched>, Seen) {
        let asked = Self::asked_at(place, 2);
        self.listens(place, asked, |client| client.semaphore("a", 2)).await
    }

    /// Until when a permit is held, in Redis's milliseconds.
    fn until(&mut self, token: &Token) -> u64 {
        self.redis(&format!("ZSCORE a {}", token.expose()))
    }
}

fn permitted(client: &TestClient, permits: u32) -> TestLock {
    client.semaphore("a", permits)
}

async fn a_permit_is_the_token_in_a_sorted_set_until_when_it_ends(mut stack: Stack) {
    let lease = stack.semaphore(2).try_acquire().await.unwrap();
    let (seconds, micros): (u64, u64) = stack.redis("TIME");
    let now = seconds * 1_000 + micros / 1_000;
    let until = stack.until(lease.token());
    assert!((now + 5_000..=now + 10_000).contains(&until), "{until}");
    assert!((5_001..=10_000).contains(&stack.redis::<u64>("PTTL a")));
    assert_eq!(stack.last_fence("a"), lease.fence());
    lease.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a {a}:holds"));
}

async fn as_many_hold_it_at_once_as_there_are_permits(mut stack: Stack) {
    let brief = stack.semaphore(3).ttl(ms(5_000));
    let first = brief.label("first").try_acquire().await.unwrap();
    let semaphore = stack.semaphore(3);
    let second = semaphore.try_acquire().await.unwrap();
    let third = semaphore.try_acquire().await.unwrap();
    assert_eq!(stack.permits(), 3);
    // The semaphore is held until the first permit ends.
    let held = semaphore.try_acquire().await.unwrap_err();
    let Error::Held { remaining: Some(remaining), label: Some(label), .. } = held else {
        panic!("{held:?}")
    };
    assert!(remaining <= ms(5_000), "{remaining:?}");
    assert_eq!(label, "first");
    second.release().await.unwrap();
    let fourth = semaphore.try_acquire().await.unwrap();
    for lease in [first, third, fourth] {
        lease.release().await.unwrap();
    }
    assert_eq!(stack.permits(), 0);
}

async fn a_client_that_counts_fewer_permits_takes_none_away_and_waits(mut stack: Stack) {
    let mut leases = Vec::new();
    for _ in 0..3 {
        leases.push(stack.semaphore(3).try_acquire().await.unwrap());
    }
    // Whoever allows two must wait until fewer than two are held: until two of the three have
    // ended.
    let fewer = stack.semaphore(2);
    assert_eq!(code(fewer.try_acquire().await), "held");
    assert_eq!(stack.permits(), 3);
    leases.pop().unwrap().release().await.unwrap();
    assert_eq!(code(fewer.try_acquire().await), "held");
    leases.pop().unwrap().release().await.unwrap();
    leases.push(fewer.try_acquire().await.unwrap());
    // Whoever allows three gets one more.
    assert_eq!(code(fewer.try_acquire().await), "held");
    leases.push(stack.semaphore(3).try_acquire().await.unwrap());
    for lease in leases {
        lease.release().await.unwrap();
    }
}

async fn a_permit_that_ran_out_is_none_that_a_forced_release_frees(mut stack: Stack) {
    let semaphore = stack.semaphore(2);
    let brief = stack.semaphore(2).ttl(ms(1_000));
    let _ = brief.try_acquire().await.unwrap().into_token();
    let longer = semaphore.try_acquire().await.unwrap();
    longer.release().await.unwrap();
    eventually(|| {
        let (seconds, micros): (u64, u64) = stack.redis("TIME");
        let over = format!("ZCOUNT a {} +inf", seconds * 1_000 + micros / 1_000);
        stack.redis::<u64>(&over) == 0
    })
    .await;
    assert!(!semaphore.force_release().await.unwrap());
}

async fn a_permit_that_was_free_before_a_waiter_listened_is_not_left_lying(mut stack: Stack) {
    let semaphore = stack.semaphore(2).ttl(ms(60_000));
    let one = semaphore.try_acquire().await.unwrap();
    let other = semaphore.try_acquire().await.unwrap();
    let mut waiters = Vec::new();
    for place in 1..=2 {
        waiters.push(stack.listens_for_a_permit(place).await.0);
    }
    // Both permits vanish without a message. The first waiter that asks finds out, and tells
    // the next.
    let gone = [&one, &other].map(|lease| lease.token().expose().to_owned());
    let _: () = stack.redis(&format!("ZREM a {} {}", gone[0], gone[1]));
    for waiter in waiters {
        let _ = waiter.await.unwrap().into_token();
    }
    assert_eq!(stack.permits(), 2);
}

async fn a_forced_release_hands_permits_to_as_many_as_wait(mut stack: Stack) {
    let semaphore = stack.semaphore(2);
    let one = semaphore.try_acquire().await.unwrap();
    let other = semaphore.try_acquire().await.unwrap();
    let mut waiters = Vec::new();
    for place in 1..=3 {
        waiters.push(stack.listens_for_a_permit(place).await.0);
    }
    assert!(semaphore.force_release().await.unwrap());
    let third = waiters.pop().unwrap();
    for waiter in waiters {
        let _ = waiter.await.unwrap().into_token();
    }
    assert_eq!((stack.permits(), stack.waiters()), (2, 1));
    assert!(semaphore.force_release().await.unwrap());
    third.await.unwrap().release().await.unwrap();
    for lost in [one, other] {
        assert_eq!(code(lost.release().await), "lost");
    }
}

async fn a_waiter_for_a_permit_is_handed_no_lock_of_another_kind(spawn: Spawn) {
    for reads in [None, Some(true), Some(false)] {
        let mut stack = spawn();
        let semaphore = stack.semaphore(1);
        let held = semaphore.try_acquire().await.unwrap();
        let (waiter, _) = stack.listens(1, 3, |client| client.semaphore("a", 1)).await;
        let read_write = stack.client().read_write("a");
        let other = match reads {
            None => stack.lock("a"),
            Some(true) => read_write.read(),
            Some(false) => read_write.write(),
        };
        assert!(other.force_release().await.unwrap());
        let next = waiter.await.unwrap();
        assert_eq!(code(semaphore.try_acquire().await), "held");
        assert_eq!(code(held.release().await), "lost");
        next.release().await.unwrap();
    }
}
