//! Read/write locks: many read, or one writes. Each hold promises what that of a lock does.

use edgelock::native::ReadWrite;
use edgelock::{Acquisition, Command, Error, Reply};
use tokio::task::JoinHandle;

use crate::support::watched::{Seen, WatchedClient};
use crate::support::{Stack, code, eventually, ms, over};
use crate::waiting::{LONG, Watched, meanwhile};

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_writer_is_alone,
        a_lock_of_that_name_is_the_writer_and_readers_keep_it_out,
        a_release_lets_the_next_write_or_all_readers_before_the_next_writer,
        a_reader_waits_behind_a_writer_that_waits_unless_it_barges,
        a_writer_that_gives_up_lets_readers_pass,
        a_writer_goes_down_to_a_reader_in_the_same_hold,
        a_reader_does_not_become_the_writer,
        a_writer_that_went_down_is_kept_while_work_runs_and_given_back_behind_it,
        inspection_lists_readers_whose_labels_redis_forgot,
    }
}

/// Promises that need a bridge with subscriptions.
mod push {
    use super::*;

    over! {
        [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
            a_release_hands_it_to_all_readers_before_the_next_writer_at_no_further_request,
            a_downgrade_lets_the_readers_in_that_wait_first,
            the_release_of_a_lock_wakes_readers_that_wait_for_it,
        }
    }
}

impl Stack {
    fn read_write(&self) -> ReadWrite {
        self.client().read_write("a")
    }

    fn readers(&mut self) -> usize {
        self.redis("ZCARD {a}:readers")
    }
}

fn incr() -> [Command; 1] {
    [Command::new("INCR").key("n")]
}

async fn a_writer_is_alone(stack: Stack) {
    let (read, write) = (stack.read_write().read(), stack.read_write().write());
    let writer = write.clone().label("w").try_acquire().await.unwrap();
    for refused in [&read, &write] {
        let held = refused.try_acquire().await.unwrap_err();
        assert!(matches!(&held, Error::Held { label: Some(label), .. } if label == "w"));
    }
    writer.release().await.unwrap();
    let brief = read.clone().label("r").ttl(ms(5_000));
    let readers = [
        brief.try_acquire().await.unwrap(),
        read.clone().label("last").try_acquire().await.unwrap(),
    ];
    let held = write.try_acquire().await.unwrap_err();
    let Error::Held { remaining: Some(remaining), label: Some(label), .. } = held else {
        panic!("{held:?}")
    };
    assert!(remaining > ms(5_000) && label == "last", "{remaining:?}");
    let [one, other] = readers;
    one.release().await.unwrap();
    assert_eq!(code(write.try_acquire().await), "held");
    other.release().await.unwrap();
    write.try_acquire().await.unwrap().release().await.unwrap();
}

async fn a_lock_of_that_name_is_the_writer_and_readers_keep_it_out(mut stack: Stack) {
    let (lock, read) = (stack.lock("a"), stack.read_write().read());
    let write = stack.read_write().write();
    let held = lock.try_acquire().await.unwrap();
    assert_eq!(code(read.try_acquire().await), "held");
    assert_eq!(code(write.try_acquire().await), "held");
    held.release().await.unwrap();
    let held = write.try_acquire().await.unwrap();
    assert_eq!(stack.redis::<String>("GET a"), held.token().expose());
    assert_eq!(code(lock.try_acquire().await), "held");
    held.release().await.unwrap();
    let held = read.try_acquire().await.unwrap();
    assert_eq!(code(lock.try_acquire().await), "held");
    // Nor can another program take it that locks the same key.
    let theirs: Option<String> = stack.redis("SET a theirs NX PX 60000");
    assert_eq!(theirs, None);
    held.release().await.unwrap();
    let _: () = stack.redis("SET a theirs NX PX 60000");
    assert_eq!(code(read.try_acquire().await), "held");
    assert_eq!(code(write.try_acquire().await), "held");
    let _: () = stack.redis("DEL a");
    let _: () = stack.redis("RPUSH a x");
    for lock in [&read, &write] {
        assert_eq!(code(lock.try_acquire().await), "wrong_type");
        assert_eq!(code(lock.inspect().await), "wrong_type");
    }
}

async fn a_release_lets_the_next_write_or_all_readers_before_the_next_writer(mut stack: Stack) {
    let held = stack.read_write().write().try_acquire().await.unwrap();
    let mut fences = vec![held.fence()];
    let mut waiters = Vec::new();
    for (place, reads) in [true, true, false, true, false].into_iter().enumerate() {
        let lock = match reads {
            true => stack.read_write().read(),
            // A writer that is not fair may take the lock when it is free for an instant.
            false => stack.read_write().write().fair(true),
        };
        let lock = lock.wait_timeout(LONG).max_requests(1_000);
        waiters.push(meanwhile(async move { lock.acquire().await.unwrap() }));
        stack.has_waiters(place + 1).await;
    }
    held.release().await.unwrap();
    let mut waiters = waiters.into_iter();
    let mut next = async || waiters.next().unwrap().await.unwrap();
    let readers = [next().await, next().await];
    assert_eq!((stack.readers(), stack.waiters()), (2, 3));
    fences.push(readers[0].fence().min(readers[1].fence()));
    for reader in readers {
        reader.release().await.unwrap();
    }
    for _ in 0..3 {
        let lease = next().await;
        fences.push(lease.fence());
        lease.release().await.unwrap();
    }
    assert!(fences.is_sorted(), "{fences:?}");
    assert_eq!(stack.waiters(), 0);
}

