//! What `edgelock::testing` promises. `contract.rs` holds the table to what real bridges do.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use edgelock::testing::{Client, Lock, Table};
use edgelock::{Command, Decision, GroupCommit, Reply};

use crate::support::turns::Own;
use crate::support::{code, ms};

fn incr() -> [Command; 1] {
    [Command::new("INCR").key("n")]
}

fn text(text: &str) -> Reply {
    Reply::Bytes(text.as_bytes().to_vec())
}

#[test]
fn the_clock_stands_still_until_it_is_turned() {
    let table = Table::new();
    let lock = table.client().lock("a").ttl(ms(10_000));
    table.block_on(async {
        let lease = lock.try_acquire().await.unwrap();
        let remaining = lease.remaining();
        assert_eq!(lease.remaining(), remaining);
        table.advance(ms(4_000));
        assert_eq!(lease.remaining(), remaining - ms(4_000));
        assert_eq!(table.run(&["PTTL", "a"]), Reply::Int(6_000));
        table.advance(ms(6_001));
        assert_eq!(code(lease.renew().await), "expired");
        lock.try_acquire().await.unwrap().release().await.unwrap();
    });
}

#[test]
fn a_waiter_is_handed_the_lock_and_no_time_passes() {
    let table = Table::new();
    let (holder, waiter) = (table.client().lock("a"), table.client().lock("a"));
    table.block_on(async {
        let lease = holder.try_acquire().await.unwrap();
        let full = lease.remaining();
        let released = Cell::new(false);
        let waits = async {
            let lease = waiter.acquire().await.unwrap();
            assert!(released.get());
            assert_eq!(lease.remaining(), full);
            lease.release().await.unwrap();
        };
        let releases = async {
            while lock_has_no_waiter(&holder).await {}
            released.set(true);
            lease.release().await.unwrap();
        };
        tokio::join!(waits, releases);
    });
}

async fn lock_has_no_waiter(lock: &Lock) -> bool {
    lock.inspect().await.unwrap().waiters == 0
}

#[test]
fn where_everybody_waits_the_clock_goes_on() {
    let table = Table::new();
    let lock = table.client().lock("a").ttl(ms(60_000)).wait_timeout(ms(90_000));
    table.block_on(async {
        let died = lock.try_acquire().await.unwrap();
        let next = lock.acquire().await.unwrap();
        assert!(next.fence() > died.fence() && died.remaining().is_zero());
        next.release().await.unwrap();
    });
}

#[test]
fn a_write_whose_reply_is_lost_is_done_once() {
    let table = Table::new();
    let lock = table.client().lock("a");
    table.block_on(async {
        let lease = lock.try_acquire().await.unwrap();
        table.lose_next_reply();
        assert_eq!(lease.exec(&incr()).await.unwrap(), [Reply::Int(1)]);
        table.lose_next_request();
        assert_eq!(lease.commit(&incr()).await.unwrap(), [Reply::Int(2)]);
        assert_eq!(table.run(&["GET", "n"]), text("2"));
    });
}

#[test]
fn an_outcome_that_no_request_could_tell_is_unknown() {
    let table = Table::new();
    let lock = table.client().max_attempts(1).lock("a");
    table.block_on(async {
        let lease = lock.try_acquire().await.unwrap();
        table.lose_next_reply();
        let error = lease.commit(&incr()).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error:?}");
        assert_eq!(table.run(&["GET", "n"]), text("1"));
    });
}

#[test]
fn a_key_that_expires_now_is_lost_to_its_holder() {
    let table = Table::new();
    let lock = table.client().lock("a");
    table.block_on(async {
        let lease = lock.try_acquire().await.unwrap();
        table.expire("a");
        assert!(!lease.remaining().is_zero());
        assert_eq!(code(lease.exec(&incr()).await), "lost");
        assert_eq!(table.run(&["GET", "n"]), Reply::Nil);
    });
}

#[test]
fn an_error_of_redis_comes_when_it_is_asked_for() {
    let table = Table::new();
    let lock = table.client().max_attempts(1).lock("a");
    table.block_on(async {
        table.fail_next("LOADING Redis is loading the dataset in memory");
        assert_eq!(code(lock.try_acquire().await), "unavailable");
        lock.try_acquire().await.unwrap().release().await.unwrap();
    });
}

#[test]
fn a_command_that_the_table_does_not_know_is_an_error_that_names_those_that_it_knows() {
    let table = Table::new();
    let add = [Command::new("XADD").key("k").arg("*").arg("f").arg("v")];
    let Reply::Error(told) = table.run(&["XADD", "k"]) else {
        panic!("it knows");
    };
    assert!(told.contains("edgelock/testing knows APPEND, "), "{told}");
    table.block_on(async {
        let lease = table.client().lock("a").try_acquire().await.unwrap();
        let error = lease.exec(&add).await.unwrap_err();
        assert_eq!(error.code(), "command_failed");
        assert!(error.to_string().contains("edgelock/testing knows"), "{error}");
    });
}

#[test]
fn a_call_that_is_dropped_cleans_up_in_the_background() {
    let table = Table::new();
    let lock = table.client().lock("a");
    table.block_on(async {
        let lease = lock.try_acquire().await.unwrap();
        {
            let mut waits = pin!(lock.acquire());
            poll_fn(|cx| {
                assert!(waits.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            assert_eq!(lock.inspect().await.unwrap().waiters, 1);
        }
        while !lock_has_no_waiter(&lock).await {
            tokio::task::yield_now().await;
        }
        lease.release().await.unwrap();
    });
}

#[test]
fn callers_share_turns() {
    let table = Table::new();
    let lock = table.client().lock("a");
    let group = GroupCommit::new(Own::<_, i64, _> {
        reads: |()| vec![Command::new("GET").key("n")],
        decide: |(), replies, sold, _| {
            *sold += 1;
            let n = replies[0].as_i64().unwrap_or(0) + *sold;
            Decision::Write(vec![Command::new("SET").key("n").arg(n)], n)
        },
    });
    table.block_on(async {
        let (one, other) = tokio::join!(group.submit(&lock, ()), group.submit(&lock, ()));
        let mut both = [one.unwrap(), other.unwrap()];
        both.sort_unstable();
        assert_eq!(both, [1, 2]);
    });
    assert_eq!(table.run(&["GET", "n"]), text("2"));
}

#[test]
fn on_another_executor_a_sleeper_is_woken_by_the_clock() {
    crate::support::run(async {
        let table = Table::new();
        let lock = table.client().lock("a").ttl(ms(5_000)).wait_timeout(ms(60_000));
        let _died = lock.try_acquire().await.unwrap();
        let waiter = tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire().await }
        });
        while lock_has_no_waiter(&lock).await {
            tokio::task::yield_now().await;
        }
        let turned = async {
            loop {
                table.advance(ms(1_000));
                tokio::task::yield_now().await;
            }
        };
        let lease = tokio::select! {
            lease = waiter => lease.unwrap().unwrap(),
            () = turned => unreachable!(),
        };
        lease.release().await.unwrap();
    });
}

#[test]
#[should_panic(expected = "the test waits for what never comes")]
fn a_test_that_waits_for_ever_is_told_so() {
    Table::new().block_on(std::future::pending::<()>());
}

#[test]
fn clients_of_a_table_may_use_threads() {
    fn is_sync<S: Send + Sync>() {}
    is_sync::<Table>();
    is_sync::<Client>();
    fn is_send<S: Send>(_: &S) {}
    fn futures_too(lock: &Lock) {
        is_send(&lock.acquire());
        is_send(&lock.inspect());
    }
    let _ = futures_too;
}
