//! Once a release or a commit was sent, the lease has ended, whatever came of it.

use std::time::Duration;

use edgelock::Command;
use edgelock::testing::Table;
use tokio::time::timeout;

use crate::support::faulty::Fault::{Delay, LoseReply, LoseRequest, Pass, Withhold};
use crate::support::faulty::Proxy;
use crate::support::watched::watch;
use crate::support::{Stack, TestLock, alone, code, eventually, ms, over};

alone! {
    after_a_release_or_commit_of_unknown_outcome_only_these_may_follow_and_nothing_remains,
    a_commit_of_unknown_outcome_may_be_followed_by_another,
    a_release_or_commit_that_was_dropped_is_one_of_unknown_outcome,
    a_renewal_that_overlaps_a_release_does_not_say_lost_and_nobody_observes_it,
}

over! {
    [spawn] {
        a_release_or_commit_that_was_turned_away_leaves_the_lease_as_it_was,
        while_a_release_is_under_way_nothing_remains_and_a_renewal_is_refused,
    }
}

fn incr() -> [Command; 1] {
    [Command::new("INCR").key("n")]
}

/// A lock whose calls send one request each.
fn lock(proxy: &Proxy) -> TestLock {
    proxy.client.clone().max_attempts(1).lock("a")
}

async fn after_a_release_or_commit_of_unknown_outcome_only_these_may_follow_and_nothing_remains() {
    let faults = [LoseReply, LoseRequest].into_iter();
    for (commits, fault) in faults.flat_map(|fault| [(false, fault), (true, fault)]) {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, fault]).await;
        let lease = lock(&proxy).try_acquire().await.unwrap();
        let error = match commits {
            true => lease.commit(&incr()).await.unwrap_err(),
            false => lease.release().await.unwrap_err(),
        };
        assert!(error.is_outcome_unknown());
        assert!(lease.remaining().is_zero());
        assert_eq!(code(lease.renew().await), "released");
        assert_eq!(code(lease.exec(&incr()).await), "released");
        assert_eq!(proxy.seen().len(), 2);
        let executed = commits && matches!(fault, LoseReply);
        let written = stack.redis::<Option<u32>>("GET n").unwrap_or(0);
        assert_eq!(written, u32::from(executed));
        match lease.release().await {
            // The commit whose reply was lost may have ended the hold.
            Err(error) => assert!(executed && error.is_outcome_unknown(), "{error}"),
            Ok(()) => assert!(!executed),
        }
        assert!(!stack.redis::<bool>("EXISTS a"));
        assert_eq!(code(lease.release().await), "released");
    }
}

async fn a_commit_of_unknown_outcome_may_be_followed_by_another() {
    for (fault, is_held) in [(LoseRequest, true), (LoseReply, false)] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, fault]).await;
        let lease = lock(&proxy).try_acquire().await.unwrap();
        let first = lease.commit(&incr()).await.unwrap_err();
        assert!(first.is_outcome_unknown());
        let second = lease.commit(&incr()).await;
        assert_eq!(second.is_ok(), is_held);
        assert!(second.is_ok() || second.is_err_and(|error| error.is_outcome_unknown()));
        assert_eq!(stack.redis::<u32>("GET n"), 1);
    }
}

/// What is unknown is then the outcome of the release. That may be made again, a commit may not.
#[test]
fn a_commit_behind_a_release_of_unknown_outcome_is_unknown_and_not_to_be_made_again() {
    // The lease is past its deadline. Or Redis lost the lock, and has no receipt any more.
    for (ttl, loses_lock) in [(10, false), (600, true)] {
        let table = Table::new();
        table.block_on(async {
            let lock = table.client().max_attempts(1).lock("a");
            let lease = lock.ttl(Duration::from_secs(ttl)).try_acquire().await;
            let lease = lease.unwrap();
            table.lose_next_request();
            let released = lease.release().await.unwrap_err();
            assert!(released.is_outcome_unknown() && released.is_retryable());
            if loses_lock {
                table.expire("a");
            }
            table.advance(Duration::from_secs(60));
            let committed = lease.commit(&incr()).await.unwrap_err();
            assert!(committed.is_outcome_unknown() && !committed.is_retryable());
        });
    }
}

async fn a_release_or_commit_that_was_turned_away_leaves_the_lease_as_it_was(mut stack: Stack) {
    let lease = stack.lock("a").try_acquire().await.unwrap();
    let _: () = stack.redis("CONFIG SET min-replicas-to-write 1");
    assert_eq!(code(lease.commit(&incr()).await), "unavailable");
    assert!(!lease.remaining().is_zero());
    let _: () = stack.redis("CONFIG SET min-replicas-to-write 0");
    lease.exec(&incr()).await.unwrap();
    lease.release().await.unwrap();
}

async fn a_release_or_commit_that_was_dropped_is_one_of_unknown_outcome() {
    for commits in [false, true] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, Delay]).await;
        let lease = lock(&proxy).try_acquire().await.unwrap();
        let dropped = async {
            match commits {
                true => drop(lease.commit(&incr()).await),
                false => drop(lease.release().await),
            }
        };
        assert!(timeout(ms(50), dropped).await.is_err());
        assert!(lease.remaining().is_zero());
        assert_eq!(code(lease.renew().await), "released");
        drop(lease);
        eventually(|| !stack.redis::<bool>("EXISTS a")).await;
        proxy.deliver().await;
        assert!(!stack.redis::<bool>("EXISTS n"));
    }
}

async fn while_a_release_is_under_way_nothing_remains_and_a_renewal_is_refused(stack: Stack) {
    let proxy = Proxy::before(&stack, [Pass, Withhold]).await;
    let lease = lock(&proxy).try_acquire().await.unwrap();
    let meanwhile = async {
        eventually(|| proxy.seen().len() == 2).await;
        assert!(lease.remaining().is_zero());
        assert_eq!(code(lease.renew().await), "busy");
        proxy.deliver().await;
    };
    let (released, ()) = tokio::join!(lease.release(), meanwhile);
    assert_eq!(released, Ok(()));
    assert_eq!(proxy.seen().len(), 2);
}

async fn a_renewal_that_overlaps_a_release_does_not_say_lost_and_nobody_observes_it() {
    // Once the renewal is answered before the release, and once after it.
    for release in [Withhold, Pass] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, Delay, release]).await;
        let (client, seen) = watch(stack.route_by(&proxy.url));
        let lease = client.lock("a").try_acquire().await.unwrap();
        let releasing = async {
            eventually(|| proxy.seen().len() == 2).await;
            lease.release().await
        };
        let deliver = async {
            eventually(|| proxy.seen().len() == 3).await;
            eventually(|| !stack.redis::<bool>("EXISTS a")).await;
            if matches!(release, Pass) {
                eventually(|| seen.events() == ["acquired", "released"]).await;
            }
            proxy.deliver().await;
            if matches!(release, Withhold) {
                proxy.deliver().await;
            }
        };
        let (renewed, released, ()) = tokio::join!(lease.renew(), releasing, deliver);
        assert_eq!((code(renewed), released), ("released", Ok(())));
        assert_eq!(seen.events(), ["acquired", "released"]);
    }
}
