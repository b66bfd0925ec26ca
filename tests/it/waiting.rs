//! Waiting for a lock: queue, hand-over, push and polling.

use std::future::Future;
use std::time::Duration;

use edgelock::{Bridge, Client, Command, Error, Lease, Lock};
use tokio::task::JoinHandle;

use crate::support::faulty::Proxy;
use crate::support::watched::{Seen, WatchedClient};
use crate::support::{Http, Stack, Tokio, eventually, ms, run};

const LONG: Duration = Duration::from_secs(60);

/// Does it while the test goes on.
fn meanwhile<O: 'static>(work: impl Future<Output = O> + 'static) -> JoinHandle<O> {
    tokio::task::spawn_local(work)
}

/// Waits for the lock `a` while the test goes on.
fn acquire(client: &WatchedClient) -> JoinHandle<Result<Watched, Error>> {
    let lock = client.lock("a").unwrap().wait(LONG);
    meanwhile(async move { lock.acquire().await })
}

/// A waiter that listens, and what it does.
async fn listening(stack: &mut Stack) -> (JoinHandle<Result<Watched, Error>>, Seen) {
    let (listeners, is_first) = (stack.listeners(), stack.waiters() == 0);
    let (client, seen) = stack.watched();
    let waiter = acquire(&client);
    stack.has_listeners(listeners + 1).await;
    // The first asks once more when it listens, since the lock may have been freed in between.
    let requests = if is_first { 3 } else { 2 };
    eventually(|| seen.waits_quietly(requests)).await;
    (waiter, seen)
}

type Watched =
    Lease<crate::support::watched::Watched<Http>, crate::support::watched::Watched<Tokio>>;

impl Stack {
    fn listeners(&mut self) -> usize {
        self.redis::<Vec<String>>("PUBSUB CHANNELS *").len()
    }

    fn waiters(&mut self) -> usize {
        self.redis("ZCARD {a}:queue")
    }

    async fn has_listeners(&mut self, count: usize) {
        eventually(|| self.listeners() == count).await;
    }

    async fn has_waiters(&mut self, count: usize) {
        eventually(|| self.waiters() == count).await;
    }

    /// One who waits without listening.
    fn deaf(&self) -> Client<Http, Tokio> {
        let bridge = Bridge::upstash(self.bridge.url(), self.bridge.token()).unwrap();
        Client::new(bridge.push(false), Http::default(), Tokio::default())
    }
}

#[test]
fn a_release_hands_the_lock_to_who_waits_first_at_no_further_request() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (first, seen) = listening(&mut stack).await;
        let (second, seen_of_second) = listening(&mut stack).await;
        holder.release().await.unwrap();
        let lease = first.await.unwrap().unwrap();
        assert_eq!(stack.redis::<String>("GET a"), lease.token().expose());
        assert_eq!(stack.redis::<u64>("GET {a}:fence"), lease.fence());
        assert!(lease.fence() > holder.fence());
        assert!(lease.remaining() > ms(9_000) && lease.remaining() <= ms(9_898));
        assert_eq!(seen.requests_of_grants(), [3]);
        assert_eq!(seen.events(), ["contended", "acquired"]);
        assert_eq!(stack.waiters(), 1);
        lease.release().await.unwrap();
        second.await.unwrap().unwrap().release().await.unwrap();
        // It need not: the first one would have taken the lock, and handed it on.
        assert_eq!(seen_of_second.requests_of_grants(), [2]);
        assert!(!stack.redis::<bool>("EXISTS a"));
    });
}

#[test]
fn a_commit_and_a_forced_release_hand_over_too() {
    run(async {
        let mut stack = Stack::spawn();
        for forced in [false, true] {
            let holder = stack.lock("a").acquire().await.unwrap();
            let (waiter, seen) = listening(&mut stack).await;
            if forced {
                assert!(stack.lock("a").force_release().await.unwrap());
                assert_eq!(holder.release().await, Err(Error::Lost));
            } else {
                holder.commit(&[]).await.unwrap();
            }
            let lease = waiter.await.unwrap().unwrap();
            assert_eq!(seen.requests_of_grants(), [3]);
            lease.release().await.unwrap();
            stack.has_listeners(0).await;
        }
    });
}

#[test]
fn who_may_send_no_more_requests_goes_on_listening() {
    run(async {
        let stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (client, seen) = stack.watched();
        // To ask, to listen, to ask again, and to leave the queue.
        let lock = client.lock("a").unwrap().wait(LONG).max_requests(4);
        let waiter = meanwhile(async move { lock.acquire().await });
        eventually(|| seen.waits_quietly(3)).await;
        holder.release().await.unwrap();
        let lease = waiter.await.unwrap().unwrap();
        assert_eq!(seen.requests_of_grants(), [3]);
        lease.release().await.unwrap();
    });
}

