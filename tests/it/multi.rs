//! Several names at once: all or none, and each is held as a lock of that name would be.

use edgelock::{Command, Error};

use crate::support::faulty::Fault::Withhold;
use crate::support::faulty::Proxy;
use crate::support::watched::WatchedClient;
use crate::support::{Stack, TestLock, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        all_names_have_one_token_and_one_fence_above_the_last_of_each,
        none_is_taken_while_one_is_held_and_the_error_says_which,
        locks_of_one_name_exclude_it_and_are_excluded,
        a_lease_that_lost_one_name_is_lost_and_the_others_are_given_back,
        a_renewal_gives_every_name_its_ttl_again,
        one_that_waits_for_a_name_which_becomes_a_semaphore_does_not_break_it,
        so_many_of_the_longest_names_are_waited_for_and_taken,
        an_acquisition_that_lost_one_name_before_its_repeat_holds_none,
    }
}

/// Promises that need a bridge with subscriptions.
mod push {
    use super::*;

    over! {
        [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
            a_waiter_that_is_told_in_vain_leaves_the_name_to_the_next,
            a_release_of_all_names_hands_each_to_its_waiter,
            readers_and_writers_that_leave_tell_the_waiter_too,
        }
    }
}

impl Stack {
    fn all<const N: usize>(&self, names: [&str; N]) -> TestLock {
        self.client().lock_all(names)
    }

    fn holder(&mut self, name: &str) -> Option<String> {
        self.redis(&format!("GET {name}"))
    }

    fn are_free<const N: usize>(&mut self, names: [&str; N]) -> bool {
        self.redis::<usize>(&format!("EXISTS {}", names.join(" "))) == 0
    }
}

/// Which lock is said to be held, and for how long.
#[track_caller]
fn held<O: std::fmt::Debug>(outcome: Result<O, Error>) -> (String, Option<std::time::Duration>) {
    match outcome.unwrap_err() {
        Error::Held { lock, remaining, .. } => (lock, remaining),
        other => panic!("{other:?}"),
    }
}

async fn all_names_have_one_token_and_one_fence_above_the_last_of_each(mut stack: Stack) {
    // The last fence of one name is ahead of Redis's clock.
    let ahead = 8_000_000_000_000_000_u64;
    stack.store("{b}:fence", &format!("v1 {ahead} 604800000 ,"));
    let lease = stack.all(["a", "b", "c"]).try_acquire().await.unwrap();
    assert_eq!(lease.fence(), ahead + 1);
    for name in ["a", "b", "c"] {
        let token = lease.token().expose().to_owned();
        assert_eq!(stack.holder(name), Some(token));
        assert_eq!(stack.last_fence(name), lease.fence());
        let left: u64 = stack.redis(&format!("PTTL {name}"));
        assert!((5_001..=10_000).contains(&left), "{left}");
    }
    lease.release().await.unwrap();
    assert!(stack.are_free(["a", "b", "c"]));
    for name in ["a", "b", "c"] {
        let next = stack.lock(name).try_acquire().await.unwrap();
        assert!(next.fence() > lease.fence());
        next.release().await.unwrap();
    }
    // A set of one name is held as a lock is.
    let one = stack.all(["a"]).acquire().await.unwrap();
    assert_eq!(code(stack.lock("a").try_acquire().await), "held");
    one.release().await.unwrap();
}

async fn none_is_taken_while_one_is_held_and_the_error_says_which(mut stack: Stack) {
    let labelled = stack.lock("c").label("worker 7").ttl(ms(60_000));
    let holder = labelled.try_acquire().await.unwrap();
    let refused = stack.all(["a", "c", "b"]).try_acquire().await.unwrap_err();
    let Error::Held { lock, remaining: Some(remaining), label: Some(label), .. } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!((lock.as_str(), label.as_str()), ("c", "worker 7"));
    assert!(*remaining > ms(50_000), "{remaining:?}");
    assert!(stack.are_free(["a", "b"]));
    // If several are held, the first in alphabetical order is told.
    let other = stack.lock("b").try_acquire().await.unwrap();
    assert_eq!(held(stack.all(["c", "b", "a"]).try_acquire().await).0, "b");
    holder.release().await.unwrap();
    other.release().await.unwrap();
    let lease = stack.all(["a", "c", "b"]).try_acquire().await.unwrap();
    assert!(lease.fence() > other.fence());
    lease.release().await.unwrap();
}

