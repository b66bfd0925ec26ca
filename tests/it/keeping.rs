//! Keeping a lease that was acquired without `run`: one that has expired, was resumed, is kept
//! already, or was handed on.

use std::cell::Cell;
use std::future::pending;
use std::time::Duration;

use edgelock::{Error, Lease, Runtime, Transport};
use tokio::time::timeout;

use crate::support::faulty::Fault::{LoseReply, Pass};
use crate::support::faulty::Proxy;
use crate::support::{Stack, code, eventually, ms, over};

over! {
    [spawn] {
        work_is_not_begun_under_a_lease_whose_release_has_an_unknown_outcome,
        a_lease_is_not_handed_over_while_a_write_of_it_is_under_way_or_of_unknown_outcome,
    }
}

const TTL: Duration = ms(2_000);

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        work_is_not_begun_under_a_lease_that_is_over,
        a_resumed_lease_is_renewed_before_its_work_begins_and_while_it_goes_on,
        work_is_not_begun_under_a_resumed_lease_that_is_lost,
        a_lease_that_its_work_hands_over_is_not_released,
        a_lease_is_kept_for_one_work_at_a_time,
        a_lease_is_kept_alive_beside_its_work_until_the_future_is_dropped,
        what_keeps_a_lease_alive_comes_back_with_why_it_is_over,
    }
}

/// The outcome of keeping `lease`, and whether its work was begun.
async fn keep<T: Transport, R: Runtime>(lease: &Lease<T, R>) -> (Result<(), Error>, bool) {
    let begun = Cell::new(false);
    let work = async {
        begun.set(true);
        Ok(())
    };
    let outcome = lease.run(None, work).await;
    (outcome, begun.get())
}

async fn work_is_not_begun_under_a_lease_that_is_over(mut stack: Stack) {
    for over in ["released", "lost", "expired"] {
        let lock = stack.lock("a").ttl(TTL);
        let lease = lock.try_acquire().await.unwrap();
        match over {
            "released" => lease.release().await.unwrap(),
            "lost" => {
                let _: () = stack.redis("DEL a");
                assert_eq!(code(lease.renew().await), "lost");
            }
            _ => tokio::time::sleep(TTL).await,
        }
        let _: () = stack.redis("SET a another");
        let (outcome, begun) = keep(&lease).await;
        assert_eq!((code(outcome), begun), (over, false));
        drop(lease);
        assert_eq!(stack.redis::<String>("GET a"), "another");
        let _: () = stack.redis("DEL a");
    }
}

async fn work_is_not_begun_under_a_lease_whose_release_has_an_unknown_outcome(stack: Stack) {
    let proxy = Proxy::before(&stack, [Pass, LoseReply]).await;
    let lock = proxy.client.clone().max_attempts(1).lock("a");
    let lease = lock.try_acquire().await.unwrap();
    assert!(lease.release().await.unwrap_err().is_outcome_unknown());
    let (outcome, begun) = keep(&lease).await;
    assert_eq!((code(outcome), begun), ("released", false));
}

