//! A few that poll among many that listen. All take turns: each holds the lock for 5 ms, and asks
//! again at once.

use std::cell::RefCell;

use super::*;

/// Who had the lock, and from when on, in milliseconds.
type Turns = Rc<RefCell<Vec<(Kind, u64)>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Listens,
    Polls,
}

const MINUTE: u64 = 60_000;

/// The way to Redis and back.
const ROUND_TRIP: u64 = 20;

/// Lets them take turns for half a minute, and returns the turns.
fn take_turns(redis: Redis, hold: u64, listening: usize, polling: usize) -> Vec<(Kind, u64)> {
    take_turns_back(redis, hold, listening, polling, Duration::ZERO)
}

/// The same, where the clock is set back meanwhile.
fn take_turns_back(
    redis: Redis,
    hold: u64,
    listening: usize,
    polling: usize,
    back: Duration,
) -> Vec<(Kind, u64)> {
    let turns = Turns::default();
    let noted = turns.clone();
    play_on(&Rc::new(redis), move |case| async move {
        for number in 0..listening + polling {
            let kind = match number < listening {
                true => Kind::Listens,
                false => Kind::Polls,
            };
            let (machine, turns) = (machine(), noted.clone());
            let settings = Settings {
                push: kind == Kind::Listens,
                ..SETTINGS
            };
            let lock = host::client(&case, &machine, settings).lock("a");
            let wait = Duration::from_millis(MINUTE);
            let lock = lock.wait_timeout(wait).max_requests(1_000);
            let on = (machine.clone(), case.clone());
            meanwhile(&case, &machine, async move {
                let (machine, case) = on;
                while let Ok(lease) = lock.acquire().await {
                    turns.borrow_mut().push((kind, now(&case)));
                    (case.world.sleep(&machine, Duration::from_millis(hold))).await;
                    lease.release().await.expect("held");
                }
            });
        }
        sleep(&case, MINUTE / 6).await;
        case.set_back(i64::try_from(back.as_micros()).expect("a step"));
        sleep(&case, MINUTE / 2 - MINUTE / 6).await;
    });
    turns.take()
}

/// The longest time in which none of those who poll had a turn.
fn longest_gap(turns: &[(Kind, u64)]) -> u64 {
    let polls = turns.iter().filter(|(kind, _)| *kind == Kind::Polls);
    let (mut last, mut longest) = (0, 0);
    for at in polls.map(|(_, at)| *at).chain([MINUTE / 2]) {
        longest = longest.max(at - last);
        last = at;
    }
    longest
}

/// How long one that polls may wait among others that listen.
fn longest_wait(hold: u64, listening: usize) -> u64 {
    // Those in the queue before it overtake nobody. One may be inside at the beginning of its 2 s,
    // and one when it has asked behind them. Then it asks.
    let turn = hold + ROUND_TRIP;
    turn * listening as u64 + turn + 2_000 + POLL + turn + POLL
}

/// The longest time from one request of such a poller to the next.
const POLL: u64 = 500 + ROUND_TRIP;

#[test]
fn the_first_in_the_queue_is_overtaken_for_2_s_and_a_poll_at_most_though_it_does_not_listen() {
    for (hold, listening) in [(5, 8), (100, 4)] {
        let turns = take_turns(Redis::default(), hold, listening, 1);
        let (gap, longest) = (longest_gap(&turns), longest_wait(hold, listening));
        assert!(gap <= longest, "{gap} of {longest} ms");
    }
}

#[test]
fn when_the_clock_is_set_back_the_2_s_begin_anew() {
    for (hold, listening) in [(5, 8), (100, 4)] {
        let back = Duration::from_secs(60);
        let turns = take_turns_back(Redis::default(), hold, listening, 1, back);
        let (gap, longest) = (longest_gap(&turns), 2_000 + longest_wait(hold, listening));
        assert!(gap <= longest, "{gap} of {longest} ms");
    }
}

/// A sabotage: a time that is still to come counts.
#[test]
fn a_time_from_before_the_clock_was_set_back_is_noticed() {
    let redis = Redis::with("if since == 0 or since > now then", "if since == 0 then");
    let gap = longest_gap(&take_turns_back(redis, 100, 4, 1, Duration::from_secs(60)));
    assert!(gap > 15_000, "{gap}");
}