async fn locks_of_one_name_exclude_it_and_are_excluded(mut stack: Stack) {
    let both = stack.all(["a", "b"]);
    let lease = both.try_acquire().await.unwrap();
    for name in ["a", "b"] {
        assert_eq!(code(stack.lock(name).try_acquire().await), "held");
        let read_write = stack.client().read_write(name);
        assert_eq!(code(read_write.read().try_acquire().await), "held");
        // Other programs lock a name in this way.
        let taken: Option<String> = stack.redis(&format!("SET {name} other NX PX 60000"));
        assert_eq!(taken, None);
    }
    assert_eq!(held(stack.all(["c", "b"]).try_acquire().await).0, "b");
    lease.release().await.unwrap();
    let _: () = stack.redis("SET b other NX PX 60000");
    let (lock, remaining) = held(both.try_acquire().await);
    assert_eq!(lock, "b");
    assert!(remaining.unwrap() > ms(50_000));
    let _: () = stack.redis("DEL b");
    let reader = stack.client().read_write("a").read();
    let reading = reader.try_acquire().await.unwrap();
    assert_eq!(held(both.try_acquire().await).0, "a");
    reading.release().await.unwrap();
    both.try_acquire().await.unwrap().release().await.unwrap();
}

async fn a_lease_that_lost_one_name_is_lost_and_the_others_are_given_back(mut stack: Stack) {
    for lost in ["a", "b"] {
        let lease = stack.all(["a", "b", "c"]).try_acquire().await.unwrap();
        let waiting = stack.lock("c").wait_timeout(LONG);
        let waiter = meanwhile(async move { waiting.acquire().await });
        eventually(|| stack.waiters_for("c") == 1).await;
        assert!(stack.lock(lost).force_release().await.unwrap());
        assert_eq!(code(lease.renew().await), "lost");
        assert!(stack.are_free(["a", "b"]));
        waiter.await.unwrap().unwrap().release().await.unwrap();
        assert_eq!(code(lease.release().await), "lost");
    }
}

async fn a_renewal_gives_every_name_its_ttl_again(mut stack: Stack) {
    let lease = stack.all(["a", "b"]).try_acquire().await.unwrap();
    let _: () = stack.redis("PEXPIRE b 5000");
    lease.renew_for(ms(60_000)).await.unwrap();
    for name in ["a", "b"] {
        assert!(stack.redis::<u64>(&format!("PTTL {name}")) > 50_000);
        let of_fence: u64 = stack.redis(&format!("PTTL {{{name}}}:fence"));
        assert!(of_fence > 604_800_000 + 50_000);
    }
    // A renewal for less than what is left changes nothing.
    lease.renew_for(ms(1_000)).await.unwrap();
    assert!(stack.redis::<u64>("PTTL b") > 50_000);
    lease.release().await.unwrap();
}

async fn one_that_waits_for_a_name_which_becomes_a_semaphore_does_not_break_it(mut stack: Stack) {
    let holder = stack.lock("a").try_acquire().await.unwrap();
    let waiting = stack.all(["a", "c"]).wait_timeout(LONG);
    let waiter = meanwhile(async move { waiting.acquire().await });
    eventually(|| stack.waiters_for("c") == 1).await;
    let semaphore = stack.client().semaphore("c", 2);
    let first = semaphore.try_acquire().await.unwrap();
    let second = semaphore.try_acquire().await.unwrap();
    first.release().await.unwrap();
    // The semaphore's name has another type now. The waiter is told so although the first name
    // is held.
    assert_eq!(code(waiter.await.unwrap()), "wrong_type");
    second.release().await.unwrap();
    holder.release().await.unwrap();
}

