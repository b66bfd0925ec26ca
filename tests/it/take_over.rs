//! Taking a lock over from its holder.

use std::future::pending;
use std::time::Instant;

use edgelock::{Command, Error};

use crate::support::faulty::Fault::{LoseReply, Refuse, Withhold};
use crate::support::faulty::Proxy;
use crate::support::{Stack, TestClient, TestLock, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

over! {
    [upstash, table, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
        whoever_takes_a_lock_over_has_it_and_the_old_holder_writes_no_more,
        a_free_lock_is_taken_as_by_anybody_else,
        a_lock_of_another_program_is_refused_and_stays,
        a_lock_of_another_program_is_waited_for,
        waiters_stay_in_line_behind_the_new_holder,
        a_take_over_that_is_given_up_frees_the_lock,
        a_refused_take_over_is_given_up_too,
        whose_lock_was_taken_over_before_it_knew_is_told_lost,
        a_writer_and_one_of_several_names_are_taken_over_and_readers_are_not,
        a_key_of_another_type_is_left_alone,
    }
}

/// Over the bridges that have subscriptions.
mod listening {
    use super::a_holder_that_listens_is_stopped_at_once;
    use crate::support::over;

    over! {
        [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
            a_holder_that_listens_is_stopped_at_once,
        }
    }
}

fn taking(client: &TestClient) -> TestLock {
    client.lock("a").take_over()
}

async fn whoever_takes_a_lock_over_has_it_and_the_old_holder_writes_no_more(mut stack: Stack) {
    let old = stack.lock("a").ttl(ms(60_000)).try_acquire().await.unwrap();
    let new = taking(&stack.client()).try_acquire().await.unwrap();
    assert!(new.fence() > old.fence());
    assert_eq!(stack.redis::<String>("GET a"), new.token().expose());
    assert!((8_000..=10_000).contains(&stack.redis::<u64>("PTTL a")));
    let write = [Command::new("INCR").key("n")];
    assert_eq!(code(old.exec(&write).await), "lost");
    let old = stack.lock("a").resume(old.into_token()).unwrap();
    assert_eq!(code(old.commit(&write).await), "lost");
    drop(old);
    new.renew().await.unwrap();
    assert!(!stack.redis::<bool>("EXISTS n"));
    new.commit(&write).await.unwrap();
    assert_eq!(stack.redis::<u64>("GET n"), 1);
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_free_lock_is_taken_as_by_anybody_else(stack: Stack) {
    let read = [Command::new("GET").key("n")];
    let lock = taking(&stack.client());
    let (first, _) = lock.acquire_and_read(&read).await.unwrap();
    assert_eq!(code(stack.lock("a").try_acquire().await), "held");
    let (second, _) = lock.acquire_and_read(&read).await.unwrap();
    assert_eq!(code(first.release().await), "lost");
    second.release().await.unwrap();
}

async fn a_lock_of_another_program_is_refused_and_stays(mut stack: Stack) {
    // Beside a record of ours.
    let lease = stack.lock("a").try_acquire().await.unwrap();
    lease.release().await.unwrap();
    let _: () = stack.redis("SET a theirs PX 30000");
    let read = [Command::new("GET").key("a")];
    let lock = taking(&stack.client());
    let (lease, found) = lock.try_acquire_and_read(&read).await.unwrap();
    assert!(lease.is_none() && found[0].as_str() == Some("theirs"));
    let Err(Error::Held { remaining, .. }) = lock.try_acquire().await else { panic!("not held") };
    assert!(remaining.unwrap() > ms(20_000));
    assert_eq!(stack.redis::<String>("GET a"), "theirs");
}

async fn a_lock_of_another_program_is_waited_for(mut stack: Stack) {
    let _: () = stack.redis("SET a theirs");
    let lock = taking(&stack.client()).wait_timeout(LONG);
    let waiting = meanwhile(async move { lock.acquire().await });
    tokio::time::sleep(ms(50)).await;
    let _: () = stack.redis("DEL a");
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

async fn waiters_stay_in_line_behind_the_new_holder(mut stack: Stack) {
    let old = stack.lock("a").try_acquire().await.unwrap();
    let lock = stack.lock("a").fair(true).wait_timeout(LONG);
    let waiting = meanwhile(async move { lock.acquire().await });
    eventually(|| stack.waiters_for("a") == 1).await;
    let new = taking(&stack.client()).try_acquire().await.unwrap();
    assert_eq!(stack.waiters_for("a"), 1);
    assert_eq!(code(old.release().await), "lost");
    new.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    assert!(next.fence() > new.fence());
    next.release().await.unwrap();
}

async fn a_take_over_that_is_given_up_frees_the_lock(mut stack: Stack) {
    let old = stack.lock("a").try_acquire().await.unwrap();
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    let hasty = proxy.client.clone().max_attempts(1);
    let unknown = taking(&hasty).try_acquire().await.unwrap_err();
    assert!(unknown.is_outcome_unknown());
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    assert_eq!(code(old.renew().await), "lost");
}

/// A copy of it could come later, and end the hold of another.
async fn a_refused_take_over_is_given_up_too(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Refuse]).await;
    let refused = taking(&proxy.client).try_acquire().await;
    assert_eq!(code(refused), "unauthorized");
    let mut marks = || stack.redis::<Vec<String>>("KEYS {a}:gone:*");
    eventually(|| !marks().is_empty()).await;
}

async fn whose_lock_was_taken_over_before_it_knew_is_told_lost(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Withhold]).await;
    let lock = taking(&proxy.client.clone().request_timeout(ms(300)));
    let first = meanwhile(async move { lock.acquire().await });
    eventually(|| stack.redis::<bool>("EXISTS a")).await;
    let newer = taking(&stack.client()).try_acquire().await.unwrap();
    assert_eq!(code(first.await.unwrap()), "lost");
    // It asked once more, and gave itself up.
    assert!(proxy.seen().len() <= 3, "{}", proxy.seen().len());
    newer.release().await.unwrap();
}