async fn a_reader_waits_behind_a_writer_that_waits_unless_it_barges(mut stack: Stack) {
    let read = stack.read_write().read();
    let first = read.try_acquire().await.unwrap();
    let write = stack.read_write().write().wait_timeout(LONG);
    let writer = meanwhile(async move { write.acquire().await.unwrap() });
    stack.has_waiters(1).await;
    assert_eq!(code(read.try_acquire().await), "held");
    let barging = stack.read_write().read().fair(false);
    let beside = barging.try_acquire().await.unwrap();
    let waiting = stack.read_write().read().wait_timeout(LONG);
    let behind = meanwhile(async move { waiting.acquire().await.unwrap() });
    stack.has_waiters(2).await;
    beside.release().await.unwrap();
    let fence = first.fence();
    first.release().await.unwrap();
    let writer = writer.await.unwrap();
    assert!(writer.fence() > fence);
    let fence = writer.fence();
    writer.release().await.unwrap();
    let behind = behind.await.unwrap();
    assert!(behind.fence() > fence);
    behind.release().await.unwrap();
}

async fn a_writer_that_gives_up_lets_readers_pass(mut stack: Stack) {
    let first = stack.read_write().read().try_acquire().await.unwrap();
    let write = stack.read_write().write().wait_timeout(LONG);
    let writer = meanwhile(async move { write.acquire().await });
    stack.has_waiters(1).await;
    let read = stack.read_write().read().wait_timeout(LONG);
    let reader = meanwhile(async move { read.acquire().await.unwrap() });
    stack.has_waiters(2).await;
    writer.abort();
    let reader = reader.await.unwrap();
    assert_eq!(stack.readers(), 2);
    first.release().await.unwrap();
    reader.release().await.unwrap();
}

