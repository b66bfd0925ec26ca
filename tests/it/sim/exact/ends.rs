//! What `run` and `keep` tell when their time is up.

use std::future::pending;

use super::*;

#[test]
fn max_hold_of_a_resumed_lease_counts_from_when_it_is_kept() {
    play(|case| async move {
        let lock = lock(&case);
        let lease = lock.acquire().await.expect("a lease");
        let lease = lock.resume(lease.into_token()).expect("randomness");
        sleep(&case, 8_000).await;
        let begun = now(&case);
        let outcome: Result<(), Error> = lease.run(Some(s(5)), pending()).await;
        assert!(matches!(outcome, Err(Error::MaxHoldExceeded { .. })));
        // The lease was renewed, and released in the end.
        assert_eq!(now(&case), begun + 20 + 5_000 + 20);
    });
}

/// A `run` whose work takes 500 ms, on a machine that stands still until `then`. From `cut` on, no
/// request arrives. Returns what it tells, and when. Its deadline is at 1,978 ms, and Redis keeps
/// the lock until 2,010 ms.
fn run_until(then: u64, cut: Option<u64>) -> (Result<u32, &'static str>, Option<u64>) {
    play(move |case| async move {
        if let Some(cut) = cut {
            cut_at(&case, cut);
        }
        let machine = machine();
        let lock = client(&case, &machine).lock("a").ttl(s(2));
        let (ours, on) = (case.clone(), machine.clone());
        let done = meanwhile(&case, &machine, async move {
            let work = async |_: &_| {
                ours.world.sleep(&on, ms(500)).await;
                Ok::<_, Error>(7)
            };
            lock.run(work).await.map_err(|error| error.code())
        });
        sleep(&case, 300).await;
        stand_still(&case, &machine, then - now(&case));
        sleep(&case, then + 5_000).await;
        let at = done.at();
        (done.told(), at)
    })
}

stories! {
    work_that_ended_past_its_deadline_is_not_ok_unless_the_lock_was_held:
        [5_000, 1_985].map(|then| run_until(then, None)) => [(Err("lost"), _), (Ok(7), _)],
    // It waits for no longer than one request may take.
    work_that_ended_past_its_deadline_is_expired_if_nobody_answers:
        run_until(5_000, Some(1_000)) => (Err("expired"), Some(5_500)),
    work_that_ended_before_its_deadline_is_ok_though_nobody_answers:
        run_until(310, Some(400)) => (Ok(7), _),
}

#[test]
fn a_kept_lease_is_expired_and_not_busy_while_it_is_given_back_past_its_deadline() {
    play(|case| async move {
        let machine = machine();
        let lock = client(&case, &machine).lock("a").ttl(s(2));
        let lease = Rc::new(lock.acquire().await.expect("it is free"));
        let kept = lease.clone();
        let done = meanwhile(&case, &machine, async move {
            let _: Result<(), Error> = kept.run(None, pending()).await;
        });
        cut_at(&case, 300);
        sleep(&case, 300).await;
        stand_still(&case, &machine, 5_000);
        sleep(&case, 5_001).await;
        assert_eq!(done.at(), None, "nobody has answered the release");
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
    case.world.schedule(at * MS, move || cut.net.set(CUT));
}