async fn a_resumed_lease_is_renewed_before_its_work_begins_and_while_it_goes_on(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(TTL);
    let lease = lock.try_acquire().await.unwrap();
    let lease = lock.resume(lease.into_token()).unwrap();
    let work = async {
        assert_eq!(seen.events(), ["acquired", "renewed"]);
        assert!(!lease.remaining().is_zero());
        // That lasts longer than the ttl.
        eventually(|| seen.events().len() >= 6).await;
        assert_eq!(stack.redis::<String>("GET a"), lease.token().expose());
        Ok::<_, Error>(7)
    };
    assert_eq!(lease.run(None, work).await, Ok(7));
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn work_is_not_begun_under_a_resumed_lease_that_is_lost(mut stack: Stack) {
    let lock = stack.lock("a");
    let token = lock.try_acquire().await.unwrap().into_token();
    let _: () = stack.redis("SET a another");
    let lease = lock.resume(token).unwrap();
    let (outcome, begun) = keep(&lease).await;
    assert_eq!((code(outcome), begun), ("lost", false));
    assert_eq!(stack.redis::<String>("GET a"), "another");
}

async fn a_lease_that_its_work_hands_over_is_not_released(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(TTL);
    let handed = lock.run(async |lease| {
        let token = lease.hand_over()?;
        assert!(lease.remaining().is_zero());
        assert_eq!(code(lease.renew().await), "released");
        assert_eq!(code(lease.hand_over()), "released");
        Ok::<_, Error>((token, 7))
    });
    let (token, value) = handed.await.unwrap();
    assert_eq!(value, 7);
    assert_eq!(stack.redis::<String>("GET a"), token.expose());
    assert_eq!((seen.sent(), seen.under_way()), (1, 0));
    // The handler that the lease was handed to keeps it.
    let lease = lock.resume(token).unwrap();
    assert_eq!(keep(&lease).await, (Ok(()), true));
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_lease_is_not_handed_over_while_a_write_of_it_is_under_way_or_of_unknown_outcome(
    stack: Stack,
) {
    let proxy = Proxy::before(&stack, [Pass, Pass, LoseReply]).await;
    let lock = proxy.client.clone().max_attempts(1).lock("a");
    let lease = lock.try_acquire().await.unwrap();
    let (written, handed) = tokio::join!(biased; lease.exec(&[]), async { lease.hand_over() });
    assert_eq!((written.is_ok(), code(handed)), (true, "busy"));
    assert!(lease.release().await.unwrap_err().is_outcome_unknown());
    assert_eq!(code(lease.hand_over()), "released");
}

async fn a_lease_is_kept_for_one_work_at_a_time(mut stack: Stack) {
    let lock = stack.lock("a");
    let lease = lock.try_acquire().await.unwrap();
    let first = lease.run(None, async {
        let (outcome, begun) = keep(&lease).await;
        let told = outcome.as_ref().map_or_else(ToString::to_string, |()| String::new());
        assert!(told.contains("kept for other work"), "{told}");
        assert_eq!((code(outcome), begun), ("busy", false));
        Ok::<_, Error>(7)
    });
    assert_eq!(first.await, Ok(7));
    assert!(!stack.redis::<bool>("EXISTS a"));
    // A `run` that was dropped keeps nothing.
    let lease = lock.try_acquire().await.unwrap();
    let dropped = lease.run(None, pending::<Result<(), Error>>());
    assert!(timeout(ms(50), dropped).await.is_err());
    assert_eq!(keep(&lease).await, (Ok(()), true));
}

async fn a_lease_is_kept_alive_beside_its_work_until_the_future_is_dropped(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(TTL);
    let token = lock.try_acquire().await.unwrap().into_token();
    let lease = lock.resume(token).unwrap();
    tokio::select! {
        why = lease.keep_alive(None) => panic!("{why:?}"),
        // That lasts longer than the ttl.
        () = eventually(|| seen.events().len() >= 6) => {}
    }
    assert_eq!(stack.redis::<String>("GET a"), lease.token().expose());
    let renewals = seen.events().len();
    tokio::time::sleep(TTL / 2).await;
    assert_eq!(seen.events().len(), renewals);
    // A `keep_alive` that was dropped keeps nothing.
    lease.renew().await.unwrap();
    assert_eq!(keep(&lease).await, (Ok(()), true));
}

async fn what_keeps_a_lease_alive_comes_back_with_why_it_is_over(mut stack: Stack) {
    let lock = stack.lock("a").ttl(TTL);
    let lease = lock.try_acquire().await.unwrap();
    let (why, busy) = tokio::join!(biased; lease.keep_alive(Some(ms(100))), keep(&lease));
    assert_eq!((code(why), code(busy.0)), ("max_hold_exceeded", "busy"));
    assert!(!stack.redis::<bool>("EXISTS a"));
    let lease = lock.try_acquire().await.unwrap();
    let _: () = stack.redis("DEL a");
    assert_eq!(code(lease.keep_alive(None).await), "lost");
    assert_eq!(code(lease.keep_alive(None).await), "lost");
    let lease = lock.try_acquire().await.unwrap();
    let (why, released) = tokio::join!(biased; lease.keep_alive(None), lease.release());
    assert_eq!((code(why), released), ("released", Ok(())));
}
