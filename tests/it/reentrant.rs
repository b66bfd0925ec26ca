//! Locks that their owner may enter again, stored as Redisson stores its `RLock`.
//!
//! Here single commands stand in for Redisson. `neighbours/redisson.rs` does all that Redisson
//! does, by scripts like its own.

use std::collections::HashMap;

use edgelock::{Command, Token};

use crate::support::{Stack, TestLock, code, eventually, ms, over};
use crate::waiting::meanwhile;

const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:31";

impl Stack {
    fn reentrant(&self, owner: &str) -> TestLock {
        self.client().reentrant("a", owner)
    }

    fn counts(&mut self) -> HashMap<String, u64> {
        self.redis("HGETALL a")
    }

    fn count(&mut self, owner: &str) -> u64 {
        self.counts().get(owner).copied().unwrap_or(0)
    }

    /// Until when each entry counts, in Redis's ms.
    fn ends_of_entries(&mut self) -> Vec<u64> {
        let kept: String = self.redis("GET {a}:fence");
        let (holds, _) = kept.split_once(',').expect("a record");
        let holds = holds.splitn(4, ' ').nth(3).expect("holds");
        (holds.split_terminator(';').filter(|hold| !hold.starts_with("- ")))
            .map(|hold| hold.split(' ').nth(3).expect("a time"))
            .map(|until| until.parse().expect("a number"))
            .collect()
    }

    /// An entry whose handler dies, or whose release is lost.
    async fn entry_that_dies(&self) -> Token {
        let brief = self.reentrant(OWNER).ttl(ms(500));
        brief.acquire().await.unwrap().into_token()
    }

    async fn has_an_entry_that_is_over(&mut self) {
        eventually(|| {
            let (seconds, micros): (u64, u64) = self.redis("TIME");
            let now = seconds * 1_000 + micros / 1_000;
            self.ends_of_entries().iter().filter(|until| **until < now).count() == 1
        })
        .await;
    }
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        it_is_stored_as_a_hash_from_owner_to_count_with_the_ttl,
        its_owner_enters_again_and_only_the_last_release_frees_it,
        entering_again_for_less_does_not_shorten_what_the_outer_entry_has,
        an_entry_that_ran_out_cannot_leave_a_later_hold_of_its_owner,
        an_entry_that_ran_out_does_not_count_though_its_owner_came_again,
        an_inspection_does_not_count_entries_that_are_over,
    }
}

/// Promises that need a bridge with subscriptions.
mod push {
    use super::*;

    over! {
        [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
            the_last_release_wakes_waiters_on_redissons_channel,
            a_waiter_hears_of_redissons_release,
            a_waiter_that_is_told_again_and_again_keeps_requests_until_the_end_of_its_wait,
        }
    }
}

async fn it_is_stored_as_a_hash_from_owner_to_count_with_the_ttl(mut stack: Stack) {
    let lease = stack.reentrant(OWNER).acquire().await.unwrap();
    assert_eq!(stack.counts(), HashMap::from([(OWNER.to_owned(), 1)]));
    assert!((9_000..=10_000).contains(&stack.redis::<u64>("PTTL a")));
    let keys: Vec<String> = stack.redis("KEYS *");
    for key in keys {
        assert!(stack.redis::<i64>(&format!("PTTL {key}")) > 0, "{key}");
    }
    lease.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a"));
    assert_eq!(stack.ends_of_entries(), [0; 0]);
}

async fn its_owner_enters_again_and_only_the_last_release_frees_it(mut stack: Stack) {
    let outer = stack.reentrant(OWNER).acquire().await.unwrap();
    // Entered from another handler, which shares only the owner.
    let inner = stack.reentrant(OWNER).acquire().await.unwrap();
    assert_eq!(stack.count(OWNER), 2);
    assert_eq!(inner.fence(), outer.fence());
    let other = stack.reentrant("other");
    assert_eq!(other.try_acquire().await.unwrap_err().code(), "held");
    outer.release().await.unwrap();
    assert_eq!(stack.count(OWNER), 1);
    assert_eq!(other.try_acquire().await.unwrap_err().code(), "held");
    inner.release().await.unwrap();
    let lease = other.try_acquire().await.unwrap();
    assert!(lease.fence() > outer.fence());
    assert_eq!(code(outer.release().await), "released");
    lease.release().await.unwrap();
}

async fn entering_again_for_less_does_not_shorten_what_the_outer_entry_has(mut stack: Stack) {
    let outer = stack.reentrant(OWNER).acquire().await.unwrap();
    let short = stack.reentrant(OWNER).ttl(ms(2_000));
    let inner = short.acquire().await.unwrap();
    inner.renew().await.unwrap();
    assert!(stack.redis::<u64>("PTTL a") > 9_000);
    inner.release().await.unwrap();
    assert!(stack.redis::<u64>("PTTL a") > 9_000);
    outer.release().await.unwrap();
}

