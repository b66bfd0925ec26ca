//! Items that look at what is stored before they ask for the lock.

use edgelock::{Client, Error, GroupCommit, Instant, Reply, Runtime};

use super::sale::{self, Answer, Order, Sale, order};
use crate::support::faulty::Fault::{Delay, LoseReply, Pass};
use crate::support::faulty::Proxy;
use crate::support::turns::together;
use crate::support::watched::watch;
use crate::support::{Http, Stack, Tokio, alone, as_tokio, eventually, ms, over};

alone! {
    what_was_never_decided_is_not_unknown,
}

over! {
    [spawn] {
        what_needs_no_turn_is_answered_by_a_request_that_all_share,
        what_a_look_does_not_answer_has_its_turn,
        what_replicas_must_have_is_not_looked_at_before_its_turn,
        an_item_whose_read_fails_fails_alone_when_it_is_looked_at,
        a_look_that_fails_costs_an_item_nothing_but_time,
        looks_do_not_wait_for_each_other,
        looks_do_not_wait_for_another_client_s_clock,
        where_items_take_turns_they_wait_for_no_look,
        a_caller_that_comes_when_too_many_wait_is_told_so_at_once,
    }
}

/// A sale that can refuse without a turn.
fn looking() -> GroupCommit<Sale> {
    fn peek(_: &Sale, _: &Order, replies: &[Reply]) -> Option<Answer> {
        (replies[0].as_i64() == Some(0)).then_some(Answer::SoldOut)
    }
    GroupCommit::new(Sale).peek(peek)
}

async fn what_needs_no_turn_is_answered_by_a_request_that_all_share(mut stack: Stack) {
    let _: () = stack.redis("SET stock 0");
    // A refusal does not even wait for a lock that another holds.
    let held = stack.lock("a").try_acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let answers = sale::answers(&looking(), &lock, (0..20).map(order)).await;
    assert_eq!(answers, [Answer::SoldOut; 20]);
    assert_eq!((seen.sent(), seen.events().len()), (2, 0));
    held.release().await.unwrap();
}

async fn what_a_look_does_not_answer_has_its_turn(mut stack: Stack) {
    let _: () = stack.redis("SET stock 5");
    let (client, seen) = stack.watched();
    let lock = client.lock("a");
    let answers = sale::answers(&looking(), &lock, (0..10).map(order)).await;
    let left: Vec<_> = answers.iter().map(|answer| answer.left()).collect();
    let sold = (0..5).rev().map(Some);
    assert_eq!(left, sold.chain([None; 5]).collect::<Vec<_>>());
    assert_eq!(seen.items_of_turns().iter().sum::<u64>(), 10);
}

async fn what_replicas_must_have_is_not_looked_at_before_its_turn(mut stack: Stack) {
    let _: () = stack.redis("SET stock 0");
    // There is no replica, so what is written here must be reported to nobody.
    let lock = stack.lock("a").wait_for_replicas(1, ms(10));
    let outcomes = together(&looking(), &lock, [order(0)]).await;
    let error = outcomes[0].as_ref().unwrap_err();
    assert_eq!(error.code(), "not_replicated");
}

async fn an_item_whose_read_fails_fails_alone_when_it_is_looked_at(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let _: () = stack.redis("SET text x");
    let bad = Order { orders: "text", ..order(1) };
    let orders = [order(0), bad, order(2)];
    let outcomes = together(&looking(), &stack.lock("a"), orders).await;
    let error = outcomes[1].as_ref().unwrap_err();
    assert!(matches!(error, Error::CommandFailed { index: 1, .. }), "{error}");
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
}

async fn what_was_never_decided_is_not_unknown() {
    for (sale, passing) in [(GroupCommit::new(Sale), 0), (looking(), 1)] {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 9");
        // What is lost is the reply to the acquisition.
        let faults = [Pass; 1].into_iter().take(passing);
        let proxy = Proxy::before(&stack, faults.chain([LoseReply; 3])).await;
        let lock = proxy.client.lock("a");
        // A call that waits would ask again.
        let hasty = lock.clone().wait_timeout(ms(0));
        let error = sale.submit(&hasty, order(0)).await.unwrap_err();
        assert_eq!((error.code(), error.is_outcome_unknown()), ("unavailable", false));
        // What was lost keeps nobody out.
        let answer = sale.submit(&lock, order(1)).await.unwrap();
        assert_eq!(answer.left(), Some(8));
    }
}

