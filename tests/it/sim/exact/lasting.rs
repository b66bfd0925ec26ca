//! How long a wait lasts, to the millisecond.

use super::*;

#[test]
fn a_free_lock_is_had_however_long_the_way_and_however_short_the_wait() {
    for way in [75, 200] {
        for wait in [1, 50, 100, 300] {
            play(move |case| async move {
                slow_down(&case, way);
                let lease = lock(&case).wait_timeout(ms(wait)).acquire().await;
                assert_eq!(now(&case), 2 * way);
                lease.expect("a lease").release().await.expect("held");
            });
        }
    }
}

/// Waits for `wait` for a lock that is held, and released after `after`. Returns when it had the
/// lock, or when it gave up.
fn waits_for(wait: u64, after: u64, push: bool) -> Result<u64, u64> {
    play(move |case| async move {
        let lease = held(&case).await;
        let (begun, ours) = (now(&case), case.clone());
        let lock = lock_with(&case, pushes(push)).wait_timeout(ms(wait));
        let waits = meanwhile(&case, &machine(), async move {
            let acquired = lock.acquire().await;
            let took = now(&ours) - begun;
            match acquired {
                Ok(_) => Ok(took),
                Err(error) if error.code() == "held" => Err(took),
                Err(error) => panic!("{error}"),
            }
        });
        sleep(&case, after).await;
        lease.release().await.expect("held");
        sleep(&case, wait + 1_000).await;
        waits.told()
    })
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
        let lease = held(&case).await;
        case.events.take();
        let begun = now(&case);
        let error = lock(&case).wait_timeout(ms(1)).acquire().await;
        let Err(Error::Held { requests, .. }) = error else { panic!("{error:?}") };
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
            let lease = held(&case).await;
            let machine = machine();
            let lock = host::client(&case, &machine, pushes(push)).lock("a");
            let lock = lock.wait_timeout(ms(500));
            let over = meanwhile(&case, &machine, async move {
                let error = lock.acquire().await.expect_err("held");
                (error.code(), error.is_outcome_unknown())
            });
            sleep(&case, 450).await;
            machine.pause(case.world.now(), 2_000 * MS);
            sleep(&case, 3_000).await;
            assert_eq!(over.told(), ("held", false));
            lease.release().await.expect("held");
        });
    }
}

#[test]
fn nothing_is_asked_behind_the_end_of_a_wait_by_a_waiter_that_hears_of_its_turn_then() {
    play(|case| async move {
        let lease = held(&case).await;
        let begun = now(&case);
        // Only a request brings reads, so a message cannot make a lease.
        let waiting = lock(&case).wait_timeout(ms(500));
        let ended = meanwhile(&case, &machine(), async move {
            let reads = [Command::new("GET").key("log:a")];
            let error = waiting.acquire_and_read(&reads).await.expect_err("held");
            assert_eq!(error.code(), "held");
        });
        // The last answer takes longer than the message of the release behind it.
        sleep(&case, 505).await;
        slow_down(&case, 80);
        sleep(&case, 7).await;
        case.net.set(STEADY);
        lease.release().await.expect("held");
        sleep(&case, 500).await;
        assert_eq!(ended.at(), Some(begun + 500 + 10 + 80));
        // It gave back the lock that was handed to it.
        drop(lock(&case).try_acquire().await.expect("a free lock"));
    });
}

/// A waiter has the default 40 requests for 5 minutes, and came first. Returns how many wait before
/// it when it gives up, how many requests it sent, and after how long.
fn place_after_5_minutes(push: bool, ttl_s: u64, renewed: bool) -> (u64, u32, u64) {
    play(move |case| async move {
        let ttl = if renewed { 10 } else { 3_600 };
        let holder = lock(&case).ttl(s(ttl)).max_hold(s(4_000));
        let ours = case.clone();
        meanwhile(&case, &machine(), async move {
            let work = async |_: &_| {
                sleep(&ours, 310_000).await;
                Ok::<_, Error>(())
            };
            holder.run(work).await
        });
        sleep(&case, 100).await;
        let wait = |seconds, requests| {
            let lock = lock_with(&case, pushes(push)).ttl(s(ttl_s));
            lock.wait_timeout(s(seconds)).max_requests(requests)
        };
        let (first, second) = (wait(300, 40), wait(305, 10_000));
        let on = case.clone();
        let gives_up = meanwhile(&case, &machine(), async move {
            let begun = now(&on);
            match first.acquire().await {
                Err(Error::Held { ahead, requests, .. }) => (ahead, requests, now(&on) - begun),
                other => panic!("{other:?}"),
            }
        });
        sleep(&case, 500).await;
        meanwhile(&case, &machine(), async move { second.acquire().await });
        sleep(&case, 320_000).await;
        gives_up.told()
    })
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
        assert_eq!(
            place_after_5_minutes(push, ttl, renewed),
            (0, 40, 300_020),
            "push {push}, ttl {ttl} s, holder renews {renewed}"
        );
    }
}

/// A waiter stood between two others, and paused for longer than its liveness. Returns how many
/// wait before it when it gives up; by then, only the one that came after it still waits.
fn ahead_after_a_pause(redis: Redis) -> Option<u64> {
    play_on(redis, move |case| async move {
        let holder = lock(&case).ttl(s(600));
        holder.acquire().await.expect("a lease").into_token();
        let mut waiting = Vec::new();
        for number in 0..3 {
            let on = machine();
            let lock = host::client(&case, &on, pushes(false)).lock("a");
            let lock = lock.wait_timeout(s(60 + number)).max_requests(10_000);
            let ends = meanwhile(&case, &on, async move {
                match lock.acquire().await {
                    Err(Error::Held { ahead, .. }) => Some(ahead),
                    _ => None,
                }
            });
            waiting.push((on, ends));
            sleep(&case, 100).await;
        }
        sleep(&case, 3_000).await;
        let (away, ends) = &waiting[1];
        stand_still(&case, away, 20_000);
        sleep(&case, 60_000).await;
        holder.force_release().await.expect("an answer");
        ends.told()
    })
}

stories! {
    a_waiter_that_pauses_for_longer_than_its_liveness_loses_its_place:
        ahead_after_a_pause(Redis::default()) => Some(1),
    /// A sabotage: the waiter is not removed from the queue when it asks again.
    a_place_that_is_kept_over_a_pause_is_noticed:
        ahead_after_a_pause(Redis::with("if at and liveness_left(WAITER) > 0 and", "if at and"))
        => Some(0),
}
