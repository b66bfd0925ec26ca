//! Keeping a lock while work runs, and giving it back whatever happens.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Command, Error, Lease, Lock, Runtime, Transport};

use crate::support::faulty::Fault::{LoseReply, LoseRequest, Pass};
use crate::support::faulty::{self, Proxy};
use crate::support::watched::{Seen, watch};
use crate::support::{Stack, code, eventually, ms, over};

const TTL: Duration = ms(2_000);

/// Notes that it was dropped.
struct Stopped(Rc<Cell<bool>>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Runs work that begins so, and goes on until it is stopped. Returns the code of the error.
async fn stopped<T: Transport, R: Runtime>(
    lock: &Lock<T, R>,
    begins: impl AsyncFnOnce(),
) -> &'static str {
    let stopped = Rc::new(Cell::new(false));
    let outcome: Result<(), Error> = lock
        .run(async |_| {
            let _stopped = Stopped(stopped.clone());
            begins().await;
            pending().await
        })
        .await;
    assert!(stopped.get());
    code(outcome)
}

/// Waits until a client has told an event so often.
pub(crate) async fn until(seen: &Seen, event: &str, count: usize) {
    let found = || seen.events().iter().filter(|code| *code == event).count();
    eventually(|| found() >= count).await;
}

fn ok<T: Transport, R: Runtime>(_: &Lease<T, R>) -> Result<(), Error> {
    Ok(())
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        nothing_of_a_run_goes_on_after_it_returned,
        the_error_of_the_work_is_returned_whatever_becomes_of_the_lock,
        work_is_stopped_at_the_next_renewal_after_the_lock_was_lost,
        work_is_stopped_at_the_deadline_though_the_network_hangs,
        a_renewal_that_fails_is_tried_again,
        work_that_takes_too_long_is_stopped_and_the_lock_released,
        work_that_gives_the_lock_back_itself_may_go_on,
        a_short_ttl_does_not_spin_when_renewals_fail,
        a_long_ttl_is_a_long_ttl,
        a_dropped_lease_and_a_dropped_run_are_released_in_the_background,
        a_lease_that_was_given_back_or_handed_over_is_not_released_when_it_is_dropped,
    }
}

async fn nothing_of_a_run_goes_on_after_it_returned(stack: Stack) {
    let (client, seen) = stack.watched();
    // Long enough that a busy machine does not lose it.
    let lock = client.lock("a").ttl(TTL * 4);
    lock.run(async |lease| ok(lease)).await.unwrap();
    assert_eq!(seen.under_way(), 0);
    // The same for work that returns in the middle of a renewal.
    let during_renewal = lock
        .run(async |_| {
            let sent = seen.sent();
            eventually(|| seen.sent() > sent).await;
            Ok::<_, Error>(())
        })
        .await;
    during_renewal.unwrap();
    assert_eq!(seen.under_way(), 0);
}

async fn the_error_of_the_work_is_returned_whatever_becomes_of_the_lock(mut stack: Stack) {
    #[derive(Debug, PartialEq)]
    enum Failure {
        OfLock(Error),
        OfWork,
    }
    impl From<Error> for Failure {
        fn from(error: Error) -> Self {
            Self::OfLock(error)
        }
    }
    let lock = stack.lock("a");
    for lost in [false, true] {
        let outcome = lock
            .run(async |_| {
                if lost {
                    let _: () = stack.redis("DEL a");
                }
                Err::<(), _>(Failure::OfWork)
            })
            .await;
        assert_eq!(outcome, Err(Failure::OfWork));
        assert!(!stack.redis::<bool>("EXISTS a"));
    }
    // The work ended well, but it was not under the lock to its end.
    let outcome = lock
        .run(async |_| {
            let _: () = stack.redis("DEL a");
            Ok::<_, Failure>(())
        })
        .await;
    assert!(matches!(outcome, Err(Failure::OfLock(Error::Lost { .. }))));
}

async fn work_is_stopped_at_the_next_renewal_after_the_lock_was_lost(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(TTL);
    let begins = async || {
        until(&seen, "renewed", 1).await;
        let _: () = stack.redis("SET a another");
    };
    assert_eq!(stopped(&lock, begins).await, "lost");
    // The loss is told before the deadline, and another's lock is left alone.
    assert_eq!(seen.events().last().unwrap(), "lost");
    assert_eq!(stack.redis::<String>("GET a"), "another");
    assert_eq!(seen.under_way(), 0);
}

