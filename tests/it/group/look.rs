//! Items that are looked at without the lock first.

use edgelock::{Error, GroupCommit, Reply};

use super::sale::{self, Answer, Order, Sale, order};
use crate::support::faulty::Fault::{LoseReply, Pass};
use crate::support::faulty::Proxy;
use crate::support::{Stack, ms, run};

/// A sale whose refusals need no turn.
fn looking() -> GroupCommit<Sale> {
    fn peek(_: &Sale, _: &Order, replies: &[Reply]) -> Option<Answer> {
        (replies[0].int() == Some(0)).then_some(Answer::SoldOut)
    }
    GroupCommit::new(Sale).peek(peek)
}

#[test]
fn what_needs_no_turn_is_answered_by_a_request_that_all_share() {
    run(async {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 0");
        // It does not even wait for a lock that another holds.
        let held = stack.lock("a").try_acquire().await.unwrap();
        let (client, seen) = stack.watched();
        let lock = client.lock("a").unwrap();
        let answers = sale::answers(&looking(), &lock, (0..20).map(order)).await;
        assert_eq!(answers, [Answer::SoldOut; 20]);
        assert_eq!((seen.sent(), seen.events().len()), (2, 0));
        held.release().await.unwrap();
    });
}

#[test]
fn what_a_look_does_not_answer_has_its_turn() {
    run(async {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 5");
        let (client, seen) = stack.watched();
        let lock = client.lock("a").unwrap();
        let answers = sale::answers(&looking(), &lock, (0..10).map(order)).await;
        let left: Vec<_> = answers.iter().map(|answer| answer.left()).collect();
        let sold = (0..5).rev().map(Some);
        assert_eq!(left, sold.chain([None; 5]).collect::<Vec<_>>());
        assert_eq!(seen.items_of_turns().iter().sum::<u64>(), 10);
    });
}

#[test]
fn an_item_whose_read_fails_fails_alone_when_it_is_looked_at() {
    run(async {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 9");
        let _: () = stack.redis("SET text x");
        let bad = Order {
            orders: "text",
            ..order(1)
        };
        let orders = [order(0), bad, order(2)];
        let outcomes = sale::outcomes(&looking(), &stack.lock("a"), orders).await;
        let error = outcomes[1].as_ref().unwrap_err();
        assert!(
            matches!(error, Error::CommandFailed { index: 1, .. }),
            "{error}"
        );
        assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    });
}

#[test]
fn what_was_never_decided_is_not_unknown() {
    run(async {
        for (sale, passing) in [(GroupCommit::new(Sale), 0), (looking(), 0), (looking(), 1)] {
            let mut stack = Stack::spawn();
            let _: () = stack.redis("SET stock 9");
            // The look, or the acquisition, whose reply never comes.
            let faults = [Pass; 1].into_iter().take(passing);
            let proxy = Proxy::before(&stack, faults.chain([LoseReply; 3])).await;
            // A bridge that is away is waited for, too.
            let lock = proxy.client.lock("a").unwrap().wait(ms(1));
            let error = sale.submit(&lock, order(0)).await.unwrap_err();
            assert_eq!((error.code(), error.is_unknown()), ("unavailable", false));
            // Nobody is kept out by it.
            let answer = sale.submit(&lock, order(1)).await.unwrap();
            assert_eq!(answer.left(), Some(8));
        }
    });
}
