//! Sections, items and numbers that nobody expects.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use edgelock::{Command, Decision, Error, GroupCommit, Reply, Section};

use super::sale::{self, Answer, Order, Sale, order};
use crate::support::turns::together;
use crate::support::{Stack, alone, eventually, ms, over, run};

alone! {
    an_item_that_writes_no_command_is_answered,
    a_turn_has_one_item_at_least_however_small_it_must_be,
}

over! {
    [spawn] {
        a_command_that_no_script_could_run_fails_its_own_item_alone,
        what_shares_no_turns_is_refused_by_its_name,
        a_writer_shares_turns,
        an_item_whose_decision_panics_fails_alone,
        an_item_that_is_refused_changes_nothing_of_what_the_others_share,
        a_crowd_of_refused_items_has_few_decisions_made_again,
        a_driver_is_not_taken_for_gone_by_a_caller_with_less_time_for_a_request,
        a_caller_that_does_not_drive_when_called_holds_nobody_up,
        a_caller_whose_wait_is_longer_than_its_drivers_goes_on_waiting,
        numbers_may_be_as_large_as_they_come,
        where_none_may_wait_a_caller_that_finds_nobody_has_its_turn,
    }
}

/// A section that does what each item says.
struct Told;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Note,
    /// The item is written, but with no command.
    Nothing,
    /// The item's command has so many words that no script can run it.
    TooMuch,
    Panic,
}

impl Section for Told {
    type Item = Item;
    type Answer = Item;
    type State = ();

    fn reads(&self, _: &Item) -> Vec<Command> {
        Vec::new()
    }

    fn decide(&self, item: &Item, _: &[Reply], (): &mut (), _: u64) -> Decision<Item> {
        let push = Command::new("RPUSH").key("notes");
        let writes = match item {
            Item::Note => vec![push.arg(1)],
            Item::Nothing => Vec::new(),
            Item::TooMuch => vec![(0..10_000).fold(push, Command::arg)],
            Item::Panic => panic!("as it was told"),
        };
        Decision::Write(writes, *item)
    }
}

/// The outcomes of items that are submitted at once.
async fn told(stack: &Stack, told: GroupCommit<Told>, items: &[Item]) -> Vec<Result<Item, Error>> {
    let lock = stack.lock("a").wait_timeout(ms(2_000));
    let outcomes = together(&told, &lock, items.iter().copied());
    tokio::time::timeout(ms(8_000), outcomes).await.expect("answers within their wait")
}

async fn an_item_that_writes_no_command_is_answered() {
    for items in [
        &[Item::Nothing][..],
        &[Item::Note, Item::Nothing, Item::Nothing],
        &[Item::Nothing, Item::Nothing, Item::Note, Item::Nothing],
    ] {
        let stack = Stack::spawn();
        let outcomes = told(&stack, GroupCommit::new(Told), items).await;
        let answers: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, items);
    }
}

async fn a_command_that_no_script_could_run_fails_its_own_item_alone(mut stack: Stack) {
    let items = [Item::Note, Item::Note, Item::TooMuch, Item::Note];
    let outcomes = told(&stack, GroupCommit::new(Told), &items).await;
    let error = outcomes[2].as_ref().unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    for at in [0, 1, 3] {
        assert_eq!(outcomes[at], Ok(Item::Note));
    }
    assert_eq!(stack.redis::<u64>("LLEN notes"), 3);
}

/// Its holders share it, or its owner may enter meanwhile.
async fn what_shares_no_turns_is_refused_by_its_name(mut stack: Stack) {
    let client = stack.client();
    for (lock, name) in [
        (client.semaphore("a", 1), "a"),
        (client.lock_all(["a", "b"]), "a, b"),
        (client.read_write("a").read(), "a"),
        (client.reentrant("a", "owner"), "a"),
    ] {
        let error = GroupCommit::new(Sale).submit(&lock, order(0)).await.unwrap_err();
        assert_eq!((error.code(), error.lock()), ("invalid_argument", Some(name)));
        assert!(stack.redis::<Vec<String>>("KEYS *").is_empty());
    }
}

