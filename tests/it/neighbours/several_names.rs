//! redlock's lock on several resources, and our lock on several names: both take all or none.

use edgelock::Error;

use super::{Client, redlock_4, redlock_5};
use crate::support::{Stack, alone, code};

alone! {
    each_gets_all_of_its_names_or_none_while_the_other_has_one,
    neither_ends_a_name_that_has_become_the_others,
}

/// Both versions of redlock, on the Redis that is installed and on 6.2.
fn each() -> impl Iterator<Item = (Client, Stack)> {
    let stacks = || [Stack::spawn(), Stack::on_redis_6_2()];
    let theirs = [redlock_4::CLIENT, redlock_5::CLIENT];
    let beside = move |theirs| stacks().map(|stack| (theirs, stack));
    theirs.into_iter().flat_map(beside)
}

async fn each_gets_all_of_its_names_or_none_while_the_other_has_one() {
    for (theirs, mut stack) in each() {
        let mut theirs = (theirs.start)(&[&stack.bridge]);
        let ours = stack.client().lock_all(["a", "b", "c"]);
        assert!(theirs.acquire("c,b,d", 20_000).await);
        let Err(Error::Held { lock, .. }) = ours.try_acquire().await else {
            panic!("theirs does not exclude ours");
        };
        assert_eq!(lock, "b");
        assert!(!stack.redis::<bool>("EXISTS a"));
        assert_ne!(theirs.release().await, Some(false));

        let lease = ours.try_acquire().await.unwrap();
        let token = lease.token().expose();
        assert_eq!(stack.redis::<[String; 3]>("MGET a b c"), [token; 3]);
        assert!(!theirs.acquire("d,c", 20_000).await);
        assert!(!stack.redis::<bool>("EXISTS d"));
        lease.release().await.unwrap();
        assert!(theirs.acquire("d,c", 20_000).await);
        let [one, same]: [String; 2] = stack.redis("MGET c d");
        assert_eq!(one, same);
    }
}

async fn neither_ends_a_name_that_has_become_the_others() {
    for (theirs, mut stack) in each() {
        let mut theirs = (theirs.start)(&[&stack.bridge]);
        let both = stack.client().lock_all(["a", "b"]);
        let lease = both.try_acquire().await.unwrap();
        let _: () = stack.redis("DEL b");
        assert!(theirs.acquire("b,c", 20_000).await);
        assert_eq!(code(lease.release().await), "lost");
        assert_eq!(stack.redis::<u64>("EXISTS a"), 0);
        assert_eq!(stack.redis::<u64>("EXISTS b c"), 2);

        let _: () = stack.redis("DEL c");
        let both = stack.client().lock_all(["c", "d"]);
        let lease = both.try_acquire().await.unwrap();
        // The versions differ in whether this counts as a release.
        theirs.release().await;
        assert_eq!(stack.redis::<u64>("EXISTS b"), 0);
        lease.release().await.unwrap();
    }
}
