//! A lottery: its days, its records, who is let in, and who wins.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use edgelock::{Command, Decision, Reply};
use shared::body::Id;

use crate::day::Day;
use crate::draw::draw;
use crate::lottery_rules::{CLOSED_BEFORE_MS, Entering, LONGEST_AHEAD_MS, decide};
use crate::tickets::{Drawn, LotteryNow, MOST_ENTRANTS, Tickets, let_in, names};

/// Numbers that the test chooses.
fn fixed(numbers: &[u64]) -> impl FnMut() -> Result<u64, Infallible> {
    let mut numbers = numbers.iter().copied();
    move || Ok(numbers.next().expect("no more is drawn than is needed"))
}

#[test]
fn every_order_of_winners_is_as_likely() {
    let mut drawn = BTreeMap::new();
    for first in 0..24 {
        for second in 0..24 {
            for third in 0..24 {
                let Ok(winners) = draw(4, 3, fixed(&[first, second, third]));
                *drawn.entry(winners).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(drawn.len(), 4 * 3 * 2, "{drawn:?}");
    assert!(drawn.values().all(|times| *times == 576), "{drawn:?}");
    let differ = |winners: &Vec<u64>| BTreeSet::from_iter(winners).len() == 3;
    assert!(drawn.keys().all(differ), "{drawn:?}");
}

#[test]
fn numbers_that_would_favour_somebody_are_drawn_again() {
    let drawn = |bound, numbers: &[u64]| draw(bound, 1, fixed(numbers));
    // 2^64 - 1 is a multiple of 3, and 2^64 is one more.
    assert_eq!(drawn(3, &[u64::MAX, 4]), Ok(vec![1]));
    assert_eq!(drawn(3, &[u64::MAX - 1]), Ok(vec![2]));
    let odd = (1 << 63) + 1;
    assert_eq!(drawn(odd, &[odd, odd - 1]), Ok(vec![odd - 1]));
}

#[test]
fn of_ten_or_fewer_all_win() {
    for bound in 0..=10 {
        let mut number = 0;
        let Ok(winners) = draw(bound, 10, || {
            number += 7;
            Ok::<_, Infallible>(number)
        });
        assert!(winners.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..bound));
    }
}

#[test]
fn a_draw_costs_the_same_however_many_take_part() {
    let Ok(winners) = draw(u64::MAX, 3, fixed(&[0, u64::MAX - 2, 5]));
    assert_eq!(winners, [0, u64::MAX - 1, 7]);
}

#[test]
fn nobody_wins_where_there_is_no_chance() {
    assert_eq!(draw(2, 1, || Err("no")), Err("no"));
}

#[test]
fn a_day_has_one_id() {
    let day = Day::parse("2026-11-21").unwrap();
    assert_eq!(day.to_string(), "2026-11-21");
    for none in [
        "",
        "today",
        "2026-11-31",
        "2025-02-29",
        "2026-1-1",
        "2026-11-21 ",
        " 2026-11-21",
        "+2026-11-21",
        "26-11-21",
        "1969-12-31",
        "+10000-01-01",
        "-2026-11-21",
        "2026-11-21T12:00:00Z",
    ] {
        assert_eq!(Day::parse(none), None, "{none}");
    }
}

#[test]
fn an_instant_is_of_its_day_in_utc() {
    let day = Day::parse("2026-11-21").unwrap();
    let noon: i64 = 1_795_262_400_000;
    assert_eq!(day.noon_ms(), noon.unsigned_abs());
    let half_a_day = 12 * 60 * 60 * 1000;
    for ms in [noon - half_a_day, noon, noon + half_a_day - 1] {
        assert_eq!(Day::at(ms), Some(day), "{ms}");
    }
    assert_ne!(Day::at(noon + half_a_day), Some(day));
    for nowhere in [-1, i64::MIN, i64::MAX] {
        assert_eq!(Day::at(nowhere), None);
    }
}

fn text(text: &str) -> Reply {
    Reply::Bytes(text.into())
}

fn time() -> Reply {
    Reply::Array(vec![text("1"), text("2000")])
}

#[test]
fn every_key_of_a_lottery_has_its_day_as_hash_tag() {
    let day = Day::parse("2026-11-21").unwrap();
    let ann = Id::parse("ann").unwrap();
    let tickets = Tickets::of(day);
    let drawn = Drawn { fence: 1, at_ms: 1, winners: Vec::new() };
    let mut commands = tickets.read_with(&ann);
    commands.push(tickets.page(0));
    commands.extend(tickets.at(&[0]));
    commands.extend(tickets.enter(&ann, 0, 1));
    commands.extend(tickets.record(&drawn));
    let mut keys: Vec<_> = commands.iter().flat_map(Command::keys).collect();
    let locks = [tickets.draw_lock_name(), tickets.entrance_lock_name(&ann)];
    keys.extend(locks.iter().map(String::as_str));
    for key in keys {
        assert!(key.starts_with("lottery:{2026-11-21}:"), "{key}");
    }
}

#[test]
fn a_draw_is_read_as_it_was_written() {
    let day = Day::parse("2026-11-21").unwrap();
    for winners in [vec![], vec!["zoe".to_owned(), "ann".to_owned()]] {
        let drawn = Drawn { fence: 7, at_ms: 8, winners };
        let [record, ..] = &Tickets::of(day).record(&drawn)[..] else {
            panic!("nothing is recorded");
        };
        let values = record.args()[3..].iter().step_by(2);
        let reply = Reply::Array(values.map(|value| text(value)).collect());
        let now = LotteryNow::parse(&[reply, time(), Reply::Int(3)]).unwrap();
        assert_eq!(now.drawn, Some(drawn));
    }
}

#[test]
fn a_draw_is_there_as_a_whole_or_not_at_all() {
    let none = Reply::Array(vec![Reply::Nil; 3]);
    let now = LotteryNow::parse(&[none.clone(), time(), Reply::Int(3)]).unwrap();
    assert_eq!((now.drawn, now.now_ms, now.entrants), (None, 1_002, 3));
    let partly = Reply::Array(vec![text("1"), Reply::Nil, text("ann")]);
    for corrupt in [partly, Reply::Array(vec![text("1")]), Reply::Nil, text("1")] {
        let replies = [corrupt, time(), Reply::Int(3)];
        assert!(LotteryNow::parse(&replies).is_err(), "{replies:?}");
    }
    assert!(LotteryNow::parse(&[]).is_err());
    assert!(LotteryNow::parse_with(&[]).is_err());
    let entered = |reply| LotteryNow::parse_with(&[none.clone(), time(), Reply::Int(3), reply]);
    assert_eq!(entered(Reply::Nil).unwrap().1, None);
    assert_eq!(entered(text("2")).unwrap().1, Some(2));
    assert!(entered(text("ann")).is_err());
    assert!(names(&[text("ann"), Reply::Nil]).is_err());
}

#[test]
fn the_millionth_is_let_in_and_nobody_behind() {
    let place = |place| let_in(&[Reply::Int(place), text("OK")]);
    assert!(place(1).unwrap() && place(1_000_000).unwrap());
    assert!(!place(1_000_001).unwrap());
    assert!(let_in(&[]).is_err() && let_in(&[text("OK")]).is_err());
}

#[test]
fn entrants_share_some_thousand_locks_evenly() {
    let tickets = Tickets::of(Day::parse("2026-11-21").unwrap());
    let mut locks = std::collections::BTreeMap::new();
    for n in 0..100_000 {
        let entrant = Id::parse(&format!("entrant{n}")).unwrap();
        *locks.entry(tickets.entrance_lock_name(&entrant)).or_insert(0) += 1;
    }
    assert!((4_000..=4_096).contains(&locks.len()), "{}", locks.len());
    assert!(locks.values().all(|entrants| *entrants < 100), "{locks:?}");
}

fn day() -> Day {
    Day::parse("2026-11-21").unwrap()
}

fn drawn() -> Drawn {
    Drawn { fence: 3, at_ms: 4, winners: vec!["ann".to_owned()] }
}

/// A lottery with `entrants`, that long before its draw.
fn now(entrants: u64, before_ms: u64) -> LotteryNow {
    LotteryNow { drawn: None, now_ms: day().noon_ms() - before_ms, entrants }
}

/// The refusal of a new entrant; `None` if it is let in.
fn refused(now: &LotteryNow) -> Option<String> {
    let ann = Id::parse("ann").unwrap();
    let problem = decide(day(), &Tickets::of(day()), &ann, now, None).err()?;
    Some(problem.code.to_owned())
}

#[test]
fn a_lottery_is_open_from_31_days_to_a_minute_before_its_draw() {
    for (entrants, before_ms, told) in [
        (0, CLOSED_BEFORE_MS + 1, None),
        (0, LONGEST_AHEAD_MS, None),
        (MOST_ENTRANTS - 1, LONGEST_AHEAD_MS, None),
        (0, 0, Some("lottery_closed")),
        (0, CLOSED_BEFORE_MS, Some("lottery_closed")),
        (0, LONGEST_AHEAD_MS + 1, Some("invalid_input")),
        (MOST_ENTRANTS, LONGEST_AHEAD_MS, Some("lottery_full")),
    ] {
        let now = now(entrants, before_ms);
        assert_eq!(refused(&now).as_deref(), told, "{now:?}");
    }
    let early = LotteryNow { drawn: Some(drawn()), ..now(1, LONGEST_AHEAD_MS) };
    assert_eq!(refused(&early).as_deref(), Some("lottery_closed"));
}

#[test]
fn whoever_is_in_is_told_so_whatever_became_of_the_lottery() {
    let ann = Id::parse("ann").unwrap();
    let over = LotteryNow { drawn: Some(drawn()), ..now(MOST_ENTRANTS, 0) };
    let entering = |now: &LotteryNow| {
        let decision = decide(day(), &Tickets::of(day()), &ann, now, Some(7));
        match decision.unwrap() {
            Decision::Leave(entering) => entering,
            Decision::Write(..) => panic!("it was written again"),
        }
    };
    // If some were cut off, the place must be looked up.
    assert_eq!(entering(&over), Entering::AmongTheLast(7));
    let over = LotteryNow { entrants: MOST_ENTRANTS - 1, ..over };
    assert_eq!(entering(&over), Entering::Before);
}