async fn a_writer_shares_turns(mut stack: Stack) {
    let _: () = stack.redis("SET stock 1");
    let group = GroupCommit::new(Sale);
    let write = stack.client().read_write("a").write();
    let (one, other) = tokio::join!(group.submit(&write, order(0)), group.submit(&write, order(1)));
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_turn_has_one_item_at_least_however_small_it_must_be() {
    for told_ in [GroupCommit::new(Told).max_bytes(0), GroupCommit::new(Told).max_items(1)] {
        let mut stack = Stack::spawn();
        let outcomes = told(&stack, told_, &[Item::Note; 3]).await;
        assert_eq!(outcomes, [Ok(Item::Note), Ok(Item::Note), Ok(Item::Note)]);
        assert_eq!(stack.redis::<u64>("LLEN notes"), 3);
    }
    let stack = Stack::spawn();
    let none = GroupCommit::new(Told).max_items(0);
    let error = none.submit(&stack.lock("a"), Item::Note).await.unwrap_err();
    assert!(error.to_string().contains("a turn has 1 item or more, not 0"), "{error}");
    assert_eq!(error.lock(), Some("a"));
}

async fn an_item_whose_decision_panics_fails_alone(mut stack: Stack) {
    let items = [Item::Note, Item::Note, Item::Note, Item::Panic, Item::Note, Item::Note];
    let group = GroupCommit::new(Told);
    let outcomes = told(&stack, group.clone(), &items).await;
    let error = outcomes[3].as_ref().unwrap_err();
    assert_eq!((error.code(), error.is_outcome_unknown()), ("unavailable", false));
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(stack.redis::<usize>("LLEN notes"), done);
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    assert!(format!("{group:?}").contains("names: 0"));
    for at in [0, 1, 2, 4, 5] {
        assert_eq!(outcomes[at], Ok(Item::Note), "{at}");
    }
}

/// Numbers the notes, and counts its decisions.
#[derive(Default)]
struct Numbered(Arc<AtomicUsize>);

impl Section for Numbered {
    type Item = Item;
    type Answer = i64;
    type State = Option<i64>;

    fn reads(&self, _: &Item) -> Vec<Command> {
        vec![Command::new("LLEN").key("notes")]
    }

    fn decide(
        &self,
        item: &Item,
        found: &[Reply],
        last: &mut Option<i64>,
        fence: u64,
    ) -> Decision<i64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let last = last.get_or_insert(found[0].as_i64().unwrap());
        *last += 1;
        let Decision::Write(mut writes, _) = Told.decide(item, found, &mut (), fence) else {
            unreachable!("it tells each item to write");
        };
        if *item == Item::Note {
            writes = vec![Command::new("RPUSH").key("notes").arg(*last)];
        }
        Decision::Write(writes, *last)
    }
}

async fn an_item_that_is_refused_changes_nothing_of_what_the_others_share(mut stack: Stack) {
    let (group, lock) = (GroupCommit::new(Numbered::default()), stack.lock("a"));
    let items = [Item::TooMuch, Item::Note, Item::Panic, Item::TooMuch, Item::Note, Item::TooMuch];
    let mut numbers = Vec::new();
    for (outcome, item) in together(&group, &lock, items).await.into_iter().zip(items) {
        assert_eq!(outcome.is_ok(), item == Item::Note, "{outcome:?}");
        numbers.extend(outcome);
    }
    assert_eq!(numbers, [1, 2]);
    assert_eq!(stack.redis::<Vec<i64>>("LRANGE notes 0 -1"), [1, 2]);
}

async fn a_crowd_of_refused_items_has_few_decisions_made_again(mut stack: Stack) {
    let decisions = Arc::new(AtomicUsize::new(0));
    let (group, lock) = (GroupCommit::new(Numbered(decisions.clone())), stack.lock("a"));
    let items = (0..256).map(|n| [Item::TooMuch, Item::Note][n % 2]);
    let outcomes = together(&group, &lock, items).await;
    let numbers: Vec<_> = outcomes.into_iter().flatten().collect();
    assert_eq!(numbers, (1..=128).collect::<Vec<_>>());
    assert_eq!(stack.redis::<i64>("LLEN notes"), 128);
    // As one turn they would take 16,512.
    let decisions = decisions.load(Ordering::Relaxed);
    assert!(decisions < 8_000, "{decisions}");
}

async fn a_driver_is_not_taken_for_gone_by_a_caller_with_less_time_for_a_request(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let sale = GroupCommit::new(Sale);
    let of = |limit| stack.client().request_timeout(limit).lock("a");
    let (slow, hasty) = (of(ms(60_000)), of(ms(100)));
    let first = sale.submit(&slow, order(0));
    let second = sale.submit(&hasty, order(1));
    let release = async {
        tokio::time::sleep(ms(1_000)).await;
        held.release().await.unwrap();
    };
    let (first, second, ()) = tokio::join!(first, second, release);
    assert_eq!(first.unwrap().left(), Some(8));
    assert_eq!(second.unwrap().left(), Some(7));
}