#[test]
fn without_that_it_would_be_overtaken_for_ever() {
    let said = "if first == waiter or may_be_overtaken(first) then";
    let redis = Redis::with(said, "if true then");
    let gap = longest_gap(&take_turns(redis, 5, 8, 1));
    assert!(gap > 20_000, "{gap}");
}

#[test]
fn it_costs_listeners_a_tenth_of_the_turns_and_nothing_where_nobody_polls() {
    let most = MINUTE / 2 / (5 + ROUND_TRIP);
    let share = |polling| {
        let turns = take_turns(Redis::default(), 5, 8, polling).len();
        turns as f64 / most as f64
    };
    let (nobody, some) = (share(0), share(4));
    assert!(nobody > 0.99 && some > 0.85, "{nobody} {some}");
}

/// Several wait by polling, with 40 requests for `wait_s` seconds each. Four others listen, and
/// take turns. Returns when each of the first had the lock, in milliseconds.
fn poll_seldom(redis: &Rc<Redis>, polling: usize, wait_s: u64) -> Vec<Option<u64>> {
    let got: Vec<Rc<Cell<Option<u64>>>> = (0..polling).map(|_| Rc::default()).collect();
    let noted = got.clone();
    play_on(redis, move |case| async move {
        for _ in 0..4 {
            listen_by_turns(&case, wait_s * 1_000, Rc::default());
        }
        sleep(&case, 200).await;
        for got in noted {
            let wait = Duration::from_secs(wait_s);
            let machine = machine();
            let lock = lock_of(&case, &machine, Kind::Polls).wait_timeout(wait);
            let ours = case.clone();
            meanwhile(&case, &machine, async move {
                let Ok(lease) = lock.acquire().await else {
                    return;
                };
                got.set(Some(now(&ours)));
                lease.release().await.expect("held");
            });
        }
        sleep(&case, wait_s * 1_000 + 10_000).await;
    });
    got.iter().map(|got| got.get()).collect()
}

#[test]
fn a_poller_with_the_usual_requests_gets_the_lock_within_a_long_wait() {
    for (polling, wait_s) in [(1, 60), (8, 60), (8, 120), (8, 300), (20, 300)] {
        let got = poll_seldom(&Rc::default(), polling, wait_s);
        let all = got.iter().all(Option::is_some);
        assert!(all, "{polling} poll for {wait_s} s: {got:?}");
    }
}

/// How long a release keeps the lock for the first in the queue, once that was overtaken for long.
const KEPT: &str = "return give(first, liveness_left(first))";

/// A sabotage: the lock is kept for less than the time between two polls.
#[test]
fn a_lock_that_is_kept_for_less_time_than_between_two_polls_is_noticed() {
    let briefly = Redis::with(KEPT, "return give(first, 100)");
    let got = poll_seldom(&Rc::new(briefly), 8, 300);
    assert!(got.contains(&None), "{got:?}");
}

/// How long each of those who polled counts as alive after it died.
const LIVENESS: u64 = 10_000;

/// Six poll and die, one every `apart` milliseconds from the first second on. Four listen and take
/// turns. Returns when the last one died, and when each turn began.
fn poll_and_die(redis: &Rc<Redis>, apart: u64) -> (u64, Vec<u64>) {
    const DYING: u64 = 6;
    let turns: Rc<RefCell<Vec<u64>>> = Rc::default();
    let noted = turns.clone();
    play_on(redis, move |case| async move {
        for _ in 0..4 {
            listen_by_turns(&case, MINUTE, noted.clone());
        }
        sleep(&case, 200).await;
        for number in 0..DYING {
            let machine = machine();
            let lock =
                lock_of(&case, &machine, Kind::Polls).wait_timeout(Duration::from_millis(MINUTE));
            let wait = async move { drop(lock.max_requests(1_000).acquire().await) };
            meanwhile(&case, &machine, wait);
            let world = case.world.clone();
            (case.world).schedule((800 + apart * number) * MS, move || world.kill(&machine));
        }
        sleep(&case, MINUTE).await;
    });
    (1_000 + apart * (DYING - 1), turns.take())
}

