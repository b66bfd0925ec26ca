//! Locks that their owner may enter again, stored as Redisson stores its `RLock`: `neighbours::redisson` has both on one key.

use std::collections::HashMap;
use std::future::pending;

use edgelock::{Command, Error};

use crate::support::faulty::Fault::{Duplicate, LoseReply};
use crate::support::faulty::Proxy;
use crate::support::{Stack, TestLock, eventually, ms, run};

const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:31";

impl Stack {
    fn reentrant(&self, owner: &str) -> TestLock {
        self.client().reentrant("a", owner).unwrap()
    }

    fn counts(&mut self) -> HashMap<String, u64> {
        self.redis("HGETALL a")
    }

    fn count(&mut self, owner: &str) -> u64 {
        self.counts().get(owner).copied().unwrap_or(0)
    }
}

#[test]
fn it_is_stored_as_a_hash_from_owner_to_count_with_the_ttl() {
    run(async {
        let mut stack = Stack::spawn();
        let lease = stack.reentrant(OWNER).acquire().await.unwrap();
        assert_eq!(stack.counts(), HashMap::from([(OWNER.to_owned(), 1)]));
        assert!((9_000..=10_000).contains(&stack.redis::<u64>("PTTL a")));
        let keys: Vec<String> = stack.redis("KEYS *");
        for key in keys {
            assert!(stack.redis::<i64>(&format!("PTTL {key}")) > 0, "{key}");
        }
        lease.release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a {a}:hold"));
        assert_eq!(stack.redis::<Vec<String>>("KEYS {a}:entry:*").len(), 0);
    });
}

#[test]
fn its_owner_enters_again_and_only_the_last_release_frees_it() {
    run(async {
        let mut stack = Stack::spawn();
        let outer = stack.reentrant(OWNER).acquire().await.unwrap();
        // From another handler: nothing is shared but the owner.
        let inner = stack.reentrant(OWNER).acquire().await.unwrap();
        assert_eq!(stack.count(OWNER), 2);
        assert_eq!(inner.fence(), outer.fence());
        let other = stack.reentrant("other");
        assert_eq!(other.try_acquire().await.unwrap_err().code(), "held");
        outer.release().await.unwrap();
        assert_eq!(stack.count(OWNER), 1);
        assert_eq!(other.try_acquire().await.unwrap_err().code(), "held");
        inner.release().await.unwrap();
        let lease = other.try_acquire().await.unwrap();
        assert!(lease.fence() > outer.fence());
        assert_eq!(outer.release().await, Err(Error::Released));
        lease.release().await.unwrap();
    });
}

#[test]
fn entering_again_for_less_does_not_shorten_what_the_outer_entry_has() {
    run(async {
        let mut stack = Stack::spawn();
        let outer = stack.reentrant(OWNER).acquire().await.unwrap();
        let short = stack.reentrant(OWNER).ttl(ms(500)).unwrap();
        let inner = short.acquire().await.unwrap();
        inner.renew().await.unwrap();
        assert!(stack.redis::<u64>("PTTL a") > 9_000);
        inner.release().await.unwrap();
        assert!(stack.redis::<u64>("PTTL a") > 9_000);
        outer.release().await.unwrap();
    });
}

#[test]
fn it_is_renewed_while_work_runs_and_no_longer_than_it_is_its_owners() {
    run(async {
        let mut stack = Stack::spawn();
        let (client, seen) = stack.watched();
        let lock = client.reentrant("a", OWNER).unwrap().ttl(ms(300)).unwrap();
        let renewals = || {
            seen.events()
                .iter()
                .filter(|code| *code == "renewed")
                .count()
        };
        let stopped = lock.run(async |_| {
            // One every third of its ttl: without them it would be over.
            eventually(|| renewals() >= 4).await;
            assert_eq!(stack.count(OWNER), 1);
            let _: () = stack.redis("DEL a");
            pending::<Result<(), Error>>().await
        });
        assert!(matches!(stopped.await, Err(Error::Lost | Error::Expired)));
        assert!(!stack.redis::<bool>("EXISTS a"));
    });
}

