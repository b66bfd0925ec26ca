//! What is true of an order as of a cart: it is sold once, or not at all, whatever gets lost.

use std::sync::Arc;

use crate::observe::HELD;
use crate::support::caller::{Answer, Caller};
use crate::support::meddler::{COMMITS, Meddler, Mischief};
use crate::support::{Stack, at_once};

/// How a unit is bought.
#[derive(Clone, Copy, Debug)]
enum By {
    /// From the sale `x`.
    Order,
    /// One from each of the sales `x` and `y`.
    Cart,
}
use By::{Cart, Order};

impl By {
    async fn buy(self, shop: &Caller, id: &str, buyer: &str, quantity: u64) -> Answer {
        match self {
            Order => shop.order("x", id, buyer, quantity).await,
            Cart => shop.cart(id, buyer, &[("x", quantity), ("y", quantity)]).await,
        }
    }

    #[track_caller]
    fn leaves(self, stack: &Stack, units: u64) {
        let skus: &[_] = if let Cart = self { &["x", "y"] } else { &["x"] };
        for sku in skus {
            let left: u64 = stack.redis().run(&format!("HGET sale:{{{sku}}} remaining"));
            assert_eq!(left, units, "{sku}, by {self:?}");
        }
    }
}

/// Two sales of 2 units each, a Worker whose commits are tampered with, and a Worker before an
/// honest bridge.
async fn meddled(mischief: Mischief) -> (Stack, Arc<Meddler>, Caller, Caller) {
    let mut stack = Stack::start();
    let honest = stack.caller();
    for sku in ["x", "y"] {
        honest.open(sku, 2, 2).await.answers(201);
    }
    let (meddler, meddled) = stack.start_meddled(COMMITS, mischief).await;
    (stack, meddler, meddled, honest)
}

#[tokio::test]
async fn the_same_purchase_at_the_same_time_over_two_workers_is_charged_once() {
    for by in [Order, Cart] {
        let mut stack = Stack::start();
        let workers = [stack.caller(), stack.start_worker()];
        for sku in ["x", "y"] {
            workers[0].open(sku, 9, 9).await.answers(201);
        }
        let ask = |n: usize| {
            let shop = workers[n % 2].clone();
            async move { by.buy(&shop, "o1", "ann", 3).await }
        };
        let answers = at_once((0..8).map(ask)).await;
        let sold = answers.iter().filter(|answer| answer.status == 201);
        assert_eq!(sold.count(), 1, "{answers:?}");
        for answer in &answers {
            assert!([200, 201].contains(&answer.status), "{answer:?}");
            assert_eq!(answer.text, answers[0].text);
        }
        by.leaves(&stack, 6);
    }
}

#[tokio::test]
async fn a_purchase_whose_outcome_got_lost_can_be_sent_again_and_is_charged_once() {
    for by in [Order, Cart] {
        let (stack, _, meddled, honest) = meddled(Mischief::LoseReply).await;
        let answer = by.buy(&meddled, "o1", "ann", 1).await;
        answer.refuses(503, "outcome_unknown").says_when_to_retry();
        by.leaves(&stack, 1);
        by.buy(&honest, "o1", "ann", 1).await.answers(200);
        by.leaves(&stack, 1);
    }
}

#[tokio::test]
async fn a_purchase_that_got_lost_is_not_sold_and_keeps_nobody_out() {
    for by in [Order, Cart] {
        let (stack, _, meddled, honest) = meddled(Mischief::LoseRequest).await;
        let answer = by.buy(&meddled, "o1", "ann", 1).await;
        answer.refuses(503, "outcome_unknown").says_when_to_retry();
        by.leaves(&stack, 2);
        // Long before the ttl ends: the Worker gave the lock back.
        by.buy(&honest, "o2", "bob", 2).await.answers(201);
        by.buy(&honest, "o1", "ann", 1).await.refuses(409, "sold_out");
    }
}

#[tokio::test]
async fn a_purchase_that_got_stuck_on_its_way_does_not_come_late() {
    for by in [Order, Cart] {
        let (stack, meddler, stuck, honest) = meddled(Mischief::Hold).await;
        let answer = by.buy(&stuck, "o1", "ann", 2).await;
        answer.refuses(503, "outcome_unknown").says_when_to_retry();
        stack.until_released("x").await;
        let before = stack.redis().records();
        // Each attempt was held.
        assert!(meddler.deliver().await > 1);
        assert_eq!(stack.redis().records(), before);
        by.buy(&honest, "o2", "bob", 2).await.answers(201);
    }
}

#[tokio::test]
async fn a_purchase_that_lost_a_lock_sells_nothing() {
    for (by, lock) in [(Order, "sale:{x}:lock"), (Cart, "sale:{y}:lock")] {
        let (stack, _, meddled, honest) = meddled(Mischief::ExpireLock(lock)).await;
        let before = stack.redis().records();
        let answer = by.buy(&meddled, "o1", "ann", 1).await;
        let answer = answer.refuses(503, "lock_lost").says_when_to_retry();
        answer.tells("lost", &HELD);
        assert_eq!(stack.redis().records(), before);
        by.buy(&honest, "o1", "ann", 1).await.answers(201);
    }
}

#[tokio::test]
async fn nobody_is_told_of_a_purchase_that_no_replica_has() {
    for by in [Order, Cart] {
        let mut stack = Stack::start();
        let careless = stack.caller();
        for sku in ["x", "y"] {
            careless.open(sku, 2, 2).await.answers(201);
        }
        stack.config = stack.config.clone().bind("WAIT_FOR_REPLICAS", "1");
        // There is no replica.
        let careful = stack.start_worker();
        for _ in 0..2 {
            let answer = by.buy(&careful, "o1", "ann", 1).await;
            answer.refuses(503, "not_replicated").says_when_to_retry();
            // In the second round it is on record.
            by.buy(&careless, "o1", "ann", 1).await;
        }
    }
}