async fn the_last_release_wakes_waiters_on_redissons_channel(mut stack: Stack) {
    let channel = "redisson_lock__channel:{a}";
    let mut theirs = stack.bridge.redis().get_connection().unwrap();
    let mut messages = theirs.as_pubsub();
    messages.set_read_timeout(Some(ms(10_000))).unwrap();
    messages.subscribe(channel).unwrap();
    let outer = stack.reentrant(OWNER).acquire().await.unwrap();
    let inner = stack.reentrant(OWNER).acquire().await.unwrap();
    inner.release().await.unwrap();
    let waiting = stack.reentrant("other");
    let waiter = tokio::task::spawn_local(async move { waiting.acquire().await });
    eventually(|| stack.redis::<(String, u64)>(&format!("PUBSUB NUMSUB {channel}")).1 == 2).await;
    outer.release().await.unwrap();
    // The message comes only now, and Redisson understands it.
    let message = messages.get_message().unwrap();
    assert_eq!(message.get_payload::<String>().unwrap(), "0");
    waiter.await.unwrap().unwrap().release().await.unwrap();
}

async fn a_waiter_that_is_told_again_and_again_keeps_requests_until_the_end_of_its_wait(
    mut stack: Stack,
) {
    let holder = stack.reentrant("other").acquire().await.unwrap();
    let lock = stack.reentrant(OWNER).max_requests(8);
    let waiter = meanwhile(async move { lock.wait_timeout(ms(2_500)).acquire().await });
    stack.has_listeners(1).await;
    // More often than it may ask. Each time the lock may be free, and is not.
    for _ in 0..30 {
        let _: u64 = stack.redis("PUBLISH redisson_lock__channel:{a} 0");
        tokio::time::sleep(ms(20)).await;
    }
    holder.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
}

async fn a_waiter_hears_of_redissons_release(mut stack: Stack) {
    let _: () = stack.redis("HINCRBY a theirs:1 1");
    let (client, seen) = stack.watched();
    let lock = client.reentrant("a", OWNER);
    let waiter = tokio::task::spawn_local(async move { lock.acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    let _: () = stack.redis("DEL a");
    let heard: u64 = stack.redis("PUBLISH redisson_lock__channel:{a} 0");
    assert_eq!(heard, 1);
    waiter.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(seen.requests_of_grants(), [4]);
}

async fn an_entry_that_ran_out_cannot_leave_a_later_hold_of_its_owner(mut stack: Stack) {
    let short = stack.reentrant(OWNER).ttl(ms(500));
    let stale = short.acquire().await.unwrap();
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    let later = stack.reentrant(OWNER).acquire().await.unwrap();
    assert_eq!(code(stale.release().await), "lost");
    assert_eq!(stack.count(OWNER), 1);
    later.exec(&[Command::new("PING")]).await.unwrap();
    later.release().await.unwrap();
}

async fn an_entry_that_ran_out_does_not_count_though_its_owner_came_again(mut stack: Stack) {
    // Redisson's thread of the same owner may hold the lock too. Its entry counts for as long
    // as the hash exists.
    for theirs in [0, 1] {
        let dead = stack.entry_that_dies().await;
        let _: () = stack.redis(&format!("HINCRBY a {OWNER} {theirs}"));
        let later = stack.reentrant(OWNER).acquire().await.unwrap();
        assert_eq!(stack.count(OWNER), 2 + theirs);
        stack.has_an_entry_that_is_over().await;
        later.renew().await.unwrap();
        assert_eq!(stack.count(OWNER), 1 + theirs);
        let again = stack.reentrant(OWNER).acquire().await.unwrap();
        again.release().await.unwrap();
        later.release().await.unwrap();
        let late = stack.reentrant(OWNER).resume(dead).unwrap();
        assert_eq!(code(late.release().await), "lost");
        assert_eq!(stack.count(OWNER), theirs);
    }
    let _: () = stack.redis("DEL a");
    // An entry of a hold that another program ended takes nothing from the next hold.
    stack.entry_that_dies().await;
    let _: () = stack.redis("DEL a");
    let next = stack.reentrant(OWNER).acquire().await.unwrap();
    assert_eq!(stack.ends_of_entries().len(), 1);
    next.renew().await.unwrap();
    assert_eq!(stack.count(OWNER), 1);
    next.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a"));
    assert_eq!(stack.ends_of_entries(), [0; 0]);
}

async fn an_inspection_does_not_count_entries_that_are_over(mut stack: Stack) {
    let lock = stack.reentrant(OWNER);
    let count = async || {
        let holder = lock.inspect().await.unwrap().holder?;
        assert_eq!(holder.token.expose(), OWNER);
        Some(holder.count)
    };
    for theirs in [0, 1] {
        stack.entry_that_dies().await;
        let _: () = stack.redis(&format!("HINCRBY a {OWNER} {theirs}"));
        let later = lock.acquire().await.unwrap();
        assert_eq!(count().await, Some(2 + theirs));
        stack.has_an_entry_that_is_over().await;
        assert_eq!(count().await, Some(1 + theirs));
        // It has removed nothing.
        assert_eq!(stack.count(OWNER), 2 + theirs);
        later.release().await.unwrap();
        assert_eq!(count().await, (theirs > 0).then_some(theirs));
    }
}
