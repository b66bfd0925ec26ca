//! A few that poll among many that listen. All take turns: each holds the lock for 5 ms, and asks
//! again at once.

use super::*;

const MINUTE: u64 = 60_000;

/// The way to Redis and back.
const ROUND_TRIP: u64 = 20;

/// When each turn began, in milliseconds.
type Turns = Rc<RefCell<Vec<u64>>>;

/// A lock by which one listens or polls, and waits for so many milliseconds.
fn waiting(case: &Rc<Case>, machine: &Rc<Machine>, listens: bool, wait: u64) -> SimLock {
    let lock = host::client(case, machine, pushes(listens)).lock("a");
    lock.wait_timeout(ms(wait))
}

/// One more client takes turns of `hold` ms by `lock`, until it has waited in vain.
fn takes_turns(case: &Rc<Case>, lock: SimLock, hold: u64, turns: &Turns) {
    let (case_, turns) = (case.clone(), turns.clone());
    meanwhile(case, &machine(), async move {
        while let Ok(lease) = lock.clone().max_requests(1_000).acquire().await {
            turns.borrow_mut().push(now(&case_));
            sleep(&case_, hold).await;
            lease.release().await.expect("held");
        }
    });
}

/// One more client listens and takes turns of 50 ms, until it has waited for `wait` ms in vain.
fn listen_by_turns(case: &Rc<Case>, wait: u64, turns: &Turns) {
    takes_turns(case, waiting(case, &machine(), true, wait), 50, turns);
}

/// Lets some take turns for half a minute. After ten seconds the clock is set back. Returns the
/// turns of those who listen, and of those who poll.
fn take_turns(redis: Redis, hold: u64, all: [usize; 2], back: Duration) -> [Vec<u64>; 2] {
    play_on(redis, move |case| async move {
        let turns = [Turns::default(), Turns::default()];
        for (count, (listens, turns)) in all.into_iter().zip([true, false].into_iter().zip(&turns))
        {
            for _ in 0..count {
                let lock = waiting(&case, &machine(), listens, MINUTE);
                takes_turns(&case, lock, hold, turns);
            }
        }
        sleep(&case, MINUTE / 6).await;
        case.set_back(i64::try_from(back.as_micros()).expect("a step"));
        sleep(&case, MINUTE / 2 - MINUTE / 6).await;
        turns.map(|turns| turns.take())
    })
}

/// The longest time in which one had no turn that polls among so many that listen.
fn longest_gap(redis: Redis, hold: u64, listening: usize, back: Duration) -> u64 {
    let [_, polls] = take_turns(redis, hold, [listening, 1], back);
    let ends = polls.iter().chain(&[MINUTE / 2]);
    let begins = [0].iter().chain(&polls);
    ends.zip(begins).map(|(end, begin)| end - begin).max().expect("a gap")
}

/// How much longer than one that polls may wait among others that listen the longest gap was.
fn too_long(hold: u64, listening: usize, back: Duration) -> i64 {
    // Those in the queue before it overtake nobody. One may be inside at the beginning of its 2 s,
    // and one when it has asked behind them. Then it asks.
    let turn = hold + ROUND_TRIP;
    let longest = turn * listening as u64 + turn + 2_000 + POLL + turn + POLL;
    longest_gap(Redis::default(), hold, listening, back) as i64 - longest as i64
}

/// The longest time from one request of such a poller to the next.
const POLL: u64 = 500 + ROUND_TRIP;

const STEP: Duration = s(60);

#[test]
fn it_costs_listeners_a_tenth_of_the_turns_and_nothing_where_nobody_polls() {
    let most = MINUTE / 2 / (5 + ROUND_TRIP);
    let share = |polling| {
        let turns = take_turns(Redis::default(), 5, [8, polling], Duration::ZERO);
        turns.iter().map(Vec::len).sum::<usize>() as f64 / most as f64
    };
    let (nobody, some) = (share(0), share(4));
    assert!(nobody > 0.99 && some > 0.85, "{nobody} {some}");
}

/// Several wait by polling, with 40 requests for `wait_s` seconds each. Four others listen, and
/// take turns. Returns whether each of the first had the lock.
fn poll_seldom(redis: Redis, polling: usize, wait_s: u64) -> bool {
    play_on(redis, move |case| async move {
        for _ in 0..4 {
            listen_by_turns(&case, wait_s * 1_000, &Rc::default());
        }
        sleep(&case, 200).await;
        let polls = |_| {
            let lock = waiting(&case, &machine(), false, wait_s * 1_000);
            meanwhile(&case, &machine(), async move {
                let lease = lock.acquire().await.ok()?;
                lease.release().await.ok()
            })
        };
        let got: Vec<_> = (0..polling).map(polls).collect();
        sleep(&case, wait_s * 1_000 + 10_000).await;
        got.iter().all(|got| got.told().is_some())
    })
}

/// How long a release keeps the lock for the first in the queue, once that was overtaken for long.
const KEPT: &str = "return give(first, liveness_left(first))";

/// How long each of those who polled counts as alive after it died.
const LIVENESS: u64 = 10_000;