#[test]
fn who_does_not_listen_is_passed_over() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let deaf = stack.deaf().lock("a").unwrap().wait(LONG);
        let deaf = meanwhile(async move { deaf.acquire().await });
        stack.has_waiters(1).await;
        let (waiter, seen) = listening(&mut stack).await;
        holder.release().await.unwrap();
        let lease = waiter.await.unwrap().unwrap();
        assert_eq!(seen.requests_of_grants(), [2]);
        lease.release().await.unwrap();
        deaf.await.unwrap().unwrap().release().await.unwrap();
        assert_eq!(stack.waiters(), 0);
    });
}

#[test]
fn a_waiter_that_hears_nothing_polls() {
    run(async {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, []).await;
        let holder = stack.lock("a").acquire().await.unwrap();
        let lock = proxy.client.lock("a").unwrap().wait(LONG);
        let waiter = meanwhile(async move { lock.acquire().await });
        // Asked, found that the bridge has no subscriptions, asked again.
        eventually(|| proxy.seen().len() >= 4).await;
        holder.release().await.unwrap();
        waiter.await.unwrap().unwrap().release().await.unwrap();
        assert_eq!(stack.waiters(), 0);
        // It is not tried again.
        let holder = stack.lock("a").acquire().await.unwrap();
        let before = proxy.seen().len();
        let lock = proxy.client.lock("a").unwrap().wait(LONG);
        let waiter = meanwhile(async move { lock.acquire().await });
        eventually(|| proxy.seen().len() >= before + 3).await;
        holder.release().await.unwrap();
        waiter.await.unwrap().unwrap().release().await.unwrap();
        let subscribes = |words: &&Vec<String>| words[0] == "SUBSCRIBE";
        assert_eq!(proxy.seen().iter().filter(subscribes).count(), 1);
    });
}

#[test]
fn a_waiter_whose_stream_breaks_polls() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (waiter, seen) = listening(&mut stack).await;
        assert_eq!(stack.redis::<u64>("CLIENT KILL TYPE pubsub"), 1);
        eventually(|| seen.sent() > 3).await;
        holder.release().await.unwrap();
        waiter.await.unwrap().unwrap().release().await.unwrap();
    });
}

#[test]
fn a_wait_that_is_dropped_or_over_leaves_neither_lock_nor_place_nor_listener_behind() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (client, _) = stack.watched();
        let dropped = acquire(&client);
        stack.has_listeners(1).await;
        stack.has_waiters(1).await;
        dropped.abort();
        let over = stack.lock("a").wait(ms(150)).acquire().await;
        assert_eq!(over.unwrap_err().code(), "held");
        stack.has_listeners(0).await;
        stack.has_waiters(0).await;
        holder.release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a"));
    });
}

#[test]
fn a_waiter_that_gives_up_the_lock_it_was_just_handed_hands_it_on() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (first, _) = listening(&mut stack).await;
        let (second, _) = listening(&mut stack).await;
        // Both happen before the first waiter is asked again.
        let token: String = stack.redis("GET a");
        holder.release().await.unwrap();
        assert_ne!(stack.redis::<String>("GET a"), token);
        first.abort();
        second.await.unwrap().unwrap().release().await.unwrap();
        stack.has_waiters(0).await;
    });
}

#[test]
fn all_that_a_wait_leaves_in_redis_expires() {
    run(async {
        let mut stack = Stack::spawn();
        let _holder = stack.lock("a").acquire().await.unwrap();
        let (client, _) = stack.watched();
        let waiter = acquire(&client);
        stack.has_waiters(1).await;
        let keys: Vec<String> = stack.redis("KEYS *");
        assert!(
            keys.contains(&"{a}:alive".to_owned()) && keys.len() >= 4,
            "{keys:?}"
        );
        for key in keys {
            let left: i64 = stack.redis(&format!("PTTL {key}"));
            assert!(left > 0 && left <= 7 * 24 * 60 * 60 * 1_000, "{key} {left}");
        }
        waiter.abort();
    });
}