async fn so_many_of_the_longest_names_are_waited_for_and_taken(mut stack: Stack) {
    let names: Vec<String> = (10..42).map(|n| "n".repeat(510) + &n.to_string()).collect();
    let all = stack.client().lock_all(&names).wait_timeout(LONG);
    let holder = stack.lock(&names[31]).try_acquire().await.unwrap();
    let waiter = meanwhile(async move { all.acquire().await });
    eventually(|| stack.waiters_for(&names[31]) == 1).await;
    holder.release().await.unwrap();
    let lease = waiter.await.unwrap().unwrap();
    let writes: Vec<Command> = (0..32).map(|_| Command::new("INCR").key("n")).collect();
    lease.exec(&writes).await.unwrap();
    lease.commit(&writes).await.unwrap();
    assert_eq!(stack.redis::<u32>("GET n"), 64);
}

async fn an_acquisition_that_lost_one_name_before_its_repeat_holds_none(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Withhold]).await;
    let client = proxy.client.clone().request_timeout(ms(500));
    let lock = client.lock_all(["a", "b"]).ttl(ms(60_000));
    let call = meanwhile(async move { lock.try_acquire().await });
    eventually(|| stack.holder("b").is_some()).await;
    let _: () = stack.redis("DEL b");
    let outcome = call.await.unwrap();
    assert!(outcome.is_err(), "{outcome:?}");
    eventually(|| stack.are_free(["a", "b"])).await;
}

async fn a_waiter_that_is_told_in_vain_leaves_the_name_to_the_next(mut stack: Stack) {
    let first = stack.lock("a").try_acquire().await.unwrap();
    let second = stack.lock("b").try_acquire().await.unwrap();
    let barges = |client: &WatchedClient| client.lock_all(["a", "b"]).fair(false);
    let (both, _) = stack.listens(1, 3, barges).await;
    let (single, seen) = stack.listens(2, 2, |client| client.lock("a")).await;
    first.release().await.unwrap();
    // The first in the queue cannot have this name, since it waits for the other one too. So
    // the next waiter is handed it, without asking.
    let lease = single.await.unwrap();
    assert_eq!(seen.requests_of_grants(), [2]);
    eventually(|| stack.waiters_for("b") == 1).await;
    lease.release().await.unwrap();
    second.release().await.unwrap();
    both.await.unwrap().release().await.unwrap();
}

async fn a_release_of_all_names_hands_each_to_its_waiter(mut stack: Stack) {
    let all = stack.all(["a", "b"]);
    let holder = all.try_acquire().await.unwrap();
    let mut waiters = Vec::new();
    for (place, name) in ["a", "b"].into_iter().enumerate() {
        let waits = stack.listens(place + 1, 3, |client| client.lock(name));
        waiters.push(waits.await);
    }
    holder.release().await.unwrap();
    for (waiter, seen) in waiters {
        let lease = waiter.await.unwrap();
        assert!(lease.fence() > holder.fence());
        assert_eq!(seen.requests_of_grants(), [3]);
        lease.release().await.unwrap();
    }
}

async fn readers_and_writers_that_leave_tell_the_waiter_too(mut stack: Stack) {
    let read_write = stack.client().read_write("b");
    for lock in [read_write.read(), read_write.write()] {
        let holder = lock.try_acquire().await.unwrap();
        let waits = stack.listens(1, 3, |client| client.lock_all(["a", "b"]));
        let (waiter, seen) = waits.await;
        holder.release().await.unwrap();
        let lease = waiter.await.unwrap();
        assert_eq!(seen.requests_of_grants(), [4]);
        lease.release().await.unwrap();
        stack.has_listeners(0).await;
    }
}
