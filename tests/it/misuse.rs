//! Calls in an order that other locks have errors for.

use std::time::Duration;

use edgelock::{Command, Error};

use crate::support::{Stack, code, ms, run};

#[test]
fn what_others_refuse_is_an_answer_here() {
    run(async {
        let stack = Stack::spawn();
        let lock = stack.lock("a");
        // Acquired already: a lock is not held, a lease is, and it goes on.
        let lease = lock.try_acquire().await.unwrap();
        let again = lock.try_acquire().await;
        assert!(matches!(again, Err(Error::Held { .. })), "{again:?}");
        // A wait of nothing is one try.
        let hurried = lock.clone().wait(Duration::ZERO).acquire().await;
        assert!(matches!(hurried, Err(Error::Held { .. })), "{hurried:?}");
        lease.release().await.unwrap();
        // A wait may outlast the ttl, its own and the holder's, who never gives the lock back.
        let short = lock.ttl(ms(1_000)).wait(ms(60_000));
        let _ = short.try_acquire().await.unwrap().into_token();
        let patient = short.ttl(ms(5_000)).acquire().await.unwrap();
        patient.release().await.unwrap();
    });
}

#[test]
fn a_lease_that_was_given_back_says_so_to_whatever_is_asked() {
    run(async {
        let mut stack = Stack::spawn();
        let lock = stack.lock("a");
        let lease = lock.try_acquire().await.unwrap();
        lease.release().await.unwrap();
        let next = lock.try_acquire().await.unwrap();
        let incr = [Command::new("INCR").key("n")];
        assert_eq!(code(lease.release().await), "released");
        assert_eq!(code(lease.renew().await), "released");
        assert_eq!(code(lease.exec(&incr).await), "released");
        assert_eq!(code(lease.commit(&incr).await), "released");
        assert!(lease.remaining().is_zero());
        assert!(!stack.redis::<bool>("EXISTS n"));
        next.renew().await.unwrap();
        next.release().await.unwrap();
    });
}
