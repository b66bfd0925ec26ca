use super::super::backoff::Loaded;
use super::*;

const HIGH: Loaded = Loaded(0xff);
const START: Instant = Instant::ORIGIN;

const fn ms(ms: u64) -> Nanos {
    Nanos::ms(ms)
}

/// At the origin of time, with `wait` left and nobody ahead.
fn wait(wait: Nanos) -> Schedule {
    let end = START.after(wait);
    Schedule::new(end, wait, ms(9_000), 40)
}

const fn found(remaining: Option<Nanos>, ahead: u64) -> Contended {
    Contended {
        remaining: match remaining {
            Some(left) => Some(left.duration()),
            None => None,
        },
        ahead,
        redis_us: 1,
        label: None,
        replies: Vec::new(),
        at: None,
        kept: None,
    }
}

const ENDLESS: Contended = found(None, 0);
const FIVE: Nanos = Nanos::ms(5_000);

#[test]
fn polls_grow_apart_up_to_half_a_second() {
    let mut polled = wait(FIVE);
    let pauses: Vec<_> = (0..6)
        .map(|_| {
            let pause = polled.pause(START, &HIGH, &ENDLESS, ms(1), false, 40).unwrap();
            pause.duration().as_millis()
        })
        .collect();
    assert_eq!(pauses, [30, 90, 270, 500, 500, 500]);
    let shortest = wait(FIVE).pause(START, &Loaded(0), &ENDLESS, ms(1), false, 40);
    assert_eq!(shortest, Some(ms(10)));
}

/// Once it was overtaken for so long, the lock is kept for it, and idle, until it asks.
#[test]
fn a_poller_that_is_first_asks_soon_again_once_the_lock_may_be_kept_for_it() {
    let mut polled = wait(FIVE);
    let mut at = |now_ms, ahead| {
        let now = START.after(ms(now_ms));
        let pause = polled.pause(now, &HIGH, &found(None, ahead), ms(1), false, 40);
        pause.unwrap().duration().as_millis()
    };
    let pauses = [(0, 1), (30, 1), (120, 1), (2_100, 0)].map(|(now, ahead)| at(now, ahead));
    assert_eq!(pauses, [30, 90, 270, 500]);
    assert_eq!([4_000, 4_100, 4_130, 4_220].map(|now| at(now, 0)), [500, 30, 90, 270]);
    assert_eq!(at(4_490, 0), 500);
}

/// Thousands that poll leave Redis time for the holder.
#[test]
fn polls_are_the_further_apart_the_more_are_ahead_but_keep_their_places() {
    let longest = |ahead| {
        let mut polled = wait(ms(60_000));
        let pauses = (0..9).map(|_| {
            let found = found(None, ahead);
            polled.pause(START, &HIGH, &found, ms(1), false, u32::MAX).unwrap()
        });
        pauses.max().unwrap().duration().as_millis()
    };
    // It counts as alive for 9 s.
    assert_eq!([0, 100, 1_000, 9_999].map(longest), [3_000, 3_000, 3_000, 6_750]);
    let shortest = |ahead| {
        let found = found(None, ahead);
        let pause = wait(FIVE).pause(START, &Loaded(0), &found, ms(1), false, 40);
        pause.unwrap().duration().as_millis()
    };
    assert_eq!([0, 100, 1_000, 4_000].map(shortest), [10, 100, 1_000, 4_000]);
}

#[test]
fn requests_last_for_a_long_wait() {
    let minute = ms(60_000);
    let mut polled = wait(minute);
    let longest = (0..9).filter_map(|_| polled.pause(START, &HIGH, &ENDLESS, ms(1), false, 40));
    assert_eq!(longest.max(), Some(ms(3_000)));
}

#[test]
fn a_waiter_counts_as_alive_for_its_ttl_but_1_to_10_s() {
    assert_eq!(liveness(ms(500).duration()), ms(1_000).duration());
    assert_eq!(liveness(ms(4_000).duration()), ms(4_000).duration());
    assert_eq!(liveness(Duration::MAX), ms(10_000).duration());
}

