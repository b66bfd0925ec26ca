//! How long a wait lasts, to the millisecond.

use super::*;

#[test]
fn a_free_lock_is_had_however_long_the_way_and_however_short_the_wait() {
    for way in [75, 200] {
        for wait in [1, 50, 100, 300] {
            play(move |case| async move {
                slow_down(&case, way * MS);
                let lock = client(&case, &machine()).lock("a");
                let lock = lock.wait_timeout(Duration::from_millis(wait));
                let lease = lock.acquire().await.expect("a lease");
                assert_eq!(now(&case), 2 * way);
                lease.release().await.expect("held");
            });
        }
    }
}

/// Waits for `wait` for a lock that is held, and released after `after`. Returns when it had the
/// lock, or when it gave up.
fn waits_for(wait: u64, after: u64, push: bool) -> Result<u64, u64> {
    let outcome = Rc::new(Cell::new(None));
    let noted = outcome.clone();
    play(move |case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let begun = now(&case);
        let (machine, world) = (machine(), case.world.clone());
        let settings = Settings { push, ..SETTINGS };
        let lock = host::client(&case, &machine, settings).lock("a");
        let lock = lock.wait_timeout(Duration::from_millis(wait));
        meanwhile(&case, &machine, async move {
            let acquired = lock.acquire().await;
            let took = world.now() / MS - begun;
            noted.set(Some(match acquired {
                Ok(_) => Ok(took),
                Err(error) if error.code() == "held" => Err(took),
                Err(error) => panic!("{error}"),
            }));
        });
        sleep(&case, after).await;
        lease.release().await.expect("held");
        sleep(&case, wait + 1_000).await;
    });
    outcome.take().expect("an outcome")
}

#[test]
fn a_wait_lasts_for_as_long_as_it_says() {
    // A waiter that listens can be handed the lock until the end. One that polls asks at the very
    // end.
    assert_eq!(waits_for(100, 79, true), Ok(99));
    assert_eq!(waits_for(100, 99, false), Ok(120));
    assert_eq!(waits_for(500, 499, false), Ok(520));
    assert_eq!(waits_for(500, 479, true), Ok(499));
    // So does a waiter that listens, in case a message was lost.
    assert_eq!(waits_for(500, 495, true), Ok(520));
    for push in [true, false] {
        for wait in [30, 100, 500] {
            // The last answer arrives, and the release came too late for it.
            assert_eq!(waits_for(wait, wait + 30, push), Err(wait + 20));
        }
    }
}

#[test]
fn a_wait_that_is_over_before_the_first_answer_is_none() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        case.events.take();
        let begun = now(&case);
        let lock = lock.wait_timeout(Duration::from_millis(1));
        let error = lock.acquire().await.expect_err("held");
        let edgelock::Error::Held { requests, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((now(&case) - begun, requests), (20, 2));
        assert!(!case.events.take().contains(&"contended"));
        sleep(&case, 100).await;
        lease.release().await.expect("held");
    });
}

#[test]
fn a_host_that_stood_still_at_the_end_of_a_wait_is_told_that_it_is_held() {
    for push in [true, false] {
        play(move |case| async move {
            let lock = client(&case, &machine()).lock("a");
            let lease = lock.acquire().await.expect("a lease");
            let machine = machine();
            let settings = Settings { push, ..SETTINGS };
            let lock = host::client(&case, &machine, settings).lock("a");
            let lock = lock.wait_timeout(Duration::from_millis(500));
            let over = meanwhile(&case, &machine, async move {
                let error = lock.acquire().await.expect_err("held");
                assert_eq!((error.code(), error.is_outcome_unknown()), ("held", false));
            });
            sleep(&case, 450).await;
            machine.pause(case.world.now(), 2_000 * MS);
            sleep(&case, 3_000).await;
            assert!(over.get().is_some());
            lease.release().await.expect("held");
        });
    }
}

#[test]
fn nothing_is_asked_behind_the_end_of_a_wait_by_a_waiter_that_hears_of_its_turn_then() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let begun = now(&case);
        let (machine, world) = (machine(), case.world.clone());
        // Only a request brings reads, so a message cannot make a lease.
        let lock = client(&case, &machine).lock("a");
        let lock = lock.wait_timeout(Duration::from_millis(500));
        let ended = meanwhile(&case, &machine, async move {
            let reads = [Command::new("GET").key("log:a")];
            let error = lock.acquire_and_read(&reads).await.expect_err("held");
            assert_eq!(error.code(), "held");
            assert_eq!(world.now() / MS - begun, 500 + 10 + 80);
        });
        // The last answer takes longer than the message of the release behind it.
        sleep(&case, 505).await;
        slow_down(&case, 80 * MS);
        sleep(&case, 7).await;
        case.net.set(STEADY);
        lease.release().await.expect("held");
        sleep(&case, 500).await;
        assert!(ended.get().is_some());
        // It gave back the lock that was handed to it.
        let lock = client(&case, &self::machine()).lock("a");
        drop(lock.try_acquire().await.expect("a free lock"));
    });
}