/// Six poll and die, one every `apart` milliseconds from the first second on. Four listen and take
/// turns. Returns for how long in all nobody had a turn, and how long after the last death the last
/// such gap was over, in milliseconds.
fn lost(redis: Redis, apart: u64) -> (u64, u64) {
    const DYING: u64 = 6;
    let turns = play_on(redis, move |case| async move {
        let turns = Turns::default();
        for _ in 0..4 {
            listen_by_turns(&case, MINUTE, &turns);
        }
        sleep(&case, 200).await;
        for number in 0..DYING {
            let machine = machine();
            let lock = waiting(&case, &machine, false, MINUTE).max_requests(1_000);
            meanwhile(&case, &machine, async move { lock.acquire().await });
            let world = case.world.clone();
            (case.world).schedule((800 + apart * number) * MS, move || world.kill(&machine));
        }
        sleep(&case, MINUTE).await;
        turns.take()
    });
    let gaps = turns.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
    let long: Vec<_> = gaps.filter(|(gap, _)| *gap > 500).collect();
    let over = long.last().map_or(0, |(_, end)| *end);
    let died = 1_000 + apart * (DYING - 1);
    (long.iter().map(|(gap, _)| gap).sum(), over.saturating_sub(died))
}

/// Four listen and take turns for a minute. One more comes each `apart` seconds, asks once, and
/// dies. Returns how many turns there were.
fn turns_beside_the_dying(redis: Redis, apart: u64) -> usize {
    play_on(redis, move |case| async move {
        let turns = Turns::default();
        for _ in 0..4 {
            listen_by_turns(&case, MINUTE, &turns);
        }
        for second in 1..MINUTE / 1_000 {
            sleep(&case, 1_000).await;
            if second % apart == 0 {
                let machine = machine();
                let lock = host::client(&case, &machine, pushes(false)).lock("a");
                meanwhile(&case, &machine, async move { lock.acquire().await });
                let world = case.world.clone();
                (case.world).schedule(2 * ROUND_TRIP * MS, move || world.kill(&machine));
            }
        }
        turns.take().len()
    })
}

/// Whether those who listen keep half of their turns.
fn keep_half(redis: Redis, apart: u64) -> bool {
    // So seldom that nobody dies.
    let alone = turns_beside_the_dying(Redis::default(), 100);
    let beside = turns_beside_the_dying(redis, apart);
    println!("{beside} turns of {alone}, one dies each {apart} s");
    2 * beside >= alone
}

stories! {
    the_first_in_the_queue_is_overtaken_for_2_s_and_a_poll_at_most_though_it_does_not_listen:
        [(5, 8), (100, 4)].map(|(hold, listening)| too_long(hold, listening, Duration::ZERO))
        => [..=0, ..=0],
    when_the_clock_is_set_back_the_2_s_begin_anew:
        [(5, 8), (100, 4)].map(|(hold, listening)| too_long(hold, listening, STEP))
        => [..=2_000, ..=2_000],
    /// A sabotage: a time that is still to come counts.
    a_time_from_before_the_clock_was_set_back_is_noticed:
        longest_gap(
            Redis::with("if since == 0 or since > now then", "if since == 0 then"), 100, 4, STEP,
        ) => 15_001..,
    without_that_it_would_be_overtaken_for_ever:
        longest_gap(
            Redis::with("if first == waiter or may_be_overtaken(first) then", "if true then"),
            5, 8, Duration::ZERO,
        ) => 20_001..,
    a_poller_with_the_usual_requests_gets_the_lock_within_a_long_wait:
        [(1, 60), (8, 60), (8, 120), (8, 300), (20, 300)]
            .map(|(polling, wait_s)| poll_seldom(Redis::default(), polling, wait_s))
        => [true, true, true, true, true],
    /// A sabotage: the lock is kept for less than the time between two polls.
    a_lock_that_is_kept_for_less_time_than_between_two_polls_is_noticed:
        poll_seldom(Redis::with(KEPT, "return give(first, 100)"), 8, 300) => false,
    pollers_that_die_together_delay_the_others_by_less_than_half_of_one_liveness:
        lost(Redis::default(), 0) => (lost, _) if lost < LIVENESS / 2,
    beside_waiters_that_die_now_and_then_the_others_keep_half_of_their_turns:
        [1, 3, 6, 10].map(|apart| keep_half(Redis::default(), apart)) => [true, true, true, true],
    /// A sabotage: the lock is kept for one that was overtaken for 2 s, whether it has asked or
    /// not.
    a_lock_that_is_kept_for_the_dead_is_noticed:
        keep_half(
            Redis::with("asked - since < OVERTAKEN_MS and", "now - since < OVERTAKEN_MS and"), 10,
        ) => false,
    // The next one needs one request more.
    a_lock_is_kept_for_no_dead_poller_for_longer_than_it_counts_as_alive:
        lost(Redis::default(), 2_000) => (_, over) if over <= LIVENESS + 2 * ROUND_TRIP,
    /// A sabotage: it is kept for the whole of one liveness.
    a_lock_that_is_kept_for_a_dead_poller_for_a_whole_liveness_is_noticed:
        lost(Redis::with(KEPT, "return give(first, 10000)"), 2_000)
        => (_, over) if over > LIVENESS + 500,
}