#[test]
fn a_waiter_whose_requests_must_last_asks_seldom_but_keeps_its_place_while_it_can() {
    let pause = |wait_s: u64, requests_left| {
        let mut listening = wait(ms(wait_s * 1_000));
        listening.pause(START, &HIGH, &ENDLESS, ms(1), true, requests_left)
    };
    assert_eq!(pause(200, 40), Some(ms(5_000)));
    // It counts as alive for 9 s.
    assert_eq!(pause(3_600, 40), Some(ms(6_750)));
    assert_eq!(pause(900, 20), Some(ms(45_000)));
    assert_eq!(pause(3_600, 20), Some(ms(60_000)));
    // The same when the holder's time is up.
    let mut listening = wait(ms(900_000));
    let pause = listening.pause(START, &HIGH, &found(Some(ms(4)), 0), ms(1), true, 20);
    assert_eq!(pause, Some(ms(45_000)));
    // The same for a waiter that does not listen.
    let mut polled = wait(ms(3_600_000));
    let pauses = (0..9).filter_map(|_| polled.pause(START, &HIGH, &ENDLESS, ms(1), false, 40));
    assert_eq!(pauses.max(), Some(ms(6_750)));
}

#[test]
fn no_wait_is_too_long_and_no_request_one_too_many() {
    for forever in [Nanos::MAX, ms(9_000_000_000_000_000)] {
        for (requests, hears) in [(0, true), (1, false), (u32::MAX, true), (u32::MAX, false)] {
            let end = START.after(forever);
            let mut waited = Schedule::new(end, forever, ms(10_000), requests);
            for left in [requests, 1, 0] {
                for remaining in [None, Some(ms(1)), Some(forever)] {
                    let found = found(remaining, u64::MAX);
                    for _ in 0..100 {
                        let pause = waited.pause(START, &HIGH, &found, forever, hears, left);
                        assert!(pause.is_some_and(|pause| pause <= Schedule::SELDOM * 2));
                    }
                }
            }
        }
    }
    let mut backoff = Backoff::new(u32::MAX, Nanos::MAX);
    for _ in 0..200 {
        let pause = backoff.pause(&HIGH, None);
        assert!(pause.is_some_and(|pause| pause <= ms(1_000)));
    }
}

#[test]
fn whatever_is_drawn_requests_last_for_the_whole_wait() {
    let minute = ms(60_000);
    let end = START.after(minute);
    for draw in [0, 0x20, 0x80, 0xff] {
        let mut now = START;
        let mut polled = wait(minute);
        let mut left = (1..40).rev();
        while let Some(pause) =
            polled.pause(now, &Loaded(draw), &ENDLESS, ms(1), false, left.next().unwrap_or(0))
        {
            now = now.after(pause);
        }
        assert_eq!(now, end, "{draw}");
    }
}

#[test]
fn a_waiter_that_listens_asks_to_be_counted_as_alive() {
    let pause = wait(FIVE).pause(START, &HIGH, &ENDLESS, ms(1), true, 40);
    assert_eq!(pause, Some(ms(3_000)));
}

#[test]
fn when_the_holder_is_over_the_first_asks_first() {
    for hears in [true, false] {
        let at =
            |ahead| wait(FIVE).pause(START, &HIGH, &found(Some(ms(4)), ahead), ms(12), hears, 40);
        assert_eq!(at(0), Some(ms(5)));
        assert_eq!(at(1), Some(ms(17)));
    }
    let last = wait(FIVE).pause(START, &HIGH, &found(Some(ms(4)), u64::MAX), ms(12), true, 40);
    assert_eq!(last, Some(ms(505)));
}

#[test]
fn a_holder_that_renews_a_short_lease_is_asked_after_less_and_less_often() {
    let mut listening = wait(FIVE);
    let pauses: Vec<_> = (0..5)
        .map(|_| {
            let pause = listening.pause(START, &HIGH, &found(Some(ms(4)), 0), ms(1), true, 40);
            pause.unwrap().duration().as_millis()
        })
        .collect();
    assert_eq!(pauses, [5, 20, 40, 80, 160]);
}