async fn a_writer_goes_down_to_a_reader_in_the_same_hold(mut stack: Stack) {
    let (read, write) = (stack.read_write().read(), stack.read_write().write());
    let labelled = write.clone().label("w").ttl(ms(60_000));
    let lease = labelled.try_acquire().await.unwrap();
    let (fence, token) = (lease.fence(), lease.token().clone());
    lease.exec(&incr()).await.unwrap();
    lease.renew_for(ms(90_000)).await.unwrap();
    let receipt = format!("{{a}}:receipt:{}", token.expose());
    let _: () = stack.redis(&format!("PEXPIRE {receipt} 30000"));
    lease.downgrade().await.unwrap();
    // The receipt of a write lives for as long as the lease may go on.
    assert!(stack.redis::<u64>(&format!("PTTL {receipt}")) > 80_000);
    // A downgrade does not shorten the ttl.
    assert!(stack.redis::<u64>("PTTL a") > 80_000);
    assert_eq!((lease.fence(), lease.token()), (fence, &token));
    let beside = read.try_acquire().await.unwrap();
    assert_eq!(code(write.try_acquire().await), "held");
    assert_eq!(stack.readers(), 2);
    lease.renew().await.unwrap();
    lease.exec(&incr()).await.unwrap();
    let read_by = read.inspect().await.unwrap();
    let labels: Vec<_> = read_by.holders.iter().map(|one| one.label.clone()).collect();
    assert_eq!(labels, [None, Some("w".to_owned())]);
    // Another handler resumes it as the reader that it is by now.
    let resumed = read.resume(lease.into_token()).unwrap();
    resumed.renew().await.unwrap();
    assert_eq!(resumed.fence(), fence);
    assert!(resumed.remaining() > ms(50_000));
    assert_eq!(resumed.commit(&incr()).await.unwrap(), [Reply::Int(3)]);
    beside.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a {a}:readers {a}:holds"));
    // A lease that has ended cannot be downgraded.
    let lost = write.try_acquire().await.unwrap();
    let _: () = stack.redis("DEL a");
    assert_eq!(code(lost.downgrade().await), "lost");
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_reader_does_not_become_the_writer(mut stack: Stack) {
    let (read, write) = (stack.read_write().read(), stack.read_write().write());
    let reader = read.try_acquire().await.unwrap();
    let sent = reader.remaining();
    for _ in 0..2 {
        let refused = reader.downgrade().await.unwrap_err();
        assert_eq!(refused.code(), "invalid_argument");
        assert!(refused.to_string().contains("writer"), "{refused}");
    }
    assert!(reader.remaining() <= sent);
    reader.renew().await.unwrap();
    reader.release().await.unwrap();
    let lease = write.try_acquire().await.unwrap();
    lease.downgrade().await.unwrap();
    assert_eq!(code(lease.downgrade().await), "invalid_argument");
    lease.release().await.unwrap();
    let lock = stack.lock("b").try_acquire().await.unwrap();
    assert_eq!(code(lock.downgrade().await), "invalid_argument");
    lock.release().await.unwrap();
    // Nor can a writer go on with a reader's acquisition.
    let acquisition = Acquisition::new();
    let (reader, _) = read.acquire_as(&acquisition, Vec::new).await.unwrap();
    let refused = write.acquire_as(&acquisition, Vec::new).await;
    assert_eq!(code(refused.map(drop)), "invalid_argument");
    assert_eq!((stack.readers(), stack.waiters()), (1, 0));
    reader.renew().await.unwrap();
    reader.release().await.unwrap();
}

async fn a_writer_that_went_down_is_kept_while_work_runs_and_given_back_behind_it(
    mut stack: Stack,
) {
    let (client, seen) = stack.watched();
    let write = client.read_write("a").write().ttl(ms(2_000));
    let renewals = || {
        let events = seen.events();
        events.iter().filter(|code| *code == "renewed").count()
    };
    let work = write.run(async |lease| {
        lease.downgrade().await?;
        let before = renewals();
        eventually(|| renewals() >= before + 2).await;
        assert_eq!(stack.readers(), 1);
        assert!(!lease.remaining().is_zero());
        Ok::<_, Error>(7)
    });
    assert_eq!(work.await, Ok(7));
    assert!(!stack.redis::<bool>("EXISTS a {a}:readers"));
}

/// A Redis that evicts keys may evict what is known of some readers, or of all.
async fn inspection_lists_readers_whose_labels_redis_forgot(mut stack: Stack) {
    let read = stack.read_write().read().label("r");
    let mut readers = Vec::new();
    for forgotten in ["{a}:fence", "{a}:holds"] {
        for _ in 0..17 {
            readers.push(read.try_acquire().await.unwrap());
        }
        let _: () = stack.redis(&format!("DEL {forgotten}"));
        let found = read.inspect().await.unwrap();
        assert!(found.is_read && found.holders.len() == readers.len(), "{forgotten}");
    }
}

/// Starts one more waiter that listens, to read or to write; `place` in the queue counts from 1.
async fn listens(stack: &mut Stack, place: usize, reads: bool) -> (JoinHandle<Watched>, Seen) {
    let lock = |client: &WatchedClient| match reads {
        true => client.read_write("a").read(),
        false => client.read_write("a").write(),
    };
    let asked = Stack::asked_at(place, if reads { usize::MAX } else { 1 });
    stack.listens(place, asked, lock).await
}

async fn a_release_hands_it_to_all_readers_before_the_next_writer_at_no_further_request(
    mut stack: Stack,
) {
    let held = stack.read_write().write().try_acquire().await.unwrap();
    let mut waiters = Vec::new();
    for (place, reads) in [true, true, true, false, true].into_iter().enumerate() {
        waiters.push(listens(&mut stack, place + 1, reads).await);
    }
    let sent: Vec<_> = waiters.iter().map(|(_, seen)| seen.sent()).collect();
    held.release().await.unwrap();
    let mut leases = Vec::new();
    let behind = waiters.split_off(3);
    for ((waiter, seen), sent) in waiters.into_iter().zip(&sent) {
        let lease = waiter.await.unwrap();
        assert_eq!(seen.sent(), *sent);
        assert!(lease.remaining() > ms(9_000));
        leases.push(lease);
    }
    assert!(leases.is_sorted_by_key(|lease| lease.fence()));
    assert_eq!((stack.readers(), stack.waiters()), (3, 2));
    for lease in leases {
        lease.release().await.unwrap();
    }
    for ((waiter, seen), sent) in behind.into_iter().zip(&sent[3..]) {
        let lease = waiter.await.unwrap();
        assert_eq!(seen.sent(), *sent);
        lease.release().await.unwrap();
    }
}

async fn a_downgrade_lets_the_readers_in_that_wait_first(mut stack: Stack) {
    let writer = stack.read_write().write().try_acquire().await.unwrap();
    let (reader, seen) = listens(&mut stack, 1, true).await;
    let (next, _) = listens(&mut stack, 2, false).await;
    let sent = seen.sent();
    writer.downgrade().await.unwrap();
    let reader = reader.await.unwrap();
    assert_eq!(seen.sent(), sent);
    assert_eq!((stack.readers(), stack.waiters()), (2, 1));
    writer.release().await.unwrap();
    reader.release().await.unwrap();
    next.await.unwrap().release().await.unwrap();
}

async fn the_release_of_a_lock_wakes_readers_that_wait_for_it(mut stack: Stack) {
    let lock = stack.lock("a").try_acquire().await.unwrap();
    let (one, _) = listens(&mut stack, 1, true).await;
    let (other, _) = listens(&mut stack, 2, true).await;
    // The plain lock knows nothing of readers. It hands the lock to the first, which makes
    // itself a reader and tells the next.
    lock.release().await.unwrap();
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    assert_eq!(stack.readers(), 2);
    assert!(one.remaining() > ms(9_000) && other.remaining() > ms(9_000));
    one.release().await.unwrap();
    other.release().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS a {a}:readers"));
}
