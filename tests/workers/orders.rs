//! An order is sold once or not at all, and no more is sold than there is. Orders that wait at the
//! same time share turns of the lock, and each gets an answer of its own.

use std::collections::{BTreeSet, HashMap};

use serde_json::json;

use crate::support::caller::Answer;
use crate::support::{Stack, at_once, until};

#[tokio::test]
async fn of_two_hair_dryers_never_three_are_sold() {
    let mut stack = Stack::start();
    let (here, there) = (stack.caller(), stack.start_worker());
    // Many rounds, since it is a matter of luck whether both come at the same instant.
    for sku in (1..=20).map(|round| format!("hair-dryer.{round}")) {
        here.open(&sku, 2, 2).await.answers(201);
        let asks = [here.order(&sku, "a1", "A", 1), there.order(&sku, "b1", "B", 2)];
        let outcome = |answer: Answer| (answer.status, answer.json["code"].clone());
        let outcomes: Vec<_> = at_once(asks).await.into_iter().map(outcome).collect();
        let a_first = [(201, json!(null)), (409, json!("not_enough_left"))];
        let b_first = [(409, json!("sold_out")), (201, json!(null))];
        assert!(outcomes == a_first || outcomes == b_first, "{outcomes:?}");
        let sold = if outcomes == a_first { 1 } else { 2 };
        assert_eq!(here.sale(&sku).await.answers(200).number("sold"), sold);
    }
}

/// One order after another; each is refused for the first of several reasons. What is sold was sold
/// in a later turn than what was sold before. Sent again, it gets the same answer, also when the
/// sale is over.
#[tokio::test]
async fn each_order_is_answered_by_what_was_sold_before_it() {
    let stack = Stack::selling(&["42"], 8, 3).await;
    let shop = stack.caller();
    let (mut first, mut turn) = (HashMap::new(), 9);
    for (id, buyer, quantity, status, told) in [
        ("o1", "ann", 2, 201, ("remaining", json!(6))),
        ("o2", "bob", 3, 201, ("remaining", json!(3))),
        ("o1", "ann", 2, 200, ("remaining", json!(6))),
        ("o1", "ann", 1, 409, ("code", json!("order_conflict"))),
        ("o1", "bob", 2, 409, ("code", json!("order_conflict"))),
        ("o3", "ann", 2, 409, ("code", json!("limit_reached"))),
        ("o3", "ann", 2, 409, ("bought", json!(2))),
        ("o3", "ann", 1, 201, ("remaining", json!(2))),
        ("o4", "bob", 3, 409, ("code", json!("not_enough_left"))),
        ("o4", "bob", 3, 409, ("remaining", json!(2))),
        ("o4", "cid", 2, 201, ("remaining", json!(0))),
        ("o5", "ann", 1, 409, ("code", json!("sold_out"))),
        ("o5", "ann", 1, 409, ("remaining", json!(0))),
    ] {
        let answer = shop.order("42", id, buyer, quantity).await.answers(status);
        assert_eq!(answer.json[told.0], told.1, "{answer:?}");
        match status {
            201 => {
                assert!(answer.number("turn") < turn, "{answer:?}");
                turn = answer.number("turn");
                first.insert(id, answer.text);
            }
            200 => assert_eq!(answer.text, first[id]),
            _ => {}
        }
    }
    stack.redis().run::<u64>("HSET sale:{42} ends_at_ms 1000");
    assert_eq!(shop.order("42", "o1", "ann", 2).await.answers(200).text, first["o1"]);
    let sale = shop.sale("42").await.answers(200);
    assert_eq!((sale.number("sold"), &sale.json["open"]), (8, &json!(false)));
}

#[tokio::test]
async fn a_hundred_orders_at_once_share_turns_and_each_is_answered() {
    let stack = Stack::selling(&["42"], 60, 1).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    let before = redis.scripts_run();
    let orders = (0..100).map(|n| shop.order("42", &format!("o{n}"), &format!("b{n}"), 1));
    let mut left = BTreeSet::new();
    for answer in at_once(orders).await {
        if answer.status == 201 {
            left.insert(answer.number("remaining"));
        } else {
            answer.refuses(409, "sold_out");
        }
    }
    assert_eq!(left, (0..60).collect());
    // One request for each look, and two for each turn.
    let requests = redis.scripts_run() - before;
    assert!(requests < 60, "{requests} requests");
    let logged = || stack.logged_of("grouped").into_iter();
    let orders_of_turns = || logged().filter_map(|turn| turn["items"].as_u64());
    until("turns are logged", async || orders_of_turns().sum::<u64>() >= 60).await;
    assert!(orders_of_turns().any(|orders| orders > 5), "{:?}", stack.logged_of("grouped"));
}

#[tokio::test]
async fn an_order_that_cannot_succeed_waits_for_nobody() {
    let stack = Stack::selling(&["42", "43"], 1, 1).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    for sku in ["42", "43"] {
        shop.order(sku, "o1", "ann", 1).await.answers(201);
        redis.run::<()>(&format!("SET sale:{{{sku}}}:lock another PX 60000"));
    }
    let before = redis.scripts_run();
    shop.order("42", "o1", "ann", 1).await.answers(200);
    redis.run::<()>("HSET sale:{42} ends_at_ms 1000");
    for (sku, status, code) in
        [("42", 410, "sale_over"), ("44", 404, "no_such_sale"), ("43", 409, "sold_out")]
    {
        shop.order(sku, "o2", "bob", 1).await.refuses(status, code);
    }
    // Each order looks. Where turns were taken lately, three wait for one before that: they ask
    // twice without the lock, stand in the queue, and leave it. And two requests are sent for what
    // is remembered.
    assert!(redis.scripts_run() - before <= 4 + 3 * 4 + 2);
}

#[tokio::test]
async fn an_order_is_three_requests_one_behind_another_and_none_if_it_is_too_late() {
    let stack = Stack::selling(&["42"], 2, 1).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    let before = redis.scripts_run();
    shop.order("42", "o1", "ann", 1).await.answers(201);
    assert_eq!(redis.scripts_run() - before, 3);
    shop.order("42", "o2", "bob", 1).await.answers(201);
    assert_eq!(redis.scripts_run() - before, 4);
    until("what is sold out is known", async || {
        let before = redis.scripts_run();
        shop.order("42", "o3", "cid", 1).await.refuses(409, "sold_out");
        redis.scripts_run() == before
    })
    .await;
    let before = redis.scripts_run();
    for n in 4..20 {
        shop.order("42", &format!("o{n}"), "dan", 1).await.refuses(409, "sold_out");
    }
    assert_eq!(redis.scripts_run(), before);
    // Shortly after turns, an order has one.
    until("an order on record is one request", async || {
        let before = redis.scripts_run();
        shop.order("42", "o1", "ann", 1).await.answers(200);
        redis.scripts_run() - before == 1
    })
    .await;
    shop.order("42", "o2", "ann", 1).await.refuses(409, "order_conflict");
    // Changes that somebody makes in Redis by hand are noticed soon.
    redis.run::<()>("HSET sale:{42} remaining 1");
    let sells = async || shop.order("42", "o3", "cid", 1).await.status == 201;
    until("a unit that was given back is sold", sells).await;
}
