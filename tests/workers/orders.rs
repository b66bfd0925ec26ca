//! An order is sold once or not at all, and no more is sold than there is.

use std::collections::HashMap;

use serde_json::json;

use crate::support::caller::Answer;
use crate::support::{Stack, at_once, until};

fn sold(answers: &[Answer]) -> u64 {
    let sold = answers.iter().filter(|answer| answer.status == 201);
    sold.map(|answer| answer.number("quantity")).sum()
}

#[tokio::test]
async fn of_two_hair_dryers_never_three_are_sold() {
    let mut stack = Stack::start();
    let (here, there) = (stack.caller(), stack.start_worker());
    // Many rounds, since it is a matter of luck whether both come at the same instant.
    for sku in (1..=20).map(|round| format!("hair-dryer.{round}")) {
        here.open(&sku, 2, 2).await.answers(201);
        let wishes = [(&here, "a1", "A", 1), (&there, "b1", "B", 2)];
        let wishes = wishes.map(|(at, id, buyer, quantity)| {
            at.clone().orders(sku.clone(), id.to_owned(), buyer.to_owned(), quantity)
        });
        let answers = at_once(wishes).await;

        let outcomes: Vec<_> =
            answers.iter().map(|answer| (answer.status, &answer.json["code"])).collect();
        let a_first = [(201, &json!(null)), (409, &json!("not_enough_left"))];
        let b_first = [(409, &json!("sold_out")), (201, &json!(null))];
        assert!(outcomes == a_first || outcomes == b_first, "{answers:?}");
        let sale = here.sale(&sku).await.answers(200);
        assert_eq!(sale.number("sold"), sold(&answers), "{sale:?}");
    }
}

#[tokio::test]
async fn of_five_buyers_at_the_same_instant_two_get_the_two_units() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    workers[0].open("42", 2, 1).await.answers(201);
    let wishes = (0..5).map(|n| {
        let at = workers[n % 2].clone();
        at.orders("42".to_owned(), format!("o{n}"), format!("buyer{n}"), 1)
    });
    let answers = at_once(wishes).await;
    assert_eq!(sold(&answers), 2, "{answers:?}");
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.refuses(409, "sold_out");
    }
    let mut redis = stack.redis();
    assert_eq!(redis.run::<u64>("HGET sale:{42} remaining"), 0);
    assert_eq!(redis.run::<u64>("HLEN sale:{42}:orders"), 2);
    assert_eq!(redis.run::<u64>("HLEN sale:{42}:buyers"), 2);
}

/// One order after another. What is sold has a higher fence than what was sold before; sent again,
/// it gets the same answer.
#[tokio::test]
async fn each_order_is_answered_by_what_was_sold_before_it() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 8, 3).await.answers(201);
    let (mut first, mut last_fence) = (HashMap::new(), 0);
    for (id, buyer, quantity, status, told) in [
        ("o1", "ann", 2, 201, ("remaining", json!(6))),
        ("o2", "bob", 3, 201, ("remaining", json!(3))),
        ("o1", "ann", 2, 200, ("remaining", json!(6))),
        ("o1", "ann", 1, 409, ("code", json!("order_conflict"))),
        ("o1", "bob", 2, 409, ("code", json!("order_conflict"))),
        ("o3", "ann", 2, 409, ("code", json!("limit_reached"))),
        ("o3", "ann", 2, 409, ("bought", json!(2))),
        ("o3", "ann", 1, 201, ("remaining", json!(2))),
        ("o4", "cid", 3, 409, ("code", json!("not_enough_left"))),
        ("o4", "cid", 3, 409, ("remaining", json!(2))),
        ("o4", "cid", 2, 201, ("remaining", json!(0))),
        ("o5", "dan", 1, 409, ("code", json!("sold_out"))),
        ("o5", "dan", 1, 409, ("remaining", json!(0))),
    ] {
        let answer = shop.order("42", id, buyer, quantity).await.answers(status);
        assert_eq!(answer.json[told.0], told.1, "{answer:?}");
        match status {
            201 => {
                assert!(answer.number("fence") > last_fence, "{answer:?}");
                last_fence = answer.number("fence");
                first.insert(id, answer.text);
            }
            200 => assert_eq!(answer.text, first[id]),
            _ => {}
        }
    }
    assert_eq!(shop.sale("42").await.number("sold"), 8);
}

#[tokio::test]
async fn a_sale_that_is_over_sells_no_more_but_knows_what_it_sold() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 9, 9).await.answers(201);
    let sold = shop.order("42", "o1", "ann", 1).await.answers(201);
    stack.redis().run::<u64>("HSET sale:{42} ends_at_ms 1000");
    shop.order("42", "o2", "ann", 1).await.refuses(410, "sale_over");
    let again = shop.order("42", "o1", "ann", 1).await.answers(200);
    assert_eq!(again.text, sold.text);
    let sale = shop.sale("42").await.answers(200);
    assert_eq!((sale.number("remaining"), &sale.json["open"]), (8, &json!(false)));
}

#[tokio::test]
async fn an_order_is_three_requests_to_the_bridge_and_one_if_nothing_is_sold() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    shop.open("42", 1, 1).await.answers(201);
    let before = redis.scripts_run();
    shop.order("42", "o1", "ann", 1).await.answers(201);
    assert_eq!(redis.scripts_run() - before, 3);
    // The first order after one that was sold waits for a turn, while the sale is looked at.
    until("an order is one request", || async {
        let before = stack.redis().scripts_run();
        shop.order("42", "o1", "ann", 1).await.answers(200);
        stack.redis().scripts_run() - before == 1
    })
    .await;
}
