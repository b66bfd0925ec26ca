//! Who polls among many who listen: all take turns, each holding the lock for 5 ms and asking again at once.

use std::cell::RefCell;

use super::*;

/// Who had the lock from when on, in milliseconds.
type Turns = Rc<RefCell<Vec<(Kind, u64)>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Listens,
    Polls,
}

const MINUTE: u64 = 60_000;

/// A way to Redis and back.
const ROUND_TRIP: u64 = 20;

/// Lets them take turns for half a minute.
fn take_turns(redis: Redis, hold: u64, listening: usize, polling: usize) -> Vec<(Kind, u64)> {
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
            let lock = lock.expect("a lock").wait(wait).max_requests(1_000);
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
        sleep(&case, MINUTE / 2).await;
    });
    turns.take()
}

/// The longest time without a turn of those who poll.
fn longest_gap(turns: &[(Kind, u64)]) -> u64 {
    let polls = turns.iter().filter(|(kind, _)| *kind == Kind::Polls);
    let (mut last, mut longest) = (0, 0);
    for at in polls.map(|(_, at)| *at).chain([MINUTE / 2]) {
        longest = longest.max(at - last);
        last = at;
    }
    longest
}

#[test]
fn the_first_in_the_queue_is_overtaken_for_2_s_at_most_though_it_does_not_listen() {
    for (hold, listening) in [(5, 8), (100, 4)] {
        let turns = take_turns(Redis::default(), hold, listening, 1);
        // Those before it overtake nobody; one may be inside at the beginning and one at the end of the time; and then it asks.
        let turn = hold + ROUND_TRIP;
        let longest = turn * listening as u64 + turn + 2_000 + turn + 500 + ROUND_TRIP;
        let gap = longest_gap(&turns);
        assert!(gap <= longest, "{gap} of {longest} ms");
    }
}

#[test]
fn without_that_it_would_be_overtaken_for_ever() {
    let said = "if first == waiter or may_be_overtaken(first) then";
    let redis = Redis::new(Box::new(move |text| text.replace(said, "if true then")));
    let gap = longest_gap(&take_turns(redis, 5, 8, 1));
    assert!(gap > 20_000, "{gap}");
}

#[test]
fn it_costs_who_listens_a_tenth_of_the_turns_and_nothing_where_nobody_polls() {
    let most = MINUTE / 2 / (5 + ROUND_TRIP);
    let share = |polling| {
        let turns = take_turns(Redis::default(), 5, 8, polling).len();
        turns as f64 / most as f64
    };
    let (nobody, some) = (share(0), share(4));
    assert!(nobody > 0.99 && some > 0.85, "{nobody} {some}");
}