#[test]
fn a_lost_reply_or_a_repeat_counts_once() {
    run(async {
        let mut stack = Stack::spawn();
        for fault in [LoseReply, Duplicate] {
            let proxy = Proxy::before(&stack, [fault, fault]).await;
            let outer = stack.reentrant(OWNER).acquire().await.unwrap();
            let lock = proxy.client.reentrant("a", OWNER).unwrap();
            let inner = lock.acquire().await.unwrap();
            assert_eq!((inner.fence(), stack.count(OWNER)), (outer.fence(), 2));
            inner.release().await.unwrap();
            assert_eq!(stack.count(OWNER), 1);
            outer.release().await.unwrap();
        }
    });
}

#[test]
fn an_entry_that_was_given_up_is_not_counted() {
    run(async {
        let mut stack = Stack::spawn();
        let outer = stack.reentrant(OWNER).acquire().await.unwrap();
        let proxy = Proxy::before(&stack, [LoseReply]).await;
        let client = proxy.client.clone().attempts(1);
        let given_up = client.reentrant("a", OWNER).unwrap().try_acquire().await;
        assert!(given_up.unwrap_err().is_unknown());
        eventually(|| stack.count(OWNER) == 1).await;
        outer.release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a"));
    });
}

#[test]
fn an_entry_that_ran_out_cannot_leave_a_later_hold_of_its_owner() {
    run(async {
        let mut stack = Stack::spawn();
        let short = stack.reentrant(OWNER).ttl(ms(50)).unwrap();
        let stale = short.acquire().await.unwrap();
        eventually(|| !stack.redis::<bool>("EXISTS a")).await;
        let later = stack.reentrant(OWNER).acquire().await.unwrap();
        assert_eq!(stale.release().await, Err(Error::Lost));
        assert_eq!(stack.count(OWNER), 1);
        later.exec(&[Command::new("PING")]).await.unwrap();
        later.release().await.unwrap();
    });
}

#[test]
fn it_can_be_inspected_and_forced() {
    run(async {
        let mut stack = Stack::spawn();
        let lock = stack.reentrant(OWNER);
        assert_eq!(lock.inspect().await.unwrap().holder, None);
        let first = lock.acquire().await.unwrap();
        let second = lock.acquire().await.unwrap();
        let inspection = lock.inspect().await.unwrap();
        let holder = inspection.holder.unwrap();
        assert_eq!((holder.token.expose(), holder.count), (OWNER, 2));
        assert_eq!(inspection.fence, Some(first.fence()));
        assert!(lock.force_release().await.unwrap());
        assert!(!lock.force_release().await.unwrap());
        assert_eq!(first.renew().await, Err(Error::Lost));
        assert_eq!(second.release().await, Err(Error::Lost));
        assert!(!stack.redis::<bool>("EXISTS a"));
    });
}

#[test]
fn an_entry_of_a_hold_that_was_forced_does_not_end_the_next_hold_of_its_owner() {
    run(async {
        let mut stack = Stack::spawn();
        let lock = stack.reentrant(OWNER);
        let forced = lock.acquire().await.unwrap();
        assert!(lock.force_release().await.unwrap());
        let next = lock.acquire().await.unwrap();
        let incr = Command::new("INCR").key("{a}:n");
        assert_eq!(forced.exec(&[incr]).await, Err(Error::Lost));
        assert_eq!(forced.release().await, Err(Error::Lost));
        assert_eq!(stack.count(OWNER), 1);
        next.release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a {a}:n"));
    });
}

#[test]
fn what_it_cannot_do_is_refused() {
    run(async {
        let mut stack = Stack::spawn();
        let fair = stack.reentrant(OWNER).fair(true);
        assert_eq!(fair.acquire().await.unwrap_err().code(), "invalid_argument");
        let client = stack.client();
        for owner in ["", &"o".repeat(513)] {
            let refused = client.reentrant("a", owner).unwrap_err();
            assert_eq!(refused.code(), "invalid_argument");
        }
        // A lock of the other kind on the same key is nobody's to enter.
        let mutex = stack.lock("a").try_acquire().await.unwrap();
        let entered = stack.reentrant(OWNER).try_acquire().await;
        assert_eq!(entered.unwrap_err(), Error::WrongType);
        mutex.release().await.unwrap();
        let lease = stack.reentrant(OWNER).acquire().await.unwrap();
        let refused = stack.lock("a").try_acquire().await;
        assert_eq!(refused.unwrap_err(), Error::WrongType);
        assert_eq!(stack.count(OWNER), 1);
        lease.release().await.unwrap();
    });
}
