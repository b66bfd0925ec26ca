//! When a holder that listens learns that its lock was taken from it.

use std::future::pending;

use edgelock::Error;

use super::*;
use crate::host::SimLock;
use crate::script::replaced;

/// When `run` of the lock `a` ends, which another takes over or frees by force at 1,000 ms; `None`
/// if that is not within its first renewals.
fn ends(
    redis: Redis,
    at_half: impl Fn(&Rc<Case>) + 'static,
    holds: fn(SimLock) -> SimLock,
    takes: bool,
) -> Option<u64> {
    play_on(&Rc::new(redis), |case| async move {
        let lock = holds(client(&case, &machine()).lock("a"));
        let machine = machine();
        let done = meanwhile(&case, &machine, async move {
            let work = async |_: &SimLease| pending::<Result<(), Error>>().await;
            let lost = lock.run(work).await.expect_err("no work ends");
            assert_eq!(lost.code(), "lost");
        });
        sleep(&case, 500).await;
        at_half(&case);
        sleep(&case, 500).await;
        let other = client(&case, &Rc::new(Machine::new(0))).lock("a");
        if takes {
            drop(
                other
                    .take_over()
                    .acquire()
                    .await
                    .expect("a lease")
                    .into_token(),
            );
        } else {
            assert!(other.force_release().await.expect("an answer"));
        }
        sleep(&case, 20_000).await;
        in_ms(&done)
    })
}

fn told(lock: SimLock) -> SimLock {
    lock.listen()
}

/// Ten ms until the other's request is executed, ten for the message, a renewal, and the request
/// that gives the lock back.
const AT_ONCE: u64 = 1_000 + 10 + 10 + 20;

#[test]
fn a_holder_that_listens_learns_within_a_round_trip_that_its_lock_was_taken() {
    for takes in [true, false] {
        let at = ends(Redis::default(), |_| {}, told, takes);
        assert!(
            at.is_some_and(|at| (AT_ONCE..=AT_ONCE + 20).contains(&at)),
            "{at:?}"
        );
    }
}

#[test]
fn one_that_does_not_listen_learns_it_at_its_next_renewal() {
    for takes in [true, false] {
        let at = ends(Redis::default(), |_| {}, |lock| lock, takes);
        assert!(at.is_some_and(|at| (3_353..=3_400).contains(&at)), "{at:?}");
    }
}

#[test]
fn one_whose_message_is_lost_learns_it_at_its_next_renewal() {
    let deaf = Net {
        lose_push: 1_000,
        ..STEADY
    };
    for takes in [true, false] {
        let at = ends(
            Redis::default(),
            move |case| case.net.set(deaf),
            told,
            takes,
        );
        // The last renewal was when it began to listen, at 40 ms.
        assert!(at.is_some_and(|at| (3_373..=3_420).contains(&at)), "{at:?}");
    }
}

#[test]
fn whoever_takes_the_lock_and_tells_nobody_is_noticed() {
    for (takes, part) in [
        (true, "store() redis.pcall"),
        (false, "delete() redis.pcall"),
    ] {
        let silent = move |text: &str| {
            let by = part.replace("redis.pcall", "string.len");
            replaced(text, part, &by).0
        };
        let at = ends(Redis::new(Box::new(silent)), |_| {}, told, takes);
        assert!(at.is_some_and(|at| at > 3_000), "{at:?}");
    }
}

fn end_streams(case: &Rc<Case>) {
    case.network.restart_bridge(case, case.world.now());
}

#[test]
fn one_whose_stream_ends_opens_another_and_learns_it_then() {
    for takes in [true, false] {
        let at = ends(Redis::default(), end_streams, told, takes);
        // A second after the first one.
        assert!(at.is_some_and(|at| at <= AT_ONCE + 80), "{at:?}");
    }
}

#[test]
fn streams_that_end_at_once_are_opened_once_a_second() {
    play(|case| async move {
        let lock = told(client(&case, &machine()).lock("a"));
        let work = async {
            for _ in 0..40 {
                end_streams(&case);
                sleep(&case, 50).await;
            }
            Ok::<_, Error>(())
        };
        lock.run(async |_| work.await).await.expect("held");
        assert!(
            (2..=3).contains(&case.network.opened()),
            "{}",
            case.network.opened()
        );
    });
}

/// Messages that nobody published make it ask, but not without end.
#[test]
fn messages_that_are_not_true_cost_a_renewal_a_second_at_most() {
    play(|case| async move {
        let lock = told(client(&case, &machine()).lock("a"));
        let renewals = Rc::new(Cell::new(0));
        let work = async {
            for _ in 0..2_000 {
                case.invent("0");
                sleep(&case, 1).await;
            }
            Ok::<_, Error>(())
        };
        lock.run(async |_| work.await).await.expect("held");
        let events = case.events.borrow();
        let renewed = events.iter().filter(|event| **event == "renewed").count();
        renewals.set(renewed);
        // One when it begins to listen, one at the first message, and then one a second.
        assert!((2..=5).contains(&renewals.get()), "{events:?}");
    });
}
