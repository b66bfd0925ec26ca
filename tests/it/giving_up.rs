//! What a wait leaves behind that ended without the lock, or was dropped.

use std::time::Duration;

use edgelock::Error;
use tokio::time::timeout;

use crate::support::{Stack, eventually, ms, over};
use crate::waiting::acquire;

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_wait_in_vain_has_sent_what_leaves_the_queue_before_it_says_so,
        a_wait_that_is_dropped_leaves_the_queue_in_the_background,
        a_wait_that_is_over_before_the_first_answer_leaves_the_queue_too,
    }
}

async fn a_wait_in_vain_has_sent_what_leaves_the_queue_before_it_says_so(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a").wait_timeout(ms(150));
    let began = std::time::Instant::now();
    let error = lock.acquire().await.unwrap_err();
    // That is far below the lock's default wait and ttl.
    assert!(began.elapsed() < ms(2_000));
    // The request that gives up was sent before anything else could run.
    assert_eq!((error.code(), seen.abandoned()), ("held", 1));
    let Error::Held { requests, .. } = error else { unreachable!() };
    assert_eq!(seen.events(), ["contended", "gave_up"]);
    assert_eq!((seen.requests_in_vain(), seen.sent()), (vec![requests], requests as usize));
    stack.has_waiters(0).await;
    stack.has_listeners(0).await;
    holder.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_wait_that_is_dropped_leaves_the_queue_in_the_background(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let waiter = acquire(&client);
    stack.has_waiters(1).await;
    eventually(|| seen.events() == ["contended"]).await;
    waiter.abort();
    eventually(|| seen.abandoned() == 1).await;
    assert_eq!(seen.events(), ["contended", "gave_up"]);
    // That last request leaves the queue.
    assert!(seen.requests_in_vain()[0] >= 2);
    stack.has_waiters(0).await;
    stack.has_listeners(0).await;
    holder.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_wait_that_is_over_before_the_first_answer_leaves_the_queue_too(mut stack: Stack) {
    let holder = stack.lock("a").acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a").wait_timeout(Duration::from_nanos(1));
    let error = lock.acquire().await.unwrap_err();
    assert_eq!((error.code(), seen.abandoned()), ("held", 1));
    assert_eq!(seen.events(), ["gave_up"]);
    stack.has_waiters(0).await;
    stack.has_listeners(0).await;
    holder.release().await.unwrap();
    // The same call gets a lock that is free.
    let free = timeout(ms(60_000), lock.acquire()).await.unwrap();
    free.unwrap().release().await.unwrap();
}
