use super::*;

/// Items are letters. A letter is also the handle of its caller.
type Letters = Gather<char, char, &'static str>;

const BOUND: Bound = Bound { items: 3, bytes: 100, waiting: 10 };

/// Adds each of `letters`, and returns their tickets.
fn gather<const N: usize>(letters: [char; N]) -> (Letters, [u64; N]) {
    let mut gather = Letters::behind(0);
    let tickets = letters.map(|letter| gather.arrive(Arc::new(letter), 10, letter));
    (gather, tickets)
}

/// The letters for which a turn asks.
fn letters(gather: &mut Letters, drive: &Drive<&str>) -> String {
    let items = gather.ask(drive.number, BOUND).unwrap();
    items.iter().map(|item| **item).collect()
}

#[test]
fn the_first_of_a_turn_and_of_those_that_wait_watch_its_driver() {
    let bound = Bound { items: 10, ..BOUND };
    let mut gather = Letters::behind(0);
    let tickets: Vec<u64> =
        ('a'..='z').map(|letter| gather.arrive(Arc::new(letter), 1, letter)).collect();
    let watching = |gather: &Letters| -> String {
        let watching = |ticket: &&u64| gather.watches(**ticket);
        let places = tickets.iter().filter(watching).map(|ticket| *ticket as u8);
        places.map(|place| char::from(b'a' - 1 + place)).collect()
    };
    assert_eq!(watching(&gather), "abcdefgh");
    assert!(gather.drive(tickets[0], bound).is_some());
    assert_eq!(watching(&gather), "abcdefghklmnopqr");
    assert_eq!(gather.new_watchers(), ('k'..='r').collect::<Vec<_>>());
    let mut small = Letters::behind(0);
    let first = ('a'..='z').map(|letter| small.arrive(Arc::new(letter), 60, letter)).min();
    assert!(small.drive(first.unwrap(), bound).is_some());
    // The turn took one.
    assert_eq!(small.new_watchers(), ['i']);
}

#[test]
fn a_turn_takes_no_more_items_and_bytes_than_its_bound_and_at_least_one() {
    let mut gather = Letters::behind(0);
    let a = gather.arrive(Arc::new('a'), 101, 'a');
    let b = gather.arrive(Arc::new('b'), 60, 'b');
    gather.arrive(Arc::new('c'), 40, 'c');
    gather.arrive(Arc::new('d'), 1, 'd');
    let drive = gather.drive(a, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "a");
    gather.end(drive.number);
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "bc");
}

#[test]
fn a_caller_that_is_answered_early_has_left_the_turn() {
    let (mut gather, [a, ..]) = gather(['a', 'b']);
    let drive = gather.drive(a, BOUND).unwrap();
    assert_eq!(gather.answered(drive.number, 1), Some(vec!['a']));
    assert!(gather.commit(drive.number, "proof"));
    let left = gather.abandon(drive.number).unwrap();
    assert_eq!(left.unknown, ['b']);
    assert!(gather.is_idle());
}

#[test]
fn a_driver_that_goes_away_before_its_commit_leaves_its_items_to_the_next() {
    let (mut gather, [a, b, _]) = gather(['a', 'b', 'c']);
    let drive = gather.drive(a, BOUND).unwrap();
    let left = gather.abandon(drive.number).unwrap();
    assert_eq!((left.blamed, left.next), (Some('a'), Some('b')));
    assert!(left.unknown.is_empty());
    // It may still be alive, and learn of it at its commit.
    assert!(!gather.commit(drive.number, "proof"));
    assert!(!gather.beat(drive.number));
    assert_eq!(gather.answered(drive.number, 1), None);
    gather.put_back(drive.number, |_| false);
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "bc");
}

#[test]
fn where_a_driver_gives_up_waiting_the_others_wait_on_in_their_order() {
    let (mut gather, [a, ..]) = gather(['a', 'b', 'c']);
    let drive = gather.drive(a, BOUND).unwrap();
    gather.arrive(Arc::new('d'), 10, 'd');
    gather.put_back_others(drive.number);
    assert_eq!(gather.end(drive.number), Some((vec!['a'], Some('b'))));
    let waiting: String = gather.waiting.values().map(|entry| *entry.item).collect();
    assert_eq!(waiting, "bcd");
}

