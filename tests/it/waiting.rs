//! Waiting for a lock: queue, hand-over and polling. What listening adds is in `push.rs`.

use std::future::Future;
use std::time::Duration;

use edgelock::{Error, Lease, Lock};
use tokio::task::JoinHandle;

use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::watched::{self, WatchedClient};
use crate::support::{Http, Spawn, Stack, TestClient, Tokio, client_of, eventually, ms, over};

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_waiter_that_hears_nothing_polls,
        a_newcomer_barges_unless_it_is_fair,
        fair_waiters_are_served_in_order_of_arrival,
        a_dead_waiter_keeps_nobody_out_for_longer_though_the_clock_is_set_back,
        a_damaged_queue_does_not_keep_a_lock_from_being_freed,
        a_wait_in_vain_says_how_many_are_ahead_and_when_to_come_back,
    }
}

pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Runs `work` while the test goes on.
pub(crate) fn meanwhile<O: 'static>(work: impl Future<Output = O> + 'static) -> JoinHandle<O> {
    tokio::task::spawn_local(work)
}

/// Waits for the lock `a` while the test goes on.
pub(crate) fn acquire(client: &WatchedClient) -> JoinHandle<Result<Watched, Error>> {
    let lock = client.lock("a").wait_timeout(LONG);
    meanwhile(async move { lock.acquire().await })
}

pub(crate) type Watched = Lease<watched::Watched<Http>, watched::Watched<Tokio>>;

impl Stack {
    pub(crate) fn listeners(&mut self) -> usize {
        self.redis::<Vec<String>>("PUBSUB CHANNELS *").len()
    }

    pub(crate) fn waiters(&mut self) -> usize {
        self.waiters_for("a")
    }

    pub(crate) async fn has_listeners(&mut self, count: usize) {
        eventually(|| self.listeners() == count).await;
    }

    /// The keys that Redis has. Each must expire, at the latest after 8 days.
    pub(crate) fn keys_that_all_expire(&mut self) -> Vec<String> {
        let keys: Vec<String> = self.redis("KEYS *");
        for key in &keys {
            let left: i64 = self.redis(&format!("PTTL {key}"));
            assert!(left > 0 && left <= 8 * 24 * 60 * 60 * 1_000, "{key} {left}");
        }
        keys
    }

    pub(crate) async fn has_waiters(&mut self, count: usize) {
        eventually(|| self.waiters() == count).await;
    }

    /// Starts one more waiter that listens, and that has asked so often. There are `count` then.
    pub(crate) async fn listens(
        &mut self,
        count: usize,
        asked: usize,
        lock: impl FnOnce(&WatchedClient) -> Lock<watched::Watched<Http>, watched::Watched<Tokio>>,
    ) -> (JoinHandle<Watched>, watched::Seen) {
        let (client, seen) = self.watched();
        let lock = lock(&client).wait_timeout(LONG);
        let waiter = meanwhile(async move { lock.acquire().await.unwrap() });
        self.has_listeners(count).await;
        eventually(|| seen.waits_quietly(asked)).await;
        (waiter, seen)
    }

    /// How often one at this place in the queue has asked, once it listens. If those ahead may
    /// leave room for it, since so many may have the lock `at_once`, it asks once more when its
    /// subscription is confirmed.
    pub(crate) fn asked_at(place: usize, at_once: usize) -> usize {
        if place <= at_once { 3 } else { 2 }
    }

    /// A client whose waiters do not listen.
    pub(crate) fn deaf(&self) -> TestClient {
        client_of(self.route().push(false))
    }
}

async fn a_waiter_that_hears_nothing_polls(mut stack: Stack) {
    let proxy = Proxy::before(&stack, []).await;
    let client = client_of(stack.route_by(&proxy.url).push(true));
    let holder = stack.lock("a").acquire().await.unwrap();
    let lock = client.lock("a").wait_timeout(LONG);
    let waiter = meanwhile(async move { lock.acquire().await });
    // It asked, found that the bridge has no subscriptions, and asked again.
    eventually(|| proxy.seen().len() >= 4).await;
    holder.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(stack.waiters(), 0);
    // It does not try to subscribe again.
    let holder = stack.lock("a").acquire().await.unwrap();
    let before = proxy.seen().len();
    let lock = client.lock("a").wait_timeout(LONG);
    let waiter = meanwhile(async move { lock.acquire().await });
    eventually(|| proxy.seen().len() >= before + 3).await;
    holder.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
    let subscribes = |words: &&Vec<String>| words[0] == "SUBSCRIBE";
    assert_eq!(proxy.seen().iter().filter(subscribes).count(), 1);
}

