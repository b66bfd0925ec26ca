//! Waiters that listen, over the bridges that have subscriptions.

use edgelock::{Command, Error};
use tokio::task::JoinHandle;

use crate::support::watched::Seen;
use crate::support::{Stack, code, eventually, ms, over};
use crate::waiting::{LONG, Watched, acquire, meanwhile};

over! {
    [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_commit_and_a_forced_release_hand_over_too,
        a_waiter_that_may_send_no_more_requests_goes_on_listening,
        a_waiter_that_does_not_listen_is_passed_over,
        a_waiter_whose_stream_breaks_polls,
        a_waiter_that_gives_up_the_lock_it_was_just_handed_hands_it_on,
        a_lease_that_outlasts_a_waiters_liveness_is_made_whole_when_it_is_handed_over,
        a_waiter_reads_under_the_lock_that_it_was_handed,
        a_waiter_that_must_ask_for_the_lock_that_is_its_own_asks_at_once,
        any_name_can_be_waited_for,
    }
}

/// Starts a waiter that listens, and watches it.
async fn listening(stack: &mut Stack) -> (JoinHandle<Result<Watched, Error>>, Seen) {
    let (listeners, is_first) = (stack.listeners(), stack.waiters() == 0);
    let (client, seen) = stack.watched();
    let waiter = acquire(&client);
    stack.has_listeners(listeners + 1).await;
    // The first asks once more when its subscription is confirmed, since the lock may have been
    // freed before.
    let requests = if is_first { 3 } else { 2 };
    eventually(|| seen.waits_quietly(requests)).await;
    (waiter, seen)
}

async fn a_commit_and_a_forced_release_hand_over_too(mut stack: Stack) {
    for forced in [false, true] {
        let holder = stack.lock("a").acquire().await.unwrap();
        let (waiter, seen) = listening(&mut stack).await;
        if forced {
            assert!(stack.lock("a").force_release().await.unwrap());
            assert_eq!(code(holder.release().await), "lost");
        } else {
            holder.commit(&[]).await.unwrap();
        }
        let lease = waiter.await.unwrap().unwrap();
        assert_eq!(seen.requests_of_grants(), [3]);
        lease.release().await.unwrap();
        stack.has_listeners(0).await;
    }
}

async fn a_waiter_that_may_send_no_more_requests_goes_on_listening(stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    // One to ask, one to subscribe, one to ask again, and one to leave the queue.
    let lock = client.lock("a").wait_timeout(LONG).max_requests(4);
    let waiter = meanwhile(async move { lock.acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    holder.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(seen.requests_of_grants(), [3]);
    lease.release().await.unwrap();
}

async fn a_waiter_that_does_not_listen_is_passed_over(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let deaf = stack.deaf().lock("a").wait_timeout(LONG);
    let deaf = meanwhile(async move { deaf.acquire().await });
    stack.has_waiters(1).await;
    let (waiter, seen) = listening(&mut stack).await;
    holder.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(seen.requests_of_grants(), [2]);
    lease.release().await.unwrap();
    deaf.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(stack.waiters(), 0);
}

async fn a_waiter_whose_stream_breaks_polls(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (waiter, seen) = listening(&mut stack).await;
    assert_eq!(stack.redis::<u64>("CLIENT KILL TYPE pubsub"), 1);
    eventually(|| seen.sent() > 3).await;
    holder.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
}

async fn a_waiter_that_gives_up_the_lock_it_was_just_handed_hands_it_on(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (first, _) = listening(&mut stack).await;
    let (second, _) = listening(&mut stack).await;
    // Both releases happen before the first waiter asks again.
    let token: String = stack.redis("GET a");
    holder.release().await.unwrap();
    assert_ne!(stack.redis::<String>("GET a"), token);
    first.abort();
    second.await.unwrap().unwrap().release().await.unwrap();
    stack.has_waiters(0).await;
}

async fn a_lease_that_outlasts_a_waiters_liveness_is_made_whole_when_it_is_handed_over(
    mut stack: Stack,
) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(ms(60_000)).wait_timeout(ms(5_000));
    let waiter = meanwhile(async move { lock.acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    holder.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    assert_eq!(seen.requests_of_grants(), [4]);
    assert!(stack.redis::<u64>("PTTL a") > 50_000);
    assert!(lease.remaining() > ms(50_000));
    // The ttl of the hand-over is kept, whatever Redis says is left.
    let _: () = stack.redis("PEXPIRE a 5000");
    let resumed = stack.lock("a").resume(lease.into_token()).unwrap();
    resumed.renew().await.unwrap();
    assert!(stack.redis::<u64>("PTTL a") > 50_000);
    assert!(resumed.remaining() > ms(50_000));
}

async fn a_waiter_that_must_ask_for_the_lock_that_is_its_own_asks_at_once(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    // More than half of its requests are sent by then, and the rest must last for long.
    let reader = client.read_write("a").read().max_requests(6);
    let waiter = meanwhile(async move { reader.wait_timeout(LONG).acquire().await });
    stack.has_listeners(1).await;
    eventually(|| seen.waits_quietly(3)).await;
    let ttl = holder.remaining();
    holder.release().await.unwrap();
    // A hand-over is kept for no longer than the reader counts as alive.
    let lease = tokio::time::timeout(ttl / 4, waiter).await;
    lease.unwrap().unwrap().unwrap().release().await.unwrap();
}

async fn a_waiter_reads_under_the_lock_that_it_was_handed(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let waiter =
        meanwhile(async move { lock.acquire_and_read(&[Command::new("GET").key("n")]).await });
    eventually(|| seen.waits_quietly(3)).await;
    let write = Command::new("SET").key("n").arg(7);
    holder.commit(&[write]).await.unwrap();
    let (_lease, replies) = waiter.await.unwrap().unwrap();
    assert_eq!(replies[0].as_i64(), Some(7));
    let _: () = stack.redis("DEL n");
}

async fn any_name_can_be_waited_for(mut stack: Stack) {
    for name in ["a,b", "line\r\nend", "100%", "{tag}:a b", "schlüssel", "data: x"] {
        let holder = stack.lock(name).acquire().await.unwrap();
        let (client, seen) = stack.watched();
        let lock = client.lock(name);
        let waiter = meanwhile(async move { lock.acquire().await });
        eventually(|| seen.waits_quietly(3)).await;
        holder.release().await.unwrap();
        let lease = waiter.await.unwrap().unwrap();
        assert_eq!(seen.requests_of_grants(), [3], "{name}");
        lease.release().await.unwrap();
        stack.has_listeners(0).await;
    }
}