#[test]
fn the_last_pause_goes_on_to_the_very_end() {
    let pause = |left| wait(left).pause(START, &HIGH, &ENDLESS, ms(80), false, 40);
    assert_eq!(pause(ms(122)), Some(ms(30)));
    assert_eq!(pause(ms(110)), Some(ms(30)));
    // The answer would come after the end.
    assert_eq!(pause(ms(109)), Some(ms(109)));
    assert_eq!(pause(ms(1)), Some(ms(1)));
    assert_eq!(pause(Nanos::ZERO), None);
}

#[test]
fn pauses_after_lost_requests_grow_to_a_second_and_end_with_the_wait() {
    let mut waiting = wait(FIVE);
    let pauses =
        (0..7).map(|_| waiting.pause_after(START, &HIGH, None, 40).unwrap().duration().as_millis());
    assert_eq!(pauses.collect::<Vec<_>>(), [50, 100, 200, 400, 800, 1_000, 1_000]);
    // An answer shows that the bridge is back.
    let _ = waiting.pause(START, &HIGH, &ENDLESS, ms(1), true, 40);
    assert_eq!(waiting.pause_after(START, &HIGH, None, 40), Some(ms(50)));
    assert_eq!(waiting.pause_after(START, &HIGH, None, 0), None);
    let after = |left, asked| wait(left).pause_after(START, &HIGH, asked, 40);
    assert_eq!(after(ms(7), None), Some(ms(7)));
    assert_eq!(after(Nanos::ZERO, None), None);
    let away = Some(Duration::from_secs(2));
    assert_eq!(after(ms(2_000), away), Some(ms(2_000)));
    assert_eq!(after(ms(1_999), away), None);
}

#[test]
fn a_waiter_that_may_not_listen_tries_again_more_and_more_seldom() {
    let mut waiting = wait(FIVE);
    let pauses = (0..6).map(|_| waiting.pause_before_listening(&HIGH).duration().as_millis());
    assert_eq!(pauses.collect::<Vec<_>>(), [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    let first = wait(FIVE).pause_before_listening(&Loaded(0));
    assert_eq!(first, ms(500));
}

#[test]
fn a_waiter_without_requests_listens_for_as_long_as_it_counts_as_alive() {
    let at = |ms| Instant::from_origin(Duration::from_millis(ms));
    let waiting = wait(ms(60_000));
    assert_eq!(waiting.rest(at(3_000), at(2_000)), Some(ms(8_000)));
    assert_eq!(waiting.rest(at(55_000), at(54_000)), Some(ms(5_000)));
    assert_eq!(waiting.rest(at(11_000), at(2_000)), None);
    assert_eq!(waiting.rest(at(60_000), at(59_000)), None);
}

/// What a waiter reckons that first found `first` ahead and 9 s left, and a second later `last`
/// ahead and so much left.
fn estimate(first: u64, last: u64, left: u64) -> Option<Nanos> {
    let mut waited = wait(FIVE);
    let joined = found(Some(ms(9_000)), first);
    let _ = waited.pause(START, &HIGH, &joined, ms(1), true, 40);
    let now = Contended { redis_us: joined.redis_us + 1_000_000, ..found(Some(ms(left)), last) };
    let estimate = waited.estimate(&now, START.after(ms(1_000)));
    estimate.map(Nanos::of)
}

#[test]
fn when_to_come_back_is_judged_by_how_the_line_moved() {
    assert_eq!(estimate(12, 2, 9_000), Some(ms(300)));
    assert_eq!(estimate(2, 2, 9_000), None);
    assert_eq!(estimate(2, 3, 9_000), None);
}

#[test]
fn a_line_that_moved_because_others_gave_up_says_nothing_of_when_to_come_back() {
    for left in [7_999, 8_000, 8_001] {
        assert_eq!(estimate(12, 2, left), None);
    }
}
