//! What `run` and `keep` tell when their time is up.

use std::cell::RefCell;
use std::future::pending;

use edgelock::Error;

use super::*;

#[test]
fn max_hold_of_a_resumed_lease_counts_from_when_it_is_kept() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let lease = lock.resume(lease.into_token()).expect("randomness");
        sleep(&case, 8_000).await;
        let begun = now(&case);
        let max_hold = Some(Duration::from_secs(5));
        let outcome: Result<(), Error> = lease.run(max_hold, pending()).await;
        assert!(matches!(outcome, Err(Error::MaxHoldExceeded { .. })));
        // The lease was renewed, and released in the end.
        assert_eq!(now(&case), begun + 20 + 5_000 + 20);
    });
}

/// A `run` whose work takes 500 ms, on a machine that stands still until `then`. Returns what it
/// tells, and when. Its deadline is at 1,978 ms, and Redis keeps the lock until 2,010 ms.
async fn run_until(case: &Rc<Case>, then: u64) -> (Result<u32, Error>, u64) {
    let machine = machine();
    let lock = client(case, &machine).lock("a");
    let lock = lock.ttl(Duration::from_secs(2));
    let outcome = Rc::new(RefCell::new(None));
    let (told, ours, on) = (outcome.clone(), case.clone(), machine.clone());
    let done = meanwhile(case, &machine, async move {
        let work = async |_: &_| {
            let time = Duration::from_millis(500);
            ours.world.sleep(&on, time).await;
            Ok(7)
        };
        *told.borrow_mut() = Some(lock.run(work).await);
    });
    sleep(case, 300).await;
    let time = (then - now(case)) * MS;
    machine.pause(case.world.now(), time);
    case.world.schedule(time, || {});
    sleep(case, then + 5_000).await;
    let outcome = outcome.take().expect("it ended");
    (outcome, in_ms(&done).expect("it ended"))
}

#[test]
fn work_that_ended_past_its_deadline_is_not_ok_unless_the_lock_was_held() {
    play(|case| async move {
        let (outcome, _) = run_until(&case, 5_000).await;
        assert!(matches!(outcome, Err(Error::Lost { .. })));
    });
    play(|case| async move {
        let (outcome, _) = run_until(&case, 1_985).await;
        assert_eq!(outcome, Ok(7));
    });
}

#[test]
fn work_that_ended_past_its_deadline_is_expired_if_nobody_answers() {
    play(|case| async move {
        cut_at(&case, 1_000);
        let (outcome, at) = run_until(&case, 5_000).await;
        assert!(matches!(outcome, Err(Error::Expired { .. })));
        // It waits for no longer than one request may take.
        assert_eq!(at, 5_000 + 500);
    });
}

#[test]
fn work_that_ended_before_its_deadline_is_ok_though_nobody_answers() {
    play(|case| async move {
        cut_at(&case, 400);
        let (outcome, _) = run_until(&case, 310).await;
        assert_eq!(outcome, Ok(7));
    });
}

#[test]
fn a_kept_lease_is_expired_and_not_busy_while_it_is_given_back_past_its_deadline() {
    play(|case| async move {
        let machine = machine();
        let lock = client(&case, &machine).lock("a");
        let lease = lock.ttl(Duration::from_secs(2)).acquire().await;
        let lease = Rc::new(lease.expect("it is free"));
        let kept = lease.clone();
        let done = meanwhile(&case, &machine, async move {
            let _: Result<(), Error> = kept.run(None, pending()).await;
        });
        cut_at(&case, 300);
        sleep(&case, 300).await;
        let time = 5_000 * MS;
        machine.pause(case.world.now(), time);
        case.world.schedule(time, || {});
        sleep(&case, 5_001).await;
        assert_eq!(in_ms(&done), None, "nobody has answered the release");
        for outcome in [
            lease.exec(&[]).await.map(drop),
            lease.renew().await,
            lease.commit(&[]).await.map(drop),
        ] {
            assert!(matches!(outcome, Err(Error::Expired { .. })), "{outcome:?}");
        }
    });
}

/// From `at` on, no request arrives.
fn cut_at(case: &Rc<Case>, at: u64) {
    let cut = case.clone();
    case.world.schedule(at * MS, move || {
        cut.net.set(Net {
            lose_request: 1_000,
            ..STEADY
        });
    });
}
