//! An acquisition that says what to read only when it asks, and that another caller can take over.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};

use edgelock::{Acquisition, Command, Reply};

use crate::support::faulty::Fault::{Delay, Withhold};
use crate::support::faulty::Proxy;
use crate::support::{Stack, code, eventually, ms, over};

over! {
    [spawn] {
        the_place_in_the_queue_goes_on_too,
        an_acquisition_that_was_given_up_begins_anew,
    }
}

over! {
    [upstash, webdis, humanwhocodes] {
        an_acquisition_reads_what_is_to_be_read_when_it_has_the_lock,
        an_acquisition_goes_on_with_whoever_asks_for_it_last,
    }
}

async fn an_acquisition_reads_what_is_to_be_read_when_it_has_the_lock(mut stack: Stack) {
    let _: () = stack.redis("MSET x 1 y 2");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let (client, seen) = stack.watched();
    // A waiter with this ttl asks at least every third of a second.
    let lock = client.lock("a").ttl(ms(1_000));
    let keys = RefCell::new(vec!["x"]);
    let said = Cell::new(0);
    let reads = || -> Vec<Command> {
        let keys = keys.borrow();
        said.set(keys.len());
        keys.iter().map(|key| Command::new("GET").key(key)).collect()
    };
    let acquisition = Acquisition::new();
    let acquired = lock.acquire_as(&acquisition, reads);
    let release = async {
        eventually(|| seen.sent() >= 2).await;
        keys.borrow_mut().push("y");
        // The request before that one may still be under way.
        eventually(|| said.get() == 2).await;
        held.release().await.unwrap();
    };
    let (acquired, ()) = tokio::join!(acquired, release);
    let (lease, replies) = acquired.unwrap();
    let text = |text: &str| Reply::Bytes(text.into());
    assert_eq!(replies, [text("1"), text("2")]);
    lease.release().await.unwrap();
    // A command that is no read is refused before anything is sent.
    let sent = seen.sent();
    let writes = || vec![Command::new("DEL").key("x")];
    let refused = lock.acquire_as(&acquisition, writes).await;
    assert_eq!((code(refused), seen.sent()), ("invalid_argument", sent));
}

async fn an_acquisition_goes_on_with_whoever_asks_for_it_last(stack: Stack) {
    // The first has the lock, but its reply is withheld.
    let proxy = Proxy::before(&stack, [Withhold]).await;
    let client = proxy.client.clone().request_timeout(ms(60_000));
    let lock = client.lock("a");
    let acquisition = Acquisition::new();
    let mut first = Box::pin(lock.acquire_as(&acquisition, Vec::new));
    stalled(&mut first, || proxy.seen().len() == 1).await;
    let (second, seen) = stack.watched();
    let lock = second.lock("a");
    let waits = lock.clone().wait_timeout(ms(9_000));
    let (lease, _) = waits.acquire_as(&acquisition, Vec::new).await.unwrap();
    // The first is answered after all, or gave up: either way it has no part in the lease any
    // more.
    proxy.deliver().await;
    let (late, _) = first.await.unwrap();
    assert_eq!((late.token(), late.fence()), (lease.token(), lease.fence()));
    assert_eq!(code(late.commit(&[Command::new("DEL").key("x")]).await), "lost");
    assert_eq!(late.remaining(), ms(0));
    drop(late);
    lease.exec(&[]).await.unwrap();
    lease.release().await.unwrap();
    assert_eq!(proxy.seen().len(), 1);
    assert_eq!(seen.sent(), 3);
    // The acquisition is over, so the next call begins another one.
    let (next, _) = lock.acquire_as(&acquisition, Vec::new).await.unwrap();
    assert_ne!(next.token(), lease.token());
}

/// Polls `first` until it has asked and waits.
async fn stalled<F: Future>(first: &mut Pin<Box<F>>, until: impl FnMut() -> bool) {
    tokio::select! {
        _ = first => panic!("an answer"),
        () = eventually(until) => {}
    }
}

async fn the_place_in_the_queue_goes_on_too(stack: Stack) {
    let held = stack.lock("a").try_acquire().await.unwrap();
    let lock = stack.lock("a");
    let waiters = async || lock.inspect().await.unwrap().waiters;
    let acquisition = Acquisition::new();
    let (client, seen) = stack.watched();
    let own = client.lock("a");
    let mut first = Box::pin(own.acquire_as(&acquisition, Vec::new));
    stalled(&mut first, || seen.sent() >= 2).await;
    let (client, of_other) = stack.watched();
    let others = client.lock("a");
    let mut other = Box::pin(others.acquire());
    stalled(&mut other, || of_other.sent() >= 2).await;
    let (client, of_second) = stack.watched();
    // The second takes the first one's place in the queue: nobody stands there twice.
    let own = client.lock("a").ttl(ms(3_000));
    let mut second = Box::pin(own.acquire_as(&acquisition, Vec::new));
    stalled(&mut second, || of_second.sent() >= 2).await;
    assert_eq!(waiters().await, 2);
    // The first gives up, and that removes nobody from the queue.
    drop(first);
    assert_eq!(waiters().await, 2);
    held.release().await.unwrap();
    let mut other = pin!(other);
    let (lease, _) = tokio::select! {
        lease = second => lease.unwrap(),
        lease = &mut other => panic!("{lease:?} was not first"),
    };
    lease.release().await.unwrap();
    other.await.unwrap().release().await.unwrap();
}

async fn an_acquisition_that_was_given_up_begins_anew(stack: Stack) {
    let proxy = Proxy::before(&stack, [Delay]).await;
    let client = proxy.client.clone().request_timeout(ms(60_000));
    let lock = client.lock("a");
    let acquisition = Acquisition::new();
    let mut first = Box::pin(lock.acquire_as(&acquisition, Vec::new));
    stalled(&mut first, || proxy.seen().len() == 1).await;
    drop(first);
    let (lease, _) = lock.acquire_as(&acquisition, Vec::new).await.unwrap();
    // The first request arrives late, and finds its token abandoned.
    proxy.deliver().await;
    lease.release().await.unwrap();
    assert!(stack.lock("a").inspect().await.unwrap().holder.is_none());
}
