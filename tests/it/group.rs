//! Shared turns: callers of one process that hold the lock together.

mod driver;
mod guessed;
mod look;
mod sale;
mod starved;
mod strange;
mod turns;

use edgelock::{Error, GroupCommit};
use tokio::task::JoinSet;

use crate::support::faulty::Fault::{LoseReply, LoseRequest, Pass};
use crate::support::faulty::Proxy;
use crate::support::turns::{placed, together};
use crate::support::watched::watch;
use crate::support::{Spawn, Stack, TestLock, eventually, ms, over};
use sale::{Order, Sale, answers, order};

over! {
    [spawn] {
        an_error_of_the_turn_goes_to_each_of_its_items_and_to_no_other,
        an_item_waits_for_its_turn_no_longer_than_its_lock,
        a_turn_has_no_more_items_and_bytes_than_it_may,
        names_do_not_wait_for_each_other,
        callers_with_locks_of_their_own_share_turns_by_name,
    }
}

over! {
    [upstash, webdis, humanwhocodes] {
        whoever_comes_while_a_turn_is_under_way_shares_the_next,
        whoever_comes_while_a_turn_waits_for_the_lock_is_in_it,
        items_are_decided_in_the_order_in_which_they_came_and_each_sees_those_before,
        an_item_whose_read_fails_fails_alone,
        a_command_that_fails_fails_its_own_item_alone,
        a_commit_that_cannot_be_learned_is_unknown_for_those_that_rest_on_it,
    }
}

async fn whoever_comes_while_a_turn_is_under_way_shares_the_next(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let sale = GroupCommit::new(Sale);
    let first = sale.submit(&lock, order(0));
    let others = async {
        eventually(|| seen.sent() >= 1).await;
        answers(&sale, &lock, (1..40).map(order)).await
    };
    let (first, others) = tokio::join!(first, others);
    let fences: Vec<u64> = others.iter().map(|answer| answer.fence()).collect();
    assert!(fences.iter().all(|fence| *fence == fences[0]));
    assert!(first.unwrap().fence() < fences[0]);
    assert_eq!(seen.items_of_turns(), [1, 39]);
    assert_eq!(seen.sent(), 4);
    assert_eq!(stack.redis::<u64>("GET stock"), 60);
    assert_eq!(stack.redis::<u64>("HLEN orders"), 40);
}

async fn whoever_comes_while_a_turn_waits_for_the_lock_is_in_it(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(ms(3_000));
    let sale = GroupCommit::new(Sale);
    let mut orders = vec![placed(&sale, &lock, order(0))];
    eventually(|| seen.sent() >= 2).await;
    orders.extend((1..20).map(|number| placed(&sale, &lock, order(number))));
    tokio::task::yield_now().await;
    // Waits for the request that was under way before these callers came.
    let sent = seen.sent();
    eventually(|| seen.sent() > sent).await;
    held.release().await.unwrap();
    let mut left = Vec::new();
    for order in orders {
        left.push(order.await.unwrap().unwrap().left());
    }
    assert_eq!(left, (80..100).rev().map(Some).collect::<Vec<_>>());
    assert_eq!(seen.items_of_turns(), [20]);
}