async fn work_is_stopped_at_the_deadline_though_the_network_hangs(stack: Stack) {
    let (granted, answers) = (Rc::new(Cell::new(false)), stack.url());
    // Answers the acquisition, and nothing after it.
    let url = faulty::serve(move |asked| {
        let (first, answers) = (!granted.replace(true), answers.clone());
        async move {
            if first { Some(faulty::forward(&answers, &asked).await) } else { pending().await }
        }
    })
    .await;
    let (client, seen) = watch(stack.route_by(&url));
    let lock = client.lock("a").ttl(TTL);
    assert_eq!(stopped(&lock, async || {}).await, "expired");
    assert_eq!(seen.events().last().unwrap(), "lost");
    assert_eq!(seen.under_way(), 0);
}

async fn a_renewal_that_fails_is_tried_again(stack: Stack) {
    // More faults than one renewal has attempts.
    let faults = [Pass, LoseRequest, LoseRequest, LoseReply, LoseRequest];
    let proxy = Proxy::before(&stack, faults).await;
    let (client, seen) = watch(stack.route_by(&proxy.url));
    let lock = client.lock("a").ttl(ms(2_000));
    let outcome = lock
        .run(async |_| {
            until(&seen, "renewed", 1).await;
            Ok::<_, Error>(())
        })
        .await;
    outcome.unwrap();
    assert!(!seen.events().contains(&"lost".to_owned()));
}

async fn work_that_takes_too_long_is_stopped_and_the_lock_released(mut stack: Stack) {
    let lock = stack.lock("a").ttl(TTL).max_hold(ms(500));
    assert_eq!(stopped(&lock, async || {}).await, "max_hold_exceeded");
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn work_that_gives_the_lock_back_itself_may_go_on(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(TTL);
    let outcome = lock
        .run(async |lease| {
            lease.commit(&[]).await?;
            let sent = seen.sent();
            let _: () = stack.redis("SET a another");
            // Long enough that several renewals would have been due.
            tokio::time::sleep(TTL).await;
            assert_eq!(seen.sent(), sent);
            Ok::<_, Error>(7)
        })
        .await;
    assert_eq!(outcome, Ok(7));
    assert_eq!(stack.redis::<String>("GET a"), "another");
}

async fn a_short_ttl_does_not_spin_when_renewals_fail(stack: Stack) {
    let begun = Rc::new(Cell::new(false));
    let (hangs_up, bridge) = (begun.clone(), stack.url());
    // Answers until the work begins, and nothing after that.
    let url = faulty::serve(move |asked| {
        let (hangs_up, bridge) = (hangs_up.clone(), bridge.clone());
        async move {
            if hangs_up.get() {
                return None;
            }
            Some(faulty::forward(&bridge, &asked).await)
        }
    })
    .await;
    let (client, seen) = watch(stack.route_by(&url));
    let lock = client.lock("a").ttl(ms(10));
    let mut sent_before = 0;
    // On a busy machine an answer may take longer than this ttl.
    let outcome = loop {
        let outcome: Result<(), Error> = lock
            .run(async |_| {
                begun.set(true);
                sent_before = seen.sent();
                pending().await
            })
            .await;
        if begun.get() {
            break outcome;
        }
    };
    assert_eq!(code(outcome), "expired");
    let sent = seen.sent() - sent_before;
    assert!((1..20).contains(&sent), "{sent}");
}

async fn a_long_ttl_is_a_long_ttl(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let month = ms(30 * 24 * 60 * 60 * 1_000);
    let lock = client.lock("a").ttl(month);
    lock.run(async |_| {
        assert!(stack.redis::<u64>("PTTL a") > 2_591_000_000);
        tokio::time::sleep(ms(50)).await;
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
    assert_eq!(seen.sent(), 2);
}

async fn a_dropped_lease_and_a_dropped_run_are_released_in_the_background(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    drop(lock.try_acquire().await.unwrap());
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    eventually(|| seen.events() == ["acquired", "released"]).await;

    let lease = lock.try_acquire().await.unwrap();
    let _: u64 = stack.redis("DEL a");
    drop(lease);
    eventually(|| seen.events()[2..] == ["acquired", "lost"]).await;

    let running = lock.clone();
    let task = tokio::task::spawn_local(async move {
        running.run(async |_| pending::<Result<(), Error>>().await).await
    });
    eventually(|| stack.redis("EXISTS a")).await;
    task.abort();
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

async fn a_lease_that_was_given_back_or_handed_over_is_not_released_when_it_is_dropped(
    mut stack: Stack,
) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    lease.release().await.unwrap();
    drop(lease);
    let token = lock.try_acquire().await.unwrap().into_token();
    assert_eq!((seen.sent(), seen.under_way()), (3, 0));
    assert_eq!(stack.redis::<String>("GET a"), token.expose());
    let lease = lock.resume(token).unwrap();
    lease.exec(&[Command::new("INCR").key("n")]).await.unwrap();
    lease.release().await.unwrap();
    let _: () = stack.redis("DEL n");
}