/// A waiter has the default 40 requests for 5 minutes, and came first. Returns how many wait before
/// it when it gives up, and how many requests it sent.
fn place_after_5_minutes(push: bool, ttl_s: u64, renewed: bool) -> (u64, u32, u64) {
    let told: Rc<Cell<(u64, u32, u64)>> = Rc::default();
    let tells = told.clone();
    play(move |case| async move {
        let holder = client(&case, &machine()).lock("a");
        let ttl = if renewed { 10 } else { 3_600 };
        let holder = holder
            .ttl(Duration::from_secs(ttl))
            .max_hold(Duration::from_secs(4_000));
        let ours = case.clone();
        let machine_of_holder = machine();
        meanwhile(&case, &machine_of_holder, async move {
            let _ = holder
                .run(async |_| {
                    sleep(&ours, 310_000).await;
                    Ok::<_, edgelock::Error>(())
                })
                .await;
        });
        sleep(&case, 100).await;
        let settings = Settings { push, ..SETTINGS };
        let wait = |s, requests| {
            let lock = host::client(&case, &machine(), settings).lock("a");
            lock.ttl(Duration::from_secs(ttl_s))
                .wait_timeout(Duration::from_secs(s))
                .max_requests(requests)
        };
        let (first, second) = (wait(300, 40), wait(305, 10_000));
        let on = case.clone();
        meanwhile(&case, &machine(), async move {
            let begun = now(&on);
            if let Err(edgelock::Error::Held {
                ahead, requests, ..
            }) = first.acquire().await
            {
                tells.set((ahead, requests, now(&on) - begun));
            }
        });
        sleep(&case, 500).await;
        meanwhile(
            &case,
            &machine(),
            async move { drop(second.acquire().await) },
        );
        sleep(&case, 320_000).await;
    });
    told.get()
}

/// "40 keep a place in the queue for 5 minutes" is said at `Lock::max_requests`, in
/// docs/protocol.md and at npm's `maxRequests`.
#[test]
fn forty_requests_keep_a_place_for_five_minutes() {
    for (push, ttl, renewed) in [
        (true, 10, false),
        (true, 10, true),
        (true, 60, true),
        (false, 10, false),
        (false, 10, true),
    ] {
        let told = place_after_5_minutes(push, ttl, renewed);
        assert_eq!(
            told,
            (0, 40, 300_020),
            "push {push}, ttl {ttl} s, holder renews {renewed}"
        );
    }
}

/// A waiter stood between two others, and paused for longer than its liveness. Returns how many
/// wait before it when it gives up; by then, only the one that came after it still waits.
fn ahead_after_a_pause(redis: &Rc<Redis>) -> Option<u64> {
    let told: Rc<Cell<Option<u64>>> = Rc::default();
    let noted = told.clone();
    play_on(redis, move |case| async move {
        let holder = client(&case, &machine()).lock("a");
        let holder = holder.ttl(Duration::from_secs(600));
        holder.acquire().await.expect("a lease").into_token();
        let away = machine();
        for number in 0..3 {
            let on = if number == 1 { away.clone() } else { machine() };
            let settings = Settings {
                push: false,
                ..SETTINGS
            };
            let lock = host::client(&case, &on, settings).lock("a");
            let lock = lock
                .wait_timeout(Duration::from_secs(60 + number))
                .max_requests(10_000);
            let tells = noted.clone();
            meanwhile(&case, &on, async move {
                let outcome = lock.acquire().await;
                if let (1, Err(edgelock::Error::Held { ahead, .. })) = (number, outcome) {
                    tells.set(Some(ahead));
                }
            });
            sleep(&case, 100).await;
        }
        sleep(&case, 3_000).await;
        away.pause(case.world.now(), 20_000 * MS);
        case.world.schedule(20_000 * MS, || {});
        sleep(&case, 60_000).await;
        holder.force_release().await.expect("an answer");
    });
    told.get()
}

#[test]
fn a_waiter_that_pauses_for_longer_than_its_liveness_loses_its_place() {
    assert_eq!(ahead_after_a_pause(&Rc::default()), Some(1));
}

/// A sabotage: the waiter is not removed from the queue when it asks again.
#[test]
fn a_place_that_is_kept_over_a_pause_is_noticed() {
    let removed = "if at and liveness_left(WAITER) > 0 and";
    let redis = Rc::new(Redis::with(removed, "if at and"));
    assert_eq!(ahead_after_a_pause(&redis), Some(0));
}