async fn items_are_decided_in_the_order_in_which_they_came_and_each_sees_those_before(
    mut stack: Stack,
) {
    let _: () = stack.redis("SET stock 10");
    let sale = GroupCommit::new(Sale);
    let answers = answers(&sale, &stack.lock("a"), (0..30).map(order)).await;
    let left: Vec<_> = answers.iter().map(|answer| answer.left()).collect();
    let sold = (0..10).rev().map(Some);
    assert_eq!(left, sold.chain([None; 20]).collect::<Vec<_>>());
    assert_eq!(stack.redis::<u64>("GET stock"), 0);
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn an_item_whose_read_fails_fails_alone(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let _: () = stack.redis("SET text x");
    let sale = GroupCommit::new(Sale);
    let lock = stack.lock("a");
    let bad = Order { orders: "text", ..order(2) };
    let orders = [order(0), order(1), bad, order(3)];
    let mut answers = together(&sale, &lock, orders).await;
    let error = answers.remove(2).unwrap_err();
    assert!(matches!(error, Error::CommandFailed { index: 1, .. }), "{error}");
    let left: Vec<_> = answers.into_iter().map(|it| it.unwrap().left()).collect();
    assert_eq!(left, [Some(99), Some(98), Some(97)]);
    // A command that is no read is refused before it gets a turn.
    let writes = Order { read: "DEL", ..order(4) };
    let error = sale.submit(&lock, writes).await.unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
}

async fn a_command_that_fails_fails_its_own_item_alone(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let _: () = stack.redis("SET text x");
    let sale = GroupCommit::new(Sale);
    let bad = Order { note: Some("text"), ..order(2) };
    let orders = [order(0), order(1), bad, order(3)];
    let outcomes = together(&sale, &stack.lock("a"), orders).await;
    assert!(outcomes[0].is_ok() && outcomes[1].is_ok());
    let own = outcomes[2].as_ref().unwrap_err();
    assert!(matches!(own, Error::CommandFailed { index: 2, .. }), "{own}");
    assert_eq!(outcomes[3].as_ref().unwrap().left(), Some(96));
    assert_eq!(stack.redis::<u64>("GET stock"), 96);
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_commit_that_cannot_be_learned_is_unknown_for_those_that_rest_on_it(spawn: Spawn) {
    for (fault, landed) in [(LoseRequest, false), (LoseReply, true)] {
        let mut stack = spawn();
        let _: () = stack.redis("SET stock 100");
        // The requests of the first turn, the acquisition of the second, and all attempts of
        // its commit.
        let faults = [Pass, Pass, Pass, fault, fault, fault];
        let proxy = Proxy::before(&stack, faults).await;
        let (client, seen) = watch(stack.route_by(&proxy.url));
        let lock = client.lock("a");
        let sale = GroupCommit::new(Sale);
        let none = Order { wants: false, ..order(1) };
        let first = sale.submit(&lock, order(0));
        let others = async {
            eventually(|| seen.sent() >= 1).await;
            together(&sale, &lock, [none, order(2), order(3)]).await
        };
        let (first, outcomes) = tokio::join!(first, others);
        assert!(first.is_ok());
        // The read-only item came before the first write.
        assert_eq!(outcomes[0].as_ref().unwrap().left(), None);
        for outcome in &outcomes[1..] {
            assert!(outcome.as_ref().unwrap_err().is_outcome_unknown());
        }
        // The next turn begins as soon as the lock is given back.
        let next = sale.submit(&lock, order(4)).await.unwrap();
        let before = if landed { 97 } else { 99 };
        assert_eq!(next.left(), Some(before - 1));
        assert_eq!(stack.redis::<i64>("GET stock"), before - 1);
        assert_eq!(seen.items_of_turns(), [1, 3, 1]);
    }
}

async fn an_error_of_the_turn_goes_to_each_of_its_items_and_to_no_other(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let lock = stack.lock("a").wait_timeout(ms(300));
    let sale = GroupCommit::new(Sale);
    // This caller's wait is its own: what the others waited before does not count.
    let late = placed(&sale, &stack.lock("a"), order(1));
    let outcomes = together(&sale, &lock, [order(0)]).await;
    assert_eq!(outcomes[0].as_ref().unwrap_err().code(), "held");
    held.release().await.unwrap();
    assert_eq!(late.await.unwrap().unwrap().left(), Some(99));
}

async fn an_item_waits_for_its_turn_no_longer_than_its_lock(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let sale = GroupCommit::new(Sale);
    let (patient, hasty) = (stack.lock("a"), stack.lock("a").wait_timeout(ms(200)));
    let first = sale.submit(&patient, order(0));
    let second = async {
        let error = sale.submit(&hasty, order(1)).await.unwrap_err();
        assert!(matches!(error, Error::Held { ahead: 0, .. }), "{error}");
        held.release().await.unwrap();
    };
    let (first, ()) = tokio::join!(first, second);
    assert_eq!(first.unwrap().left(), Some(99));
    assert_eq!(stack.redis::<u64>("HLEN orders"), 1);
}

async fn a_turn_has_no_more_items_and_bytes_than_it_may(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let sale = GroupCommit::new(Sale).max_items(4);
    answers(&sale, &lock, (0..10).map(order)).await;
    assert_eq!(seen.items_of_turns(), [4, 4, 2]);
    // So many bytes are enough for two reads, or for the writes of one item.
    let sale = GroupCommit::new(Sale).max_bytes(2 * 60);
    let answers = answers(&sale, &lock, (10..16).map(order)).await;
    let left: Vec<_> = answers.iter().map(|answer| answer.left()).collect();
    assert_eq!(left, (84..90).rev().map(Some).collect::<Vec<_>>());
    let turns = seen.items_of_turns();
    assert!(turns[3..].len() > 2 && turns[3..].iter().sum::<u64>() == 6, "{turns:?}");
}

async fn names_do_not_wait_for_each_other(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let sale = GroupCommit::new(Sale);
    let (a, b) = (stack.lock("a"), stack.lock("b"));
    let waits = sale.submit(&a, order(0));
    let other = async {
        sale.submit(&b, order(1)).await.unwrap();
        held.release().await.unwrap();
    };
    let (waited, ()) = tokio::join!(waits, other);
    waited.unwrap();
}

async fn callers_with_locks_of_their_own_share_turns_by_name(mut stack: Stack) {
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Sale);
    let proxy = Proxy::before(&stack, []).await;
    // Each caller has a client of its own, as requests to a Worker do.
    let lock = || -> TestLock {
        let client = crate::support::client_of(stack.route_by(&proxy.url));
        client.lock("a")
    };
    let mut callers = JoinSet::new();
    for number in 0..20 {
        let (sale, lock) = (sale.clone(), lock());
        callers.spawn_local(async move { sale.submit(&lock, order(number)).await.unwrap() });
    }
    assert_eq!(callers.join_all().await.len(), 20);
    assert_eq!(proxy.seen().len(), 2);
}
