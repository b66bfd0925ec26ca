//! When a holder that listens learns that its lock was taken from it.

use std::future::pending;

use super::*;
use crate::script::replaced;

/// When `run` of the lock `a` ends, which another takes over and which another frees by force at
/// 1,000 ms; `None` if that is not within its first renewals.
fn ends(redis: fn(&str) -> String, at_half: fn(&Rc<Case>), listens: bool) -> [Option<u64>; 2] {
    [true, false].map(|takes| {
        play_on(Redis::new(Box::new(redis)), |case| async move {
            let mut holds = lock(&case);
            if listens {
                holds = holds.listen();
            }
            let done = meanwhile(&case, &machine(), async move {
                let work = async |_: &SimLease| pending::<Result<(), Error>>().await;
                let lost = holds.run(work).await.expect_err("no work ends");
                assert_eq!(lost.code(), "lost");
            });
            sleep(&case, 500).await;
            at_half(&case);
            sleep(&case, 500).await;
            if takes {
                let taken = lock(&case).take_over().acquire().await;
                taken.expect("a lease").into_token();
            } else {
                assert!(lock(&case).force_release().await.expect("an answer"));
            }
            sleep(&case, 20_000).await;
            done.at()
        })
    })
}

/// Whoever takes the lock tells nobody.
fn silent(text: &str) -> String {
    let parts = ["store() redis.pcall", "delete() redis.pcall"];
    parts.iter().fold(text.to_owned(), |text, part| {
        let by = part.replace("redis.pcall", "string.len");
        replaced(&text, part, &by).0
    })
}

fn end_streams(case: &Rc<Case>) {
    case.network.restart_bridge(case, case.world.now());
}

/// Ten ms until the other's request is executed, ten for the message, a renewal, and the request
/// that gives the lock back.
const AT_ONCE: u64 = 1_000 + 10 + 10 + 20;

stories! {
    a_holder_that_listens_learns_within_a_round_trip_that_its_lock_was_taken:
        ends(str::to_owned, |_| {}, true)
        => [Some(AT_ONCE..=1_060), Some(AT_ONCE..=1_060)],
    one_that_does_not_listen_learns_it_at_its_next_renewal:
        ends(str::to_owned, |_| {}, false) => [Some(3_353..=3_400), Some(3_353..=3_400)],
    // The last renewal was when it began to listen, at 40 ms.
    one_whose_message_is_lost_learns_it_at_its_next_renewal:
        ends(str::to_owned, |case| case.net.set(DEAF), true)
        => [Some(3_373..=3_420), Some(3_373..=3_420)],
    whoever_takes_the_lock_and_tells_nobody_is_noticed:
        ends(silent, |_| {}, true) => [Some(3_001..), Some(3_001..)],
    // A second after the first one.
    one_whose_stream_ends_opens_another_and_learns_it_then:
        ends(str::to_owned, end_streams, true) => [Some(..=1_120), Some(..=1_120)],
}

#[test]
fn streams_that_end_at_once_are_opened_once_a_second() {
    play(|case| async move {
        let lock = lock(&case).listen();
        let work = async {
            for _ in 0..40 {
                end_streams(&case);
                sleep(&case, 50).await;
            }
            Ok::<_, Error>(())
        };
        lock.run(async |_| work.await).await.expect("held");
        let opened = case.network.opened();
        assert!((2..=3).contains(&opened), "{opened}");
    });
}

/// Messages that nobody published make it ask, but not without end.
#[test]
fn messages_that_are_not_true_cost_a_renewal_a_second_at_most() {
    play(|case| async move {
        let lock = lock(&case).listen();
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
        // One when it begins to listen, one at the first message, and then one a second.
        assert!((2..=5).contains(&renewed), "{events:?}");
    });
}
