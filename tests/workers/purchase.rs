//! What is true of an order as of a cart: it is sold once, or not at all, whatever gets lost.

use crate::observe::HELD;
use crate::support::caller::{Asking, Caller};
use crate::support::meddler::{COMMITS, Mischief};
use crate::support::{Stack, at_once};

/// An order of one sale, and a cart of two.
const EACH: [&[&str]; 2] = [&["x"], &["x", "y"]];

/// Buys so many units of each of these.
fn buy(shop: &Caller, skus: &[&str], id: &str, buyer: &str, quantity: u64) -> Asking {
    match skus {
        [sku] => shop.order(sku, id, buyer, quantity),
        skus => {
            let items: Vec<_> = skus.iter().map(|sku| (*sku, quantity)).collect();
            shop.cart(id, buyer, &items)
        }
    }
}

#[track_caller]
fn leaves(stack: &Stack, skus: &[&str], units: u64) {
    for sku in skus {
        assert_eq!(stack.left(sku), units, "{sku} of {skus:?}");
    }
}

#[tokio::test]
async fn the_same_purchase_at_the_same_time_over_two_workers_is_charged_once() {
    for skus in EACH {
        let mut stack = Stack::selling(&["x", "y"], 9, 9).await;
        let workers = [stack.caller(), stack.start_worker()];
        let asks = (0..8).map(|n| buy(&workers[n % 2], skus, "o1", "ann", 3));
        let answers = at_once(asks).await;
        let sold = answers.iter().filter(|answer| answer.status == 201);
        assert_eq!(sold.count(), 1, "{answers:?}");
        for answer in &answers {
            assert!([200, 201].contains(&answer.status), "{answer:?}");
            assert_eq!(answer.text, answers[0].text);
        }
        leaves(&stack, skus, 6);
    }
}

#[tokio::test]
async fn a_purchase_that_goes_wrong_is_charged_once_or_not_at_all_and_keeps_nobody_out() {
    for (skus, lock) in EACH.into_iter().zip(["sale:{x}:lock", "sale:{y}:lock"]) {
        // What goes wrong, what the buyer is told, and how many of two units are left.
        for (mischief, code, left) in [
            (Mischief::LoseReply, "outcome_unknown", 1),
            (Mischief::Hold, "outcome_unknown", 2),
            (Mischief::ExpireLock(lock), "lock_lost", 2),
        ] {
            println!("{skus:?}, {mischief:?}");
            let mut stack = Stack::selling(&["x", "y"], 2, 2).await;
            let (meddler, meddled) = stack.meddled(COMMITS, mischief).await;
            let answer = buy(&meddled, skus, "o1", "ann", 1).await.refuses(503, code);
            if code == "lock_lost" {
                answer.tells("lost", &HELD);
            }
            leaves(&stack, skus, left);
            stack.until_released("x").await;
            // What got stuck on its way does not come late. Each attempt did.
            let before = stack.redis().records();
            let came_late = meddler.deliver().await;
            assert_eq!(came_late > 1, matches!(mischief, Mischief::Hold));
            assert_eq!(stack.redis().records(), before);

            buy(&stack.caller(), skus, "o2", "bob", 1).await.answers(201);
            let again = if left == 1 { 200 } else { 201 };
            buy(&stack.caller(), skus, "o1", "ann", 1).await.answers(again);
            leaves(&stack, skus, 0);
        }
    }
}

#[tokio::test]
async fn nobody_is_told_of_a_purchase_that_no_replica_has() {
    for skus in EACH {
        let mut stack = Stack::selling(&["x", "y"], 2, 2).await;
        // There is no replica.
        let careful = stack.start_with(stack.config.clone().bind("WAIT_FOR_REPLICAS", "1"));
        for _ in 0..2 {
            buy(&careful, skus, "o1", "ann", 1).await.refuses(503, "not_replicated");
            // In the second round it is on record.
            buy(&stack.caller(), skus, "o1", "ann", 1).await;
        }
    }
}
