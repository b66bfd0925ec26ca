//! Throttles and debounces: calls of which one goes through.

use edgelock::{DebounceOutcome, ThrottleOutcome};

use super::*;

/// Calls by a debounce of 100 ms. Returns when the call went through.
async fn goes_through(case: &Rc<Case>) -> u64 {
    let debounce = client(case, &machine()).debounce("a", ms(100));
    let outcome = debounce.run(async || Ok::<_, Error>(7)).await;
    assert_eq!(outcome, Ok(DebounceOutcome::Executed(7)));
    now(case)
}

/// A call is told that it goes through, but the answer is lost, and the clock is set back. Returns
/// when it goes through.
fn goes_through_around_a_step() -> u64 {
    play(move |case| async move {
        let steps = case.clone();
        meanwhile(&case, &machine(), async move {
            sleep(&steps, 110).await;
            steps.network.fates.next(Fate::Lost);
            sleep(&steps, 50).await;
            steps.set_back(10_000_000);
        });
        goes_through(&case).await
    })
}

stories! {
    // The way to Redis and back, the wait, and a round trip.
    a_call_goes_through_a_round_trip_behind_its_wait_and_the_way_to_redis:
        play(|case| async move { goes_through(&case).await }) => 140,
    // The time-out, a pause of up to 50 ms, and a request.
    a_lost_reply_of_a_pass_costs_one_retry_and_not_a_window: play(|case| async move {
        case.network.fates.next(Fate::Lost);
        let throttle = client(&case, &machine()).throttle("a", ms(60_000));
        assert_eq!(throttle.try_pass().await, Ok(ThrottleOutcome::Passed));
        now(&case)
    }) => 520..=570,
    what_a_call_was_told_it_is_told_again_though_the_clock_was_set_back:
        goes_through_around_a_step() => 0..1_000,
}

#[test]
fn calls_that_come_faster_than_answers_let_one_through_by_the_longest_wait() {
    play(|case| async move {
        let executed: Rc<Cell<Option<u64>>> = Rc::default();
        for _ in 0..60 {
            let on = machine();
            let debounce = client(&case, &on).debounce("a", ms(30)).max_wait(ms(60));
            let (case_, noted) = (case.clone(), executed.clone());
            meanwhile(&case, &on, async move {
                let work = async || Ok::<_, Error>(());
                if debounce.run(work).await == Ok(DebounceOutcome::Executed(())) {
                    noted.set(noted.get().or_else(|| Some(now(&case_))));
                }
            });
            sleep(&case, 5).await;
        }
        // The first call came to Redis at 10 ms. The last one came before 70 ms, and asks within 20
        // ms of its time.
        let first = executed.get().expect("somebody went through");
        assert!((80..=110).contains(&first), "{first}");
    });
}

#[test]
fn a_clock_that_is_set_back_keeps_no_call_waiting() {
    play(|case| async move {
        let ours = case.clone();
        let told = meanwhile(&case, &machine(), async move { goes_through(&ours).await });
        sleep(&case, 50).await;
        // Three days: longer than any call waits.
        case.set_back(3 * 24 * 3_600_000_000);
        sleep(&case, 200).await;
        // It asks twice behind its time.
        assert_eq!(told.at(), Some(20 + 100 + 20 + 20));
    });
}