async fn a_writer_and_one_of_several_names_are_taken_over_and_readers_are_not(stack: Stack) {
    let client = stack.client();
    let writer = client.read_write("a").write().try_acquire().await.unwrap();
    let new = taking(&client).try_acquire().await.unwrap();
    assert_eq!(code(writer.renew().await), "lost");
    new.release().await.unwrap();
    let both = client.lock_all(["b", "a"]).try_acquire().await.unwrap();
    let new = taking(&client).try_acquire().await.unwrap();
    assert!(new.fence() > both.fence());
    assert_eq!(code(both.renew().await), "lost");
    new.release().await.unwrap();
    let other = stack.lock("b").try_acquire().await.unwrap();
    other.release().await.unwrap();
    let reader = client.read_write("a").read().try_acquire().await.unwrap();
    assert_eq!(code(taking(&client).try_acquire().await), "held");
    reader.release().await.unwrap();
}

async fn a_key_of_another_type_is_left_alone(mut stack: Stack) {
    let _: () = stack.redis("RPUSH a x");
    let told = taking(&stack.client()).try_acquire().await;
    assert_eq!(code(told), "wrong_type");
    assert_eq!(stack.redis::<Vec<String>>("KEYS *"), ["a"]);
}

/// Its next renewal would be 20 s later.
async fn a_holder_that_listens_is_stopped_at_once(mut stack: Stack) {
    for takes in [true, false] {
        let lock = stack.lock("a").ttl(LONG).listen();
        let work = async |_: &_| pending::<Result<(), Error>>().await;
        let working = meanwhile(async move { lock.run(work).await });
        stack.has_listeners(1).await;
        let begun = Instant::now();
        if takes {
            let new = taking(&stack.client()).try_acquire().await.unwrap();
            assert_eq!(code(working.await.unwrap()), "lost");
            new.release().await.unwrap();
        } else {
            assert!(stack.lock("a").force_release().await.unwrap());
            assert_eq!(code(working.await.unwrap()), "lost");
        }
        assert!(begun.elapsed() < ms(15_000));
        stack.has_listeners(0).await;
    }
}