#[test]
fn an_item_whose_decision_panics_is_told_and_no_other() {
    let (mut gather, [a, ..]) = gather(['a', 'b', 'c']);
    let drive = gather.drive(a, BOUND).unwrap();
    gather.decide(drive.number, 0);
    gather.decide(drive.number, 1);
    let left = gather.abandon(drive.number).unwrap();
    assert_eq!((left.blamed, left.next), (Some('b'), Some('a')));
    assert_eq!(gather.waiting(), 2);
}

#[test]
fn a_driver_is_gone_only_if_it_showed_nothing() {
    let (mut gather, [a, b]) = gather(['a', 'b']);
    let drive = gather.drive(a, BOUND).unwrap();
    let seen = gather.signs;
    assert!(gather.beat(drive.number));
    assert_eq!(gather.has_gone(seen), None);
    let seen = gather.signs;
    assert_eq!(gather.has_gone(seen).unwrap().blamed, Some('a'));
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "b");
}

#[test]
fn where_a_called_caller_does_not_come_the_others_are_known() {
    let (mut gather, [_, b, _]) = gather(['a', 'b', 'c']);
    assert_eq!(gather.idle(1, 3), Some(vec!['b', 'c']));
    assert_eq!(gather.idle(2, usize::MAX), Some(vec!['c']));
    assert_eq!(gather.idle(3, 6), None);
    gather.drive(b, BOUND).unwrap();
    assert_eq!(gather.idle(1, 3), None);
}

#[test]
fn an_item_that_is_cancelled_leaves_if_its_turn_has_not_begun() {
    let (mut gather, [a, b, c]) = gather(['a', 'b', 'c']);
    // A caller that was called to drive calls the next one when it leaves.
    assert_eq!(gather.leave(a), Some('b'));
    assert_eq!(gather.leave(c), None);
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "b");
    assert_eq!(gather.leave(b), None);
    assert_eq!(gather.end(drive.number), Some((vec!['b'], None)));
}

#[test]
fn an_item_that_is_cancelled_in_a_turn_is_in_no_later_one() {
    let (mut gather, [a, b, c]) = gather(['a', 'b', 'c']);
    let drive = gather.drive(a, BOUND).unwrap();
    assert_eq!(gather.leave(c), None);
    gather.put_back(drive.number, |place| place < 2);
    assert_eq!(gather.leave(b), None);
    assert_eq!(gather.abandon(drive.number).unwrap().blamed, Some('a'));
    assert!(gather.is_idle());
}

#[test]
fn until_its_turn_has_the_lock_an_item_can_leave_and_its_drivers_too() {
    let (mut gather, [a, b, c]) = gather(['a', 'b', 'c']);
    let drive = gather.drive(a, BOUND).unwrap();
    let places = [a, b, c].map(|ticket| gather.ahead(ticket));
    assert_eq!(places, [None, Some(1), Some(2)]);
    gather.leave(b);
    assert_eq!(letters(&mut gather, &drive), "ac");
    gather.leave(a);
    assert_eq!(gather.begin(drive.number), Some(vec![false, true]));
    assert_eq!(gather.ahead(c), None);
    gather.leave(c);
    assert_eq!(gather.end(drive.number), Some((vec!['c'], None)));
}

#[test]
fn a_driver_that_decides_shows_that_it_is_alive() {
    let (mut gather, [a, ..]) = gather(['a', 'b']);
    let drive = gather.drive(a, BOUND).unwrap();
    let seen = gather.signs;
    gather.decide(drive.number, 1);
    assert_eq!(gather.has_gone(seen), None);
}

#[test]
fn what_comes_when_a_turn_has_asked_is_not_in_it() {
    let (mut gather, [a]) = gather(['a']);
    let drive = gather.drive(a, BOUND).unwrap();
    letters(&mut gather, &drive);
    gather.arrive(Arc::new('b'), 10, 'b');
    assert_eq!(gather.begin(drive.number), Some(vec![true]));
    assert_eq!(gather.end(drive.number), Some((vec!['a'], Some('b'))));
}