async fn a_newcomer_barges_unless_it_is_fair(mut stack: Stack) {
    // The queue has a waiter that no release can tell, so the lock is free while that one
    // waits.
    let wait = |alive: i64| {
        let times = format!("{alive:013} {:013} {:013}", 0, 1);
        format!("v1 1 604800000 ,{times} v1 AAAAAAAAAAAAAAAAAAAAAA 1000 f 1000  ,")
    };
    stack.store("{a}:fence", &wait(i64::MAX / 1_000_000));
    let fair = stack.lock("a").fair(true);
    let Err(Error::Held { ahead: 1, .. }) = fair.try_acquire().await else {
        panic!("it passed a waiter")
    };
    let barging = stack.lock("a").try_acquire().await.unwrap();
    barging.release().await.unwrap();
    // Once that waiter counts as dead, others pass it.
    stack.store("{a}:fence", &wait(1));
    fair.try_acquire().await.unwrap().release().await.unwrap();
}

async fn fair_waiters_are_served_in_order_of_arrival(spawn: Spawn) {
    for kind in [Kind::Mutex, Kind::Semaphore, Kind::Writer, Kind::Multi] {
        let mut stack = spawn();
        let lock = |client: &TestClient| kind.lock(client, &["a", "b"], "").fair(true);
        let holder = lock(&stack.client()).acquire().await.unwrap();
        let mut waiters = Vec::new();
        for place in 1..=5 {
            // Waiters that cannot listen get their turn too.
            let client = match place % 2 {
                0 => stack.deaf(),
                _ => stack.client(),
            };
            let lock = lock(&client).wait_timeout(LONG);
            waiters.push(meanwhile(async move {
                let lease = lock.acquire().await.unwrap();
                let fence = lease.fence();
                lease.release().await.unwrap();
                fence
            }));
            stack.has_waiters(place).await;
        }
        holder.release().await.unwrap();
        let mut last = holder.fence();
        for waiter in waiters {
            let fence = waiter.await.unwrap();
            assert!(fence > last, "{kind:?}: {fence} after {last}");
            last = fence;
        }
    }
}

async fn a_dead_waiter_keeps_nobody_out_for_longer_though_the_clock_is_set_back(mut stack: Stack) {
    // It asked for the last time when the clock was an hour ahead.
    let (seconds, _): (u64, u64) = stack.redis("TIME");
    let ahead = (seconds + 3_600) * 1_000;
    let waiter = format!("{} 0000000000000 {ahead} v1 dead 10000 f 10000  ,", ahead + 10_000);
    stack.store("{a}:fence", &format!("v1 {ahead}000 604800000 ,{waiter}"));
    let lock = stack.lock("a").fair(true).wait_timeout(LONG / 2);
    lock.acquire().await.unwrap().release().await.unwrap();
    assert_eq!(stack.waiters(), 0);
}

async fn a_damaged_queue_does_not_keep_a_lock_from_being_freed(mut stack: Stack) {
    let lock = stack.lock("a");
    let holder = lock.try_acquire().await.unwrap();
    let _: () = stack.redis("APPEND {a}:fence damage,+");
    let _: () = stack.redis("SET {a}:queue damage");
    holder.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_wait_in_vain_says_how_many_are_ahead_and_when_to_come_back(mut stack: Stack) {
    let _holder = stack.lock("a").acquire().await.unwrap();
    let (client, _) = stack.watched();
    let waiter = acquire(&client);
    stack.has_waiters(1).await;
    let lock: Lock<Http, Tokio> = stack.lock("a").wait_timeout(ms(200));
    for waits in [true, false] {
        let error = if waits {
            lock.acquire().await.unwrap_err()
        } else {
            lock.try_acquire().await.unwrap_err()
        };
        let Error::Held { remaining: Some(remaining), ahead: 1, retry_after, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(retry_after, remaining);
        stack.has_waiters(1).await;
    }
    waiter.abort();
}