#[test]
fn a_newcomer_barges_unless_it_is_fair() {
    run(async {
        let mut stack = Stack::spawn();
        // Somebody waits whom no release could tell, so that the lock is free while he does.
        let alive = i64::MAX / 1_000_000;
        let entry = "AAAAAAAAAAAAAAAAAAAAAA_1000_f_";
        let _: () = stack.redis(&format!("ZADD {{a}}:queue 1 {entry}"));
        let _: () = stack.redis(&format!("ZADD {{a}}:alive {alive} {entry}"));
        let fair = stack.lock("a").fair(true);
        let Err(Error::Held { ahead: 1, .. }) = fair.try_acquire().await else {
            panic!("it passed who waits")
        };
        let barging = stack.lock("a").try_acquire().await.unwrap();
        barging.release().await.unwrap();
        // Once he is dead he is passed by.
        let _: () = stack.redis(&format!("ZADD {{a}}:alive 1 {entry}"));
        fair.try_acquire().await.unwrap().release().await.unwrap();
    });
}

#[test]
fn fair_waiters_are_served_in_order_of_arrival() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let mut waiters = Vec::new();
        for place in 1..=5 {
            // Deaf ones too: it is their turn all the same.
            let client = if place % 2 == 0 {
                stack.deaf()
            } else {
                stack.client()
            };
            let lock = client.lock("a").unwrap().fair(true).wait(LONG);
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
            assert!(fence > last, "{fence} after {last}");
            last = fence;
        }
    });
}

#[test]
fn a_lease_that_outlasts_a_waiters_liveness_is_made_whole_when_it_is_handed_over() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (client, seen) = stack.watched();
        let lock = client
            .lock("a")
            .unwrap()
            .ttl(ms(60_000))
            .unwrap()
            .wait(ms(5_000));
        let waiter = meanwhile(async move { lock.acquire().await });
        eventually(|| seen.waits_quietly(3)).await;
        holder.release().await.unwrap();
        let lease = waiter.await.unwrap().unwrap();
        assert_eq!(seen.requests_of_grants(), [4]);
        assert!(stack.redis::<u64>("PTTL a") > 50_000);
        assert!(lease.remaining() > ms(50_000));
    });
}

#[test]
fn a_waiter_reads_under_the_lock_that_it_was_handed() {
    run(async {
        let mut stack = Stack::spawn();
        let holder = stack.lock("a").acquire().await.unwrap();
        let (client, seen) = stack.watched();
        let lock = client.lock("a").unwrap();
        let waiter =
            meanwhile(async move { lock.acquire_and_read(&[Command::new("GET").key("n")]).await });
        eventually(|| seen.waits_quietly(3)).await;
        let write = Command::new("SET").key("n").arg(7);
        holder.commit(&[write]).await.unwrap();
        let (_lease, replies) = waiter.await.unwrap().unwrap();
        assert_eq!(replies[0].int(), Some(7));
        let _: () = stack.redis("DEL n");
    });
}

#[test]
fn any_name_can_be_waited_for() {
    run(async {
        let mut stack = Stack::spawn();
        for name in [
            "a,b",
            "line\r\nend",
            "100%",
            "{tag}:a b",
            "schlüssel",
            "data: x",
        ] {
            let holder = stack.lock(name).acquire().await.unwrap();
            let (client, seen) = stack.watched();
            let lock = client.lock(name).unwrap();
            let waiter = meanwhile(async move { lock.acquire().await });
            eventually(|| seen.waits_quietly(3)).await;
            holder.release().await.unwrap();
            let lease = waiter.await.unwrap().unwrap();
            assert_eq!(seen.requests_of_grants(), [3], "{name}");
            lease.release().await.unwrap();
            stack.has_listeners(0).await;
        }
    });
}

#[test]
fn a_damaged_queue_does_not_keep_a_lock_from_being_freed() {
    run(async {
        let mut stack = Stack::spawn();
        let lock = stack.lock("a");
        let holder = lock.try_acquire().await.unwrap();
        let _: () = stack.redis("SET {a}:queue damage");
        holder.release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a"));
    });
}

#[test]
fn a_wait_in_vain_says_how_many_are_ahead_and_when_to_come_back() {
    run(async {
        let mut stack = Stack::spawn();
        let _holder = stack.lock("a").acquire().await.unwrap();
        let (client, _) = stack.watched();
        let waiter = acquire(&client);
        stack.has_waiters(1).await;
        let lock: Lock<Http, Tokio> = stack.lock("a").wait(ms(200));
        for waits in [true, false] {
            let error = if waits {
                lock.acquire().await.unwrap_err()
            } else {
                lock.try_acquire().await.unwrap_err()
            };
            let Error::Held {
                remaining: Some(remaining),
                ahead: 1,
                retry_after,
            } = error
            else {
                panic!("{error:?}")
            };
            assert_eq!(retry_after, remaining);
            stack.has_waiters(1).await;
        }
        waiter.abort();
    });
}