/// For how long in all nobody had a turn, and when the last such gap was over, in milliseconds.
fn lost(turns: &[u64]) -> (u64, u64) {
    let gaps = turns.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
    let long: Vec<_> = gaps.filter(|(gap, _)| *gap > 500).collect();
    let lost = long.iter().map(|(gap, _)| gap).sum();
    (lost, long.last().map_or(0, |(_, end)| *end))
}

#[test]
fn pollers_that_die_together_delay_the_others_by_less_than_half_of_one_liveness() {
    let (_, turns) = poll_and_die(&Rc::default(), 0);
    let (lost, _) = lost(&turns);
    assert!(lost < LIVENESS / 2, "{lost} ms");
}

/// Four listen and take turns for a minute. One more comes each `apart` seconds, asks once, and
/// dies. Returns how many turns there were.
fn turns_beside_the_dying(redis: Redis, apart: u64) -> usize {
    let turns: Rc<RefCell<Vec<u64>>> = Rc::default();
    let noted = turns.clone();
    play_on(&Rc::new(redis), move |case| async move {
        for _ in 0..4 {
            listen_by_turns(&case, MINUTE, noted.clone());
        }
        for second in 1..MINUTE / 1_000 {
            sleep(&case, 1_000).await;
            if second % apart == 0 {
                let machine = machine();
                let lock = lock_of(&case, &machine, Kind::Polls);
                meanwhile(&case, &machine, async move { drop(lock.acquire().await) });
                let world = case.world.clone();
                (case.world).schedule(2 * ROUND_TRIP * MS, move || world.kill(&machine));
            }
        }
    });
    turns.take().len()
}

/// So seldom that nobody dies.
const NEVER: u64 = 100;

#[test]
fn beside_waiters_that_die_now_and_then_the_others_keep_half_of_their_turns() {
    let alone = turns_beside_the_dying(Redis::default(), NEVER);
    for apart in [1, 3, 6, 10] {
        let beside = turns_beside_the_dying(Redis::default(), apart);
        println!("{beside} turns of {alone}, one dies each {apart} s");
        assert!(2 * beside >= alone, "{beside} of {alone}");
    }
}

/// A sabotage: the lock is kept for one that was overtaken for 2 s, whether it has asked or not.
#[test]
fn a_lock_that_is_kept_for_the_dead_is_noticed() {
    let said = "asked - since < OVERTAKEN_MS and";
    let redis = Redis::with(said, "now - since < OVERTAKEN_MS and");
    let alone = turns_beside_the_dying(Redis::default(), NEVER);
    let beside = turns_beside_the_dying(redis, 10);
    assert!(2 * beside < alone, "{beside} of {alone}");
}

#[test]
fn a_lock_is_kept_for_no_dead_poller_for_longer_than_it_counts_as_alive() {
    let (died, turns) = poll_and_die(&Rc::default(), 2_000);
    let (_, over) = lost(&turns);
    // The next one needs one request more.
    assert!(over <= died + LIVENESS + 2 * ROUND_TRIP, "{over} ms");
    let by_a_liveness = Redis::with(KEPT, "return give(first, 10000)");
    let (_, turns) = poll_and_die(&Rc::new(by_a_liveness), 2_000);
    let (_, over) = lost(&turns);
    assert!(over > died + LIVENESS + 500, "sabotaged: {over} ms");
}

fn lock_of(case: &Rc<Case>, machine: &Rc<Machine>, kind: Kind) -> host::SimLock {
    let settings = Settings {
        push: kind == Kind::Listens,
        ..SETTINGS
    };
    host::client(case, machine, settings).lock("a")
}

/// One more client listens and takes turns of 50 ms, until it has waited for `wait_ms` in vain.
/// Notes when each turn began.
fn listen_by_turns(case: &Rc<Case>, wait_ms: u64, turns: Rc<RefCell<Vec<u64>>>) {
    let machine = machine();
    let lock = lock_of(case, &machine, Kind::Listens).wait_timeout(Duration::from_millis(wait_ms));
    let (on, ours) = (machine.clone(), case.clone());
    meanwhile(case, &machine, async move {
        while let Ok(lease) = lock.clone().max_requests(1_000).acquire().await {
            turns.borrow_mut().push(now(&ours));
            ours.world.sleep(&on, Duration::from_millis(50)).await;
            lease.release().await.expect("held");
        }
    });
}