/// As with a request whose customer hung up: its future exists, but its host polls it no more.
async fn a_caller_that_does_not_drive_when_called_holds_nobody_up(mut stack: Stack) {
    let _: () = stack.redis("SET stock 10");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let sale = GroupCommit::new(Sale).max_items(1);
    // Callers look for themselves after half of this time.
    let client = stack.client().request_timeout(ms(600_000));
    let lock = client.lock("a").wait_timeout(ms(600_000));
    let (first, last) = (sale.submit(&lock, order(0)), sale.submit(&lock, order(9)));
    let others = async {
        let mut deaf: Vec<_> =
            (1..9).map(|number| Box::pin(sale.submit(&lock, order(number)))).collect();
        poll_fn(|cx| {
            let waits = deaf.iter_mut().all(|one| one.as_mut().poll(cx).is_pending());
            assert!(waits);
            Poll::Ready(())
        })
        .await;
        let last = async { last.await.unwrap().left() };
        let release = async { held.release().await.unwrap() };
        let (left, ()) = tokio::join!(last, release);
        drop(deaf);
        left
    };
    let both = async { tokio::join!(first, others) };
    let both = tokio::time::timeout(ms(60_000), both).await;
    let (first, left) = both.expect("they do not wait for a deaf caller");
    assert_eq!(first.unwrap().left(), Some(9));
    assert_eq!(left, Some(0));
}

/// If a waker were left, a request to a Worker would be woken for ever.
#[test]
fn a_caller_that_hangs_up_in_its_turn_leaves_no_waker_behind() {
    struct Nobody;
    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }
    run(async {
        let stack = Stack::spawn();
        let held = stack.lock("a").try_acquire().await.unwrap();
        let sale = GroupCommit::new(Sale);
        let lock = stack.lock("a").wait_timeout(ms(5_000));
        let nobody = Arc::new(Nobody);
        let waker = Waker::from(nobody.clone());
        let mut gone = Box::pin(sale.submit(&lock, order(0)));
        let polled = gone.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        drop(gone);
        drop(waker);
        assert_eq!(Arc::strong_count(&nobody), 1);
        held.release().await.unwrap();
    });
}

async fn a_caller_whose_wait_is_longer_than_its_drivers_goes_on_waiting(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let sale = GroupCommit::new(Sale);
    let of = |wait| stack.lock("a").wait_timeout(wait);
    let (first, hasty, patient) = (of(ms(200)), of(ms(400)), of(ms(5_000)));
    let others = async {
        let (first, hasty) =
            tokio::join!(sale.submit(&first, order(0)), sale.submit(&hasty, order(1)));
        assert_eq!(first.unwrap_err().code(), "held");
        assert_eq!(hasty.unwrap_err().code(), "held");
        held.release().await.unwrap();
    };
    let ((), patient) = tokio::join!(others, sale.submit(&patient, order(2)));
    assert_eq!(patient.unwrap().left(), Some(8));
}

#[test]
fn what_a_look_has_answered_is_not_decided_any_more() {
    fn peek(_: &Sale, _: &Order, replies: &[Reply]) -> Option<Answer> {
        (replies[0].as_i64() == Some(0)).then_some(Answer::SoldOut)
    }
    run(async {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 9");
        let lock = stack.lock("a");
        let sale = GroupCommit::new(Sale).peek(peek);
        sale.submit(&lock, order(0)).await.unwrap();
        let _: () = stack.redis("SET stock 0");
        let held = stack.lock("a").try_acquire().await.unwrap();
        let answer = sale.submit(&lock, order(1)).await.unwrap();
        assert_eq!(answer, Answer::SoldOut);
        // The holder of the lock opens the sale again.
        let _: () = stack.redis("SET stock 5");
        held.release().await.unwrap();
        let answer = sale.submit(&lock, order(2)).await.unwrap();
        assert_eq!(answer.left(), Some(4));
        assert_eq!(stack.redis::<Vec<u64>>("HKEYS orders"), [0, 2]);
    });
}

async fn numbers_may_be_as_large_as_they_come(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let client = stack.client().request_timeout(Duration::MAX);
    let lock = client.lock("a").wait_timeout(Duration::MAX);
    let sale =
        GroupCommit::new(Sale).max_items(usize::MAX).max_bytes(usize::MAX).max_waiting(usize::MAX);
    let answers = sale::answers(&sale, &lock, (0..4).map(order)).await;
    assert_eq!(answers[3].left(), Some(5));
}

async fn where_none_may_wait_a_caller_that_finds_nobody_has_its_turn(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    for (sale, numbers, left) in
        [(GroupCommit::new(Sale), 0..4, 8), (GroupCommit::new(Sale).peek(|_, _, _| None), 4..8, 7)]
    {
        let sale = sale.max_waiting(0);
        let outcomes = together(&sale, &stack.lock("a"), numbers.map(order)).await;
        assert_eq!(outcomes[0].as_ref().unwrap().left(), Some(left));
        for outcome in &outcomes[1..] {
            assert!(matches!(outcome, Err(Error::Held { .. })), "{outcome:?}");
        }
    }
}
