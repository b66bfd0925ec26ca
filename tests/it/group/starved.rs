//! Items that fail again and again, or are large, and names with full queues. The others keep at
//! least half of what they have alone.

use std::cell::Cell;
use std::rc::Rc;

use edgelock::{Command, Decision, GroupCommit, Reply, Section};

use crate::support::turns::{Own, placed, together};
use crate::support::{Stack, eventually, ms, over, run};

over! {
    [spawn] {
        an_item_that_fails_in_each_turn_leaves_the_others_half_of_what_they_have_alone,
        names_with_full_queues_leave_others_half_of_what_they_have_alone,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Good,
    FailsToRead,
    FailsToWrite,
    /// The reply to a read of it is larger than an answer.
    ReadsTooMuch,
    /// That to a write of it is.
    WritesTooMuch,
    /// Its reads alone are more than a turn with others may have.
    LargeToRead,
    /// Its writes are.
    LargeToWrite,
}

/// More than 256 KiB.
const LARGE: usize = 300_000;

impl Item {
    const fn fails(self) -> bool {
        matches!(self, Self::FailsToRead | Self::FailsToWrite | Self::ReadsTooMuch)
    }
}

struct Mixed;

impl Section for Mixed {
    type Item = Item;
    type Answer = i64;
    type State = Option<i64>;

    fn reads(&self, item: &Item) -> Vec<Command> {
        let bad = Command::new("GETRANGE").key("count").arg("a").arg("b");
        let count = Command::new("GET").key("count");
        match item {
            Item::FailsToRead => vec![count, bad],
            Item::ReadsTooMuch => vec![count, Command::new("GET").key("large")],
            // Keys are counted twice.
            Item::LargeToRead => vec![count, Command::new("GET").key("x".repeat(LARGE / 2))],
            Item::Good | Item::FailsToWrite | Item::WritesTooMuch | Item::LargeToWrite => {
                vec![count]
            }
        }
    }

    fn decide(
        &self,
        item: &Item,
        replies: &[Reply],
        count: &mut Option<i64>,
        _: u64,
    ) -> Decision<i64> {
        let count = count.get_or_insert(replies[0].as_i64().unwrap_or(0));
        *count += 1;
        let incr = Command::new("INCR").key("count");
        match item {
            Item::FailsToWrite => Decision::Write(vec![Command::new("INCR").key("text")], 0),
            Item::WritesTooMuch => {
                Decision::Write(vec![incr, Command::new("GET").key("large")], *count)
            }
            Item::LargeToWrite => {
                let large = Command::new("SET").key("text:large").arg("x".repeat(LARGE));
                Decision::Write(vec![incr, large], *count)
            }
            _ => Decision::Write(vec![incr], *count),
        }
    }
}

/// How many scripts the turns of 400 good items cost, of twenty callers, beside so many others,
/// each of which has one bad item after the other.
async fn cost(stack: &mut Stack, beside: Option<Item>, others: usize) -> u64 {
    let before = stack.redis.scripts_run();
    let (lock, group) = (stack.lock("a").wait_timeout(ms(60_000)), GroupCommit::new(Mixed));
    let left = Rc::new(Cell::new(400));
    let goods = (0..20).map(|_| {
        let (lock, group, left) = (lock.clone(), group.clone(), left.clone());
        tokio::task::spawn_local(async move {
            while left.get() > 0 {
                left.set(left.get() - 1);
                group.submit(&lock, Item::Good).await.expect("an answer");
            }
        })
    });
    let goods: Vec<_> = goods.collect();
    let bads = (0..others).map(|_| {
        let (lock, group, left) = (lock.clone(), group.clone(), left.clone());
        tokio::task::spawn_local(async move {
            while let Some(item) = beside.filter(|_| left.get() > 0) {
                match group.submit(&lock, item).await {
                    Ok(_) => assert!(!item.fails(), "{item:?}"),
                    Err(error) => assert_eq!(error.code(), "command_failed", "{error}"),
                }
            }
        })
    });
    let bads: Vec<_> = bads.collect();
    for task in goods.into_iter().chain(bads) {
        task.await.expect("no panic");
    }
    stack.redis.scripts_run() - before
}

async fn an_item_that_fails_in_each_turn_leaves_the_others_half_of_what_they_have_alone(
    mut stack: Stack,
) {
    let _: () = stack.redis("SET text x");
    let _: () = stack.redis(&format!("SET large {}", "x".repeat(2_000_000)));
    let alone = cost(&mut stack, None, 0).await;
    for bad in [
        Item::FailsToRead,
        Item::FailsToWrite,
        Item::ReadsTooMuch,
        Item::WritesTooMuch,
        Item::LargeToRead,
        Item::LargeToWrite,
    ] {
        for others in [1, 4] {
            let beside = cost(&mut stack, Some(bad), others).await;
            println!("scripts for 400 items: alone {alone}, beside {others} {bad:?} {beside}");
            // The bad ones may have every other turn to themselves.
            assert!(beside <= 2 * alone + 4, "{beside}, not {alone}");
        }
    }
}

/// How many of 40 items of the name `idle`, of ten callers, are answered.
async fn answered(stack: &Stack, group: &GroupCommit<Mixed>) -> usize {
    let lock = stack.lock("idle").wait_timeout(ms(60_000));
    let tasks = (0..10).map(|_| {
        let (lock, group) = (lock.clone(), group.clone());
        tokio::task::spawn_local(async move {
            let mut answered = 0;
            for _ in 0..4 {
                answered += usize::from(group.submit(&lock, Item::Good).await.is_ok());
            }
            answered
        })
    });
    let mut answered = 0;
    for task in tasks.collect::<Vec<_>>() {
        answered += task.await.expect("no panic");
    }
    answered
}

async fn names_with_full_queues_leave_others_half_of_what_they_have_alone(stack: Stack) {
    for looks in [false, true] {
        let group = GroupCommit::new(Mixed).max_waiting(20);
        let group = if looks { group.peek(|_, _, _| None) } else { group };
        let alone = answered(&stack, &group).await;
        // Each of twelve names has more items than may wait, and its lock is held meanwhile.
        let mut held = Vec::new();
        let mut full = Vec::new();
        for name in 0..12 {
            let lock = stack.lock(&format!("full:{name}"));
            held.push(lock.try_acquire().await.expect("a lease"));
            let lock = lock.wait_timeout(ms(60_000));
            full.extend((0..40).map(|_| placed(&group, &lock, Item::Good)));
        }
        eventually(|| full.iter().filter(|one| one.is_finished()).count() >= 480 - 220).await;
        let beside = answered(&stack, &group).await;
        let waiting = full.iter().filter(|one| !one.is_finished()).count();
        println!("looks {looks}: alone {alone}, beside {waiting} of other names {beside}");
        assert!(2 * beside >= alone, "{beside}, not {alone}");
        // The bound of all names together, and one item of each.
        assert!(waiting <= 200 + 12, "{waiting}");
        for lease in held {
            lease.release().await.expect("held");
        }
        for one in full {
            let _ = one.await.expect("no panic");
        }
    }
}

#[test]
fn an_item_that_is_decided_slowly_is_decided_and_so_are_those_beside_it() {
    run(async {
        let mut stack = Stack::spawn();
        let lock = stack.client().request_timeout(ms(500)).lock("a");
        let group = GroupCommit::new(Own::<_, (), _> {
            reads: |_| Vec::new(),
            decide: |is_slow, _, (), _| {
                if *is_slow {
                    std::thread::sleep(ms(1_500));
                }
                Decision::Write(vec![Command::new("INCR").key("count")], ())
            },
        });
        let lock = lock.wait_timeout(ms(10_000));
        assert_eq!(together(&group, &lock, [false, true, false]).await, [const { Ok(()) }; 3]);
        assert_eq!(stack.redis::<u64>("GET count"), 3);
    });
}