async fn a_look_that_fails_costs_an_item_nothing_but_time(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let proxy = Proxy::before(&stack, [LoseReply; 3]).await;
    let lock = proxy.client.lock("a");
    let answer = looking().submit(&lock, order(0)).await.unwrap();
    assert_eq!(answer.left(), Some(8));
}

async fn looks_do_not_wait_for_each_other(mut stack: Stack) {
    let _: () = stack.redis("SET stock 0");
    // The answer to the first look takes very long.
    let proxy = Proxy::before(&stack, [Delay]).await;
    let (client, seen) = watch(stack.route_by(&proxy.url));
    let lock = client.lock("a");
    let sale = looking();
    let others = async {
        eventually(|| seen.sent() == 1).await;
        let answers = sale::answers(&sale, &lock, (1..20).map(order)).await;
        assert_eq!(answers, [Answer::SoldOut; 19]);
        // One look may have been sent before the others came.
        assert!(seen.sent() <= 3, "{}", seen.sent());
    };
    tokio::select! {
        answer = sale.submit(&lock, order(0)) => panic!("{answer:?}"),
        () = others => {}
    }
}

/// A host whose clock began an hour before that of any other host.
#[derive(Default)]
pub(super) struct Old(Tokio);

impl Runtime for Old {
    fn now(&self) -> Instant {
        self.0.now() + ms(3_600_000)
    }

    as_tokio! { sleep random spawn }
}

async fn looks_do_not_wait_for_another_client_s_clock(mut stack: Stack) {
    let _: () = stack.redis("SET stock 0");
    let proxy = Proxy::before(&stack, [Delay]).await;
    let bridge = stack.route_by(&proxy.url);
    let old = Client::new(bridge, Http::default(), Old::default());
    let old = old.request_timeout(ms(60_000));
    let sale = looking();
    let lock = old.lock("a");
    let young = async {
        eventually(|| proxy.seen().len() == 1).await;
        let (sale, lock) = (&sale, stack.lock("a"));
        let answer = tokio::time::timeout(ms(20_000), sale.submit(&lock, order(1))).await;
        assert_eq!(answer.expect("within an hour"), Ok(Answer::SoldOut));
    };
    tokio::select! {
        answer = sale.submit(&lock, order(0)) => panic!("{answer:?}"),
        () = young => {}
    }
}

async fn where_items_take_turns_they_wait_for_no_look(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    // The sale learns this from a look and a turn.
    let proxy = Proxy::before(&stack, [Pass, Pass, Pass, Delay, Delay]).await;
    let client = proxy.client.clone().request_timeout(ms(60_000));
    let lock = client.lock("a");
    let sale = looking();
    assert_eq!(sale.submit(&lock, order(0)).await.unwrap().left(), Some(8));
    let second = sale.submit(&lock, order(1));
    let sent = async {
        eventually(|| proxy.seen().len() == 5).await;
        proxy.deliver().await;
        proxy.deliver().await;
    };
    let (second, ()) = tokio::join!(second, sent);
    assert_eq!(second.unwrap().left(), Some(7));
    // An item that cannot succeed still does not wait for a turn.
    let _: () = stack.redis("SET stock 0");
    let held = stack.lock("a").try_acquire().await.unwrap();
    let answer = sale.submit(&lock, order(2)).await.unwrap();
    assert_eq!(answer, Answer::SoldOut);
    held.release().await.unwrap();
}

async fn a_caller_that_comes_when_too_many_wait_is_told_so_at_once(mut stack: Stack) {
    let _: () = stack.redis("SET stock 9");
    let held = stack.lock("a").try_acquire().await.unwrap();
    for sale in [GroupCommit::new(Sale), looking()] {
        let sale = sale.max_waiting(2).max_items(1);
        let lock = stack.lock("a").wait_timeout(ms(200));
        let outcomes = together(&sale, &lock, (0..4).map(order)).await;
        // One item is in a turn, and two wait.
        let error = outcomes[3].as_ref().unwrap_err();
        let Error::Held { ahead, requests, .. } = error else { panic!("{error}") };
        assert_eq!((*ahead, *requests), (2, 0));
    }
    held.release().await.unwrap();
}
