//! An acquire that arrives after its own hold has ended takes the lock again. What becomes of
//! writes of the first hold?

use super::*;
use crate::fate::Fate;
use crate::host::{SimClient, SimLock};

fn redis(is_straight: bool) -> Rc<Redis> {
    let check = "return ARGV[5] ~= '0' and fence and fence ~= ARGV[5]";
    Rc::new(match is_straight {
        true => Redis::default(),
        false => Redis::with(check, "return false"),
    })
}

fn appends(what: &str) -> [Command; 1] {
    [Command::new("APPEND").key("log:a").arg(what)]
}

/// The first client has the lock, and its write is late. Another client has the lock meanwhile, and
/// writes too. In between, the first client's acquire arrives once more. Returns what was written.
fn written(redis: &Rc<Redis>, lock: fn(SimClient, u8) -> SimLock, is_last: bool) -> String {
    play_on(redis, move |case| async move {
        let first = lock(client(&case, &machine()), 1);
        // This request arrives at 3 s. Its repeat holds the lock from 0.5 s to 1.5 s.
        case.network.fates.next(Fate::Late(3_000 * MS));
        let lease = first.try_acquire().await.expect("a lease");
        // The write arrives at 3.5 s, if it is not sent again.
        for _ in 0..3 {
            case.network.fates.next(Fate::Late(2_900 * MS));
        }
        let outcome = match is_last {
            true => lease.commit(&appends("first ")).await,
            false => lease.exec(&appends("first ")).await,
        };
        assert!(outcome.expect_err("no answer").is_outcome_unknown());
        std::mem::forget(lease);
        sleep(&case, 2_000 - now(&case)).await;
        let second = lock(client(&case, &machine()), 2);
        let lease = second.try_acquire().await.expect("a free lock");
        lease.commit(&appends("second ")).await.expect("held");
        sleep(&case, 4_000).await;
        let reads = [Command::new("GET").key("log:a")];
        let (_, replies) = second.acquire_and_read(&reads).await.expect("a free lock");
        replies[0].as_str().expect("something written").to_owned()
    })
}

fn mutex(client: SimClient, _: u8) -> SimLock {
    let lock = client.lock("a");
    lock.ttl(Duration::from_secs(1))
}

fn reentrant(client: SimClient, owner: u8) -> SimLock {
    let lock = client.reentrant("a", &owner.to_string());
    lock.ttl(Duration::from_secs(1))
}

#[test]
fn a_write_of_a_hold_that_is_over_does_not_run_in_one_that_a_late_acquire_began() {
    for lock in [mutex, reentrant] {
        for is_last in [true, false] {
            assert_eq!(written(&redis(true), lock, is_last), "second ");
        }
    }
}

/// A sabotage: a hold is recognized by its token alone.
#[test]
fn a_hold_that_is_told_by_its_token_alone_is_noticed() {
    for lock in [mutex, reentrant] {
        for is_last in [true, false] {
            assert_eq!(written(&redis(false), lock, is_last), "second first ");
        }
    }
}
