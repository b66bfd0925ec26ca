//! Several limits in one lease: permits of several semaphores, all of them or none.

use edgelock::{Error, Limit};
use tokio::task::JoinSet;

use crate::support::{Stack, TestLock, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

over! {
    [upstash, webdis, on_redis_6_2, on_valkey_9] {
        all_limits_are_taken_under_one_fence_or_none,
        permits_of_a_semaphore_and_of_limits_count_together,
        who_waits_for_one_tenant_keeps_no_other_from_the_rest,
        another_programs_key_behind_many_holders_is_told_and_nothing_is_taken,
        a_fence_that_leaves_none_behind_it_does_not_spread,
    }
}

/// Promises that need a bridge with subscriptions.
mod push {
    use super::*;

    over! {
        [upstash, webdis, on_redis_6_2, on_valkey_9] {
            a_release_of_one_limit_tells_its_waiter_to_ask_and_leaves_it_room,
            a_release_of_limits_hands_each_permit_on,
            the_oldest_waiter_is_told_first_though_it_moved,
            who_acquires_again_at_once_starves_nobody,
            room_is_kept_for_one_that_came_long_ago_and_was_told_of_it,
            a_waiter_that_has_no_requests_left_gives_up,
        }
    }
}

impl Stack {
    /// One of the permit of `a`, and so many of the three of `b`.
    fn limited(&self, of_b: u32) -> TestLock {
        let b = Limit::new("b", 3).permits(of_b);
        self.client().limits([Limit::new("a", 1), b])
    }

    fn held(&mut self) -> (usize, usize) {
        (self.redis("ZCARD a"), self.redis("ZCARD b"))
    }
}

#[track_caller]
fn full<O: std::fmt::Debug>(outcome: Result<O, Error>) -> String {
    match outcome.unwrap_err() {
        Error::Held { lock, .. } => lock,
        other => panic!("{other:?}"),
    }
}

async fn all_limits_are_taken_under_one_fence_or_none(mut stack: Stack) {
    // The last fence of one name is ahead of Redis's clock.
    let ahead = 8_000_000_000_000_000_u64;
    stack.store("{b}:fence", &format!("v1 {ahead} 604800000 ,"));
    let lease = stack.limited(2).try_acquire().await.unwrap();
    assert_eq!(lease.fence(), ahead + 1);
    for name in ["a", "b"] {
        assert_eq!(stack.last_fence(name), lease.fence());
    }
    assert_eq!(full(stack.limited(1).try_acquire().await), "a");
    let labelled = stack.client().semaphore("b", 3).label("worker 7");
    let one = labelled.try_acquire().await.unwrap();
    let both = stack.client().limits([("b", 3), ("c", 2)]);
    assert_eq!(full(both.try_acquire().await), "b");
    assert!(!stack.redis::<bool>("EXISTS c {c}:fence"));
    lease.release().await.unwrap();
    assert_eq!(stack.held(), (0, 1));
    assert_eq!(full(stack.limited(3).try_acquire().await), "b");
    assert_eq!(stack.held(), (0, 1));
    let next = stack.limited(2).try_acquire().await.unwrap();
    assert!(next.fence() > one.fence());
    next.release().await.unwrap();
    one.release().await.unwrap();
}

async fn permits_of_a_semaphore_and_of_limits_count_together(stack: Stack) {
    let plain = stack.client().semaphore("b", 3);
    let lease = stack.limited(2).try_acquire().await.unwrap();
    assert_eq!(plain.inspect().await.unwrap().free, Some(1));
    let one = plain.try_acquire().await.unwrap();
    assert_eq!(code(plain.try_acquire().await), "held");
    lease.renew().await.unwrap();
    lease.release().await.unwrap();
    let two = plain.clone().weight(2).try_acquire().await.unwrap();
    assert_eq!(full(stack.limited(1).try_acquire().await), "b");
    // A caller's number counts for its own acquisition.
    let more = [Limit::new("a", 1), Limit::new("b", 4)];
    let more = stack.client().limits(more).try_acquire().await.unwrap();
    for lease in [one, two, more] {
        lease.release().await.unwrap();
    }
}

async fn who_waits_for_one_tenant_keeps_no_other_from_the_rest(mut stack: Stack) {
    let of = |tenant: &str| stack.client().limits([(tenant, 1), ("zz", 2)]);
    let (busy, other) = (of("busy"), of("other"));
    let held = busy.try_acquire().await.unwrap();
    let mut waiters = JoinSet::new();
    for _ in 0..3 {
        let waiting = busy.clone().wait_timeout(LONG).max_requests(1_000);
        waiters.spawn_local(async move {
            waiting.acquire().await.unwrap().release().await.unwrap();
        });
    }
    eventually(|| stack.waiters_for("busy") == 3).await;
    for _ in 0..3 {
        let lease = other.try_acquire().await.unwrap();
        lease.release().await.unwrap();
    }
    assert_eq!(stack.waiters_for("busy"), 3);
    held.release().await.unwrap();
    waiters.join_all().await;
    assert!(!stack.redis::<bool>("EXISTS busy other zz"));
}

async fn another_programs_key_behind_many_holders_is_told_and_nothing_is_taken(mut stack: Stack) {
    let many = stack.client().semaphore("b", 20);
    let mut leases = Vec::new();
    for _ in 0..16 {
        leases.push(many.try_acquire().await.unwrap());
    }
    let _: () = stack.redis("SET {b}:holds theirs");
    let both = stack.client().limits([("a", 1), ("b", 20)]);
    assert_eq!(code(both.try_acquire().await), "wrong_type");
    assert_eq!(stack.held(), (0, 16));
    assert!(!stack.redis::<bool>("EXISTS {a}:fence"));
}

async fn a_fence_that_leaves_none_behind_it_does_not_spread(mut stack: Stack) {
    for last in [9_007_199_254_740_990_u64, 9_007_199_254_740_991] {
        stack.store("{b}:fence", &format!("v1 {last} 604800000 ,"));
        assert_eq!(code(stack.limited(1).try_acquire().await), "wrong_type");
        assert!(!stack.redis::<bool>("EXISTS a b {a}:fence"), "{last}");
        assert_eq!(stack.last_fence("b"), last);
    }
}

async fn a_release_of_one_limit_tells_its_waiter_to_ask_and_leaves_it_room(mut stack: Stack) {
    let b = stack.client().semaphore("b", 3);
    let heavy = b.clone().weight(3).acquire().await.unwrap();
    let waiting = stack.limited(2).wait_timeout(LONG);
    let waiter = meanwhile(async move { waiting.acquire().await });
    eventually(|| stack.waiters_for("b") == 1).await;
    // It is not handed what is free, and neither is who came later, and waits for its turn.
    let later = b.clone().weight(2).fair(true).wait_timeout(LONG);
    let later = meanwhile(async move { later.acquire().await });
    eventually(|| stack.waiters_for("b") == 2).await;
    heavy.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(stack.held(), (1, 1));
    lease.release().await.unwrap();
    let later = later.await.unwrap().unwrap();
    assert!(later.fence() > lease.fence());
    later.release().await.unwrap();
}

async fn a_release_of_limits_hands_each_permit_on(mut stack: Stack) {
    let lease = stack.limited(3).try_acquire().await.unwrap();
    let mut waiters = Vec::new();
    for (name, most) in [("a", 1), ("b", 3), ("b", 3)] {
        let waiting = stack.client().semaphore(name, most).wait_timeout(LONG);
        waiters.push(meanwhile(async move { waiting.acquire().await }));
    }
    eventually(|| stack.waiters_for("a") == 1 && stack.waiters_for("b") == 2).await;
    stack.has_listeners(3).await;
    lease.release().await.unwrap();
    assert_eq!(stack.held(), (1, 2));
    for waiter in waiters {
        waiter.await.unwrap().unwrap().release().await.unwrap();
    }
}

async fn the_oldest_waiter_is_told_first_though_it_moved(mut stack: Stack) {
    let a = stack.client().semaphore("a", 1).acquire().await.unwrap();
    let b = stack.client().semaphore("b", 1);
    let held = b.acquire().await.unwrap();
    let client = stack.client();
    let waits = |label: &str, names: [(&'static str, u32); 2]| {
        let lock = client.limits(names).label(label).wait_timeout(LONG);
        meanwhile(async move { lock.acquire().await.unwrap().release().await })
    };
    let oldest = waits("oldest", [("a", 1), ("b", 1)]);
    eventually(|| stack.waiters_for("a") == 1).await;
    let later = waits("later", [("b", 1), ("c", 1)]);
    eventually(|| stack.waiters_for("b") == 1).await;
    a.release().await.unwrap();
    eventually(|| stack.waiters_for("b") == 2).await;
    let record: String = stack.redis("GET {b}:fence");
    let place = |label: &str| record.find(label).expect("a waiter");
    assert!(place(" oldest ") < place(" later "), "{record}");
    held.release().await.unwrap();
    oldest.await.unwrap().unwrap();
    later.await.unwrap().unwrap();
}

async fn who_acquires_again_at_once_starves_nobody(mut stack: Stack) {
    let both = stack.client().limits([("a", 1), ("b", 3)]);
    let only = stack.client().semaphore("a", 1);
    for greedy in [both.clone(), only] {
        let greedy = greedy.wait_timeout(LONG).max_requests(1_000_000);
        let first = greedy.acquire().await.unwrap();
        let waiting = both.clone().wait_timeout(ms(10_000)).max_requests(1_000);
        let waiter = meanwhile(async move { waiting.acquire().await });
        eventually(|| stack.waiters_for("a") == 1).await;
        stack.has_listeners(1).await;
        let greedy = meanwhile(async move {
            let mut lease = first;
            loop {
                lease.release().await.unwrap();
                lease = greedy.acquire().await.unwrap();
            }
        });
        waiter.await.unwrap().unwrap().release().await.unwrap();
        greedy.abort();
        assert!(greedy.await.unwrap_err().is_cancelled());
        eventually(|| stack.held() == (0, 0) && stack.waiters_for("a") == 0).await;
    }
}

/// It hears of the room, and has not asked yet.
async fn room_is_kept_for_one_that_came_long_ago_and_was_told_of_it(stack: Stack) {
    let both = stack.client().limits([("a", 1), ("b", 3)]);
    let only = stack.client().semaphore("a", 1);
    for greedy in [&both, &only] {
        let first = greedy.acquire().await.unwrap();
        let long = both.clone().wait_timeout(LONG).max_requests(1_000);
        let mut waiting = Box::pin(long.acquire());
        let waited = tokio::time::timeout(ms(2_300), &mut waiting).await;
        assert!(waited.is_err());
        first.release().await.unwrap();
        assert_eq!(code(greedy.try_acquire().await), "held");
        waiting.await.unwrap().release().await.unwrap();
        // Nobody waits any more.
        greedy.try_acquire().await.unwrap().release().await.unwrap();
    }
}

async fn a_waiter_that_has_no_requests_left_gives_up(stack: Stack) {
    let held = stack.limited(1).ttl(LONG).acquire().await.unwrap();
    // It asks, listens, asks again, and has one request left to leave the queue.
    let few = stack.limited(1).max_requests(4);
    let few = few.wait_timeout(LONG);
    let told = tokio::time::timeout(ms(8_000), few.acquire()).await;
    assert_eq!(full(told.expect("it listens in vain")), "a");
    held.release().await.unwrap();
}
