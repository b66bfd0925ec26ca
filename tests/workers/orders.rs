//! An order is sold once or not at all, and no more is sold than there is.

use serde_json::json;

use crate::support::caller::{Answer, Caller};
use crate::support::{Stack, until};

/// An order, and the Worker that gets it.
struct Wish {
    at: Caller,
    order_id: String,
    buyer: String,
    quantity: u64,
}

impl Wish {
    fn new(at: &Caller, order_id: impl ToString, buyer: impl ToString, quantity: u64) -> Self {
        Self {
            at: at.clone(),
            order_id: order_id.to_string(),
            buyer: buyer.to_string(),
            quantity,
        }
    }
}

/// Sends all of them at once, and returns the answers in the same order.
async fn at_once(sku: &str, wishes: impl IntoIterator<Item = Wish>) -> Vec<Answer> {
    let ask = |wish: Wish| {
        let sku = sku.to_owned();
        let Wish {
            at,
            order_id,
            buyer,
            quantity,
        } = wish;
        tokio::spawn(async move { at.order(&sku, &order_id, &buyer, quantity).await })
    };
    let asked: Vec<_> = wishes.into_iter().map(ask).collect();
    let mut answers = Vec::new();
    for answer in asked {
        answers.push(answer.await.expect("no panic"));
    }
    answers
}

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
        let wishes = [
            Wish::new(&here, "a1", "A", 1),
            Wish::new(&there, "b1", "B", 2),
        ];
        let answers = at_once(&sku, wishes).await;

        let outcomes: Vec<_> = answers
            .iter()
            .map(|answer| (answer.status, &answer.json["code"]))
            .collect();
        let a_first = [(201, &json!(null)), (409, &json!("not_enough_left"))];
        let b_first = [(409, &json!("sold_out")), (201, &json!(null))];
        assert!(outcomes == a_first || outcomes == b_first, "{answers:?}");
        let sale = here.sale(&sku).await.answers(200);
        assert_eq!(sale.number("sold"), sold(&answers), "{sale:?}");
    }
}

#[tokio::test]
async fn whoever_wants_more_than_is_left_is_told_how_many_there_are() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 2, 2).await.answers(201);
    let answer = shop.order("42", "a1", "A", 1).await.answers(201);
    assert_eq!(answer.number("remaining"), 1);
    let answer = shop
        .order("42", "b1", "B", 2)
        .await
        .refuses(409, "not_enough_left");
    assert_eq!(answer.number("remaining"), 1);
    shop.order("42", "b2", "B", 1).await.answers(201);
    let answer = shop
        .order("42", "c1", "C", 1)
        .await
        .refuses(409, "sold_out");
    assert_eq!(answer.number("remaining"), 0);
}

#[tokio::test]
async fn of_five_buyers_at_the_same_instant_two_get_the_two_units() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    workers[0].open("42", 2, 1).await.answers(201);

    let wishes = workers.iter().cycle().zip(1..=5);
    let wishes = wishes.map(|(at, n)| Wish::new(at, format!("o{n}"), format!("buyer{n}"), 1));
    let answers = at_once("42", wishes).await;

    assert_eq!(sold(&answers), 2, "{answers:?}");
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.refuses(409, "sold_out");
    }
    let mut redis = stack.redis();
    assert_eq!(redis.run::<u64>("HGET sale:{42} remaining"), 0);
    assert_eq!(redis.run::<u64>("HLEN sale:{42}:orders"), 2);
    assert_eq!(redis.run::<u64>("HLEN sale:{42}:buyers"), 2);
}

#[tokio::test]
async fn later_orders_have_higher_fences() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 3, 3).await.answers(201);
    let mut last = 0;
    for order in ["o1", "o2", "o3"] {
        let fence = shop
            .order("42", order, "ann", 1)
            .await
            .answers(201)
            .number("fence");
        assert!(fence > last, "{fence} after {last}");
        last = fence;
    }
}

#[tokio::test]
async fn the_same_order_again_gets_the_same_answer_and_is_charged_once() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 5, 5).await.answers(201);
    let first = shop.order("42", "o1", "ann", 2).await.answers(201);
    shop.order("42", "o2", "bob", 1).await.answers(201);
    let again = shop.order("42", "o1", "ann", 2).await.answers(200);
    assert_eq!(again.text, first.text);
    assert_eq!(shop.sale("42").await.number("remaining"), 2);
}

#[tokio::test]
async fn the_same_order_at_the_same_time_over_two_workers_is_charged_once() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    workers[0].open("42", 9, 9).await.answers(201);

    let wishes = workers.iter().cycle().take(8);
    let answers = at_once("42", wishes.map(|at| Wish::new(at, "o1", "ann", 3))).await;

    assert_eq!(sold(&answers), 3, "{answers:?}");
    for answer in &answers {
        assert!([200, 201].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.text, answers[0].text);
    }
    assert_eq!(stack.caller().sale("42").await.number("remaining"), 6);
}

#[tokio::test]
async fn another_order_under_the_same_id_is_a_conflict() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 5, 5).await.answers(201);
    shop.order("42", "o1", "ann", 1).await.answers(201);
    shop.order("42", "o1", "ann", 2)
        .await
        .refuses(409, "order_conflict");
    shop.order("42", "o1", "bob", 1)
        .await
        .refuses(409, "order_conflict");
    assert_eq!(shop.sale("42").await.number("remaining"), 4);
}

#[tokio::test]
async fn a_buyer_gets_no_more_than_the_limit() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 9, 3).await.answers(201);
    shop.order("42", "o1", "ann", 2).await.answers(201);
    let answer = shop
        .order("42", "o2", "ann", 2)
        .await
        .refuses(409, "limit_reached");
    assert_eq!(answer.number("bought"), 2);
    shop.order("42", "o3", "ann", 1).await.answers(201);
    shop.order("42", "o4", "ann", 1)
        .await
        .refuses(409, "limit_reached");
    shop.order("42", "o5", "bob", 3).await.answers(201);
    assert_eq!(shop.sale("42").await.number("remaining"), 3);
}

#[tokio::test]
async fn a_sale_that_is_over_sells_no_more_but_knows_what_it_sold() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 9, 9).await.answers(201);
    let sold = shop.order("42", "o1", "ann", 1).await.answers(201);
    stack.redis().run::<u64>("HSET sale:{42} ends_at_ms 1000");
    shop.order("42", "o2", "ann", 1)
        .await
        .refuses(410, "sale_over");
    let again = shop.order("42", "o1", "ann", 1).await.answers(200);
    assert_eq!(again.text, sold.text);
    let sale = shop.sale("42").await.answers(200);
    assert_eq!(
        (sale.number("remaining"), &sale.json["open"]),
        (8, &json!(false))
    );
}

#[tokio::test]
async fn there_is_nothing_to_order_without_a_sale() {
    let stack = Stack::start();
    stack
        .caller()
        .order("42", "o1", "ann", 1)
        .await
        .refuses(404, "no_such_sale");
    assert_eq!(stack.redis().records(), []);
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