#[test]
fn a_caller_that_is_in_no_turn_yet_may_leave() {
    let (mut gather, [a]) = gather(['a']);
    let drive = gather.drive(a, BOUND).unwrap();
    let [b, c] = ['b', 'c'].map(|letter| gather.arrive(Arc::new(letter), 10, letter));
    assert_eq!(letters(&mut gather, &drive), "abc");
    assert_eq!((gather.ahead(b), gather.ahead(c)), (Some(0), Some(1)));
    gather.leave(b);
    assert_eq!(gather.begin(drive.number), Some(vec![true, false, true]));
    assert_eq!((gather.ahead(c), gather.waiting()), (None, 0));
}

#[test]
fn a_driver_that_goes_away_before_it_has_the_lock_leaves_all_in_their_order() {
    let (mut gather, [a, b]) = gather(['a', 'b']);
    let drive = gather.drive(a, BOUND).unwrap();
    gather.arrive(Arc::new('c'), 10, 'c');
    assert_eq!(letters(&mut gather, &drive), "abc");
    gather.abandon(drive.number);
    assert_eq!(gather.ask(drive.number, BOUND), None);
    assert_eq!(gather.begin(drive.number), None);
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "bc");
}

#[test]
fn between_two_items_that_are_too_large_for_a_turn_with_others_these_have_theirs() {
    let mut gather = Letters::behind(0);
    let tickets: Vec<u64> = [('L', 150), ('a', 10), ('M', 250), ('b', 10), ('N', 101)]
        .into_iter()
        .map(|(letter, bytes)| gather.arrive(Arc::new(letter), bytes, letter))
        .collect();
    let mut turn = |comes: Option<char>| {
        let drive = gather.drive(tickets[4], BOUND).unwrap();
        let turn = letters(&mut gather, &drive);
        gather.begin(drive.number);
        gather.end(drive.number);
        comes.map(|letter| gather.arrive(Arc::new(letter), 10, letter));
        turn
    };
    let comes = [Some('c'), Some('d'), Some('e'), None, None, None];
    assert_eq!(comes.map(&mut turn), ["L", "abc", "d", "M", "e", "N"]);
}

#[test]
fn an_item_whose_writes_are_too_large_for_a_turn_with_others_has_one_to_itself() {
    let (mut gather, [a, ..]) = gather(['a', 'b', 'c']);
    let drive = gather.drive(a, BOUND).unwrap();
    gather.begin(drive.number);
    gather.is_large(drive.number, 1, 101);
    gather.put_back(drive.number, |place| place != 1);
    let next = gather.end(drive.number);
    assert_eq!(next, Some((vec!['a', 'c'], Some('b'))));
    let d = gather.arrive(Arc::new('d'), 10, 'd');
    let drive = gather.drive(d, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "b");
}
#[test]
fn a_turn_that_wrote_nothing_goes_on_as_before_it_began() {
    let mut gather = Letters::behind(0);
    let a = gather.arrive(Arc::new('a'), 101, 'a');
    let drive = gather.drive(a, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "a");
    gather.begin(drive.number).unwrap();
    gather.decide(drive.number, 0);
    gather.decided(drive.number);
    gather.commit(drive.number, "proof");
    gather.arrive(Arc::new('b'), 10, 'b');
    gather.retreat(drive.number);
    // It owes nothing to those that came meanwhile.
    assert_eq!(letters(&mut gather, &drive), "a");
    // If its driver goes away, it was not about to write.
    let left = gather.abandon(drive.number).unwrap();
    assert_eq!((left.unknown, left.blamed), (vec![], Some('a')));
}

#[test]
fn a_turn_that_wrote_nothing_blames_its_driver_again() {
    let (mut gather, [_, b]) = gather(['a', 'b']);
    let drive = gather.drive(b, BOUND).unwrap();
    assert_eq!(letters(&mut gather, &drive), "ab");
    gather.begin(drive.number).unwrap();
    gather.decide(drive.number, 0);
    gather.decided(drive.number);
    gather.retreat(drive.number);
    assert_eq!(gather.abandon(drive.number).unwrap().blamed, Some('b'));
}
