//! A cart is sold as a whole, or not at all.

use std::collections::BTreeSet;

use serde_json::json;
use testkit::stack::{Bridge, RedisCluster};
use testkit::worker_build::SALE;

use crate::support::{Stack, at_once, until};

const BOTH: [(&str, u64); 2] = [("x", 1), ("y", 1)];

/// Every other cart has its items in the other order.
#[tokio::test]
async fn crossing_carts_beside_orders_never_sell_too_many_nor_half_a_cart() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    // Many rounds, since it is a matter of luck who comes at the same instant.
    for round in 0..10 {
        let [x, y] = ["x", "y"].map(|sku| format!("{sku}.{round}"));
        workers[0].open_all(&[&x, &y], 5, 1).await;
        let kind = |n: usize| n / 2 % 4;
        let asks = (0..24).map(|n| {
            let (shop, id) = (&workers[n % 2], format!("o{n}"));
            match kind(n) {
                0 => shop.order(&x, &id, &id, 1),
                1 => shop.order(&y, &id, &id, 1),
                2 => shop.cart(&id, &id, &[(&x, 1), (&y, 1)]),
                _ => shop.cart(&id, &id, &[(&y, 1), (&x, 1)]),
            }
        });
        let mut sold = Vec::new();
        for (n, answer) in at_once(asks).await.into_iter().enumerate() {
            match answer.status {
                201 => sold.push(n),
                _ => drop(answer.refuses(409, "sold_out")),
            }
        }
        for (sku, others) in [(&x, 1), (&y, 0)] {
            let told = sold.iter().filter(|n| kind(**n) != others).map(|n| format!("o{n}"));
            let orders: BTreeSet<String> =
                stack.redis().run(&format!("HKEYS sale:{{{sku}}}:orders"));
            assert_eq!(orders, told.collect());
            assert_eq!((orders.len(), stack.left(sku)), (5, 0));
        }
    }
}

async fn until_somebody_waits(stack: &Stack, sku: &str) {
    let lock = format!("sale:{{{sku}}}:lock");
    until(("somebody waits", sku), async || stack.redis().waiters_for(&lock) == 1).await;
}

#[tokio::test]
async fn a_cart_waits_for_whoever_holds_one_of_its_sales_and_keeps_nobody_from_the_others() {
    let stack = Stack::selling(&["x", "y"], 2, 2).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    redis.run::<()>("SET sale:{y}:lock another PX 20000");
    let waiting = tokio::spawn(shop.cart("o1", "ann", &BOTH));
    until_somebody_waits(&stack, "y").await;
    assert!(!redis.run::<bool>("EXISTS sale:{x}:lock"));
    shop.order("x", "o2", "bob", 1).await.answers(201);
    // What is sold out meanwhile is named, and nothing is taken.
    redis.run::<u64>("HSET sale:{y} remaining 0");
    redis.run::<u64>("DEL sale:{y}:lock");
    let answer = waiting.await.expect("no panic").refuses(409, "sold_out");
    assert_eq!(answer.json["sku"], "y");
    assert_eq!(["x", "y"].map(|sku| stack.left(sku)), [1, 0]);
    stack.until_released("x").await;
}

#[tokio::test]
async fn a_cart_is_refused_because_of_one_item_which_it_names_and_takes_nothing() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    for (spoil, wanted, status, code) in [
        ("HSET sale:{y} remaining 1", 2, 409, "not_enough_left"),
        ("HSET sale:{y}:buyers ann 2", 2, 409, "limit_reached"),
        ("HSET sale:{y} ends_at_ms 1000", 1, 410, "sale_over"),
        ("HSET sale:{y}:orders o1 nonsense", 1, 500, "corrupt_record"),
        ("DEL sale:{y}", 1, 404, "no_such_sale"),
        // This comes last, since the Worker remembers that a sale is sold out.
        ("HSET sale:{y} remaining 0", 1, 409, "sold_out"),
    ] {
        redis.run::<()>("FLUSHALL");
        shop.open_all(&["x", "y"], 3, 3).await;
        redis.run::<u64>(spoil);
        let before = redis.dump();
        let answer = shop.cart("o1", "ann", &[("x", 1), ("y", wanted)]).await;
        let answer = answer.refuses(status, code);
        assert_eq!(answer.json["sku"], "y", "{answer:?}");
        // The Worker took no lock for it.
        assert_eq!(redis.dump(), before, "{spoil}");
    }
}

#[tokio::test]
async fn the_same_cart_again_gets_the_same_answer_and_another_one_under_its_id_is_a_conflict() {
    let mut stack = Stack::selling(&["w", "x", "y", "z"], 9, 9).await;
    let (shop, other) = (stack.caller(), stack.start_worker());
    let items = [("y", 2), ("x", 1)];
    let first = shop.cart("o1", "ann", &items).await.answers(201);
    let sold = json!([
        {"sku": "y", "quantity": 2, "remaining": 7},
        {"sku": "x", "quantity": 1, "remaining": 8},
    ]);
    assert_eq!(first.json["items"], sold);
    // Two orders with one id are no cart, and a cart of the same id with other items is another
    // cart.
    shop.order("x", "o2", "ann", 1).await.answers(201);
    shop.order("y", "o2", "ann", 1).await.answers(201);
    shop.cart("o3", "ann", &[("x", 1), ("z", 1)]).await.answers(201);
    shop.cart("o3", "ann", &[("y", 1), ("w", 1)]).await.answers(201);
    for (id, buyer, items) in [
        ("o1", "bob", &items as &[_]),
        ("o1", "ann", &BOTH),
        ("o1", "ann", &[("y", 2)]),
        ("o1", "ann", &[("y", 2), ("z", 1)]),
        ("o1", "ann", &[("y", 2), ("x", 1), ("z", 1)]),
        ("o2", "ann", &BOTH),
        ("o3", "ann", &BOTH),
    ] {
        shop.cart(id, buyer, items).await.refuses(409, "order_conflict");
    }
    shop.order("x", "o1", "ann", 1).await.refuses(409, "order_conflict");
    stack.redis().run::<u64>("HSET sale:{y} ends_at_ms 1000");
    for shop in [shop, other] {
        assert_eq!(shop.cart("o1", "ann", &items).await.answers(200).text, first.text);
    }
    assert_eq!(["x", "y"].map(|sku| stack.left(sku)), [6, 5]);
}

#[tokio::test]
async fn a_cart_of_32_is_three_requests_to_the_bridge_and_one_if_nothing_is_sold() {
    let skus: Vec<_> = (0..32).map(|n| format!("s{n}")).collect();
    let stack = Stack::selling(&skus, 1, 1).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    let items: Vec<_> = skus.iter().map(|sku| (sku.as_str(), 1)).collect();
    for (status, requests) in [(201, 3), (200, 1)] {
        let before = redis.scripts_run();
        shop.cart("o1", "ann", &items).await.answers(status);
        assert_eq!(redis.scripts_run() - before, requests);
    }
    // The Worker learns in the background which others come too late.
    until("it is remembered", async || {
        let before = redis.scripts_run();
        let refused = shop.cart("o2", "bob", &items).await;
        assert_eq!(refused.refuses(409, "sold_out").json["sku"], "s0");
        redis.scripts_run() == before
    })
    .await;
    shop.cart("o1", "ann", &items).await.answers(200);
}

#[tokio::test]
async fn a_cart_is_forty_requests_at_most_however_often_it_is_told_to_ask() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    shop.open("x", 1, 1).await.answers(201);
    shop.open("y", 100_000, 1).await.answers(201);
    redis.run::<()>("SET sale:{x}:lock another PX 20000");
    let cart = tokio::spawn(shop.cart("o1", "ann", &BOTH));
    until_somebody_waits(&stack, "y").await;
    // Each order that gives the one sale back tells the cart to ask, while the other sale is held.
    for n in (1..).take_while(|_| !cart.is_finished()) {
        shop.order("y", &format!("o{n}"), &format!("b{n}"), 1).await.answers(201);
    }
    cart.await.expect("no panic").refuses(503, "lock_held");
    // Up to nine requests are sent before the cart's own, and after them.
    until("its wait is logged, of 28 requests at most", async || {
        let waits = stack.logged_of("gave_up");
        waits.iter().any(|wait| wait["requests"].as_u64().is_some_and(|requests| requests <= 28))
    })
    .await;
}

/// An order there shows that all keys of a sale lie together.
#[tokio::test]
async fn on_a_cluster_a_cart_whose_sales_lie_apart_is_refused_and_told_why() {
    let cluster = RedisCluster::start();
    let bridge = Bridge::options().cluster(cluster.url()).start();
    let stack = Stack::behind(bridge.expect("a bridge"), SALE);
    let shop = stack.caller();
    shop.open_all(&["x", "y"], 2, 2).await;
    let answer = shop.cart("o1", "ann", &BOTH).await.refuses(422, "skus_apart");
    assert!(answer.json["detail"].to_string().contains("cluster"));
    for sku in ["x", "y"] {
        assert_eq!(shop.sale(sku).await.answers(200).number("sold"), 0);
        shop.order(sku, "o1", "ann", 1).await.answers(201);
    }
    shop.cart("o2", "ann", &[("x", 1)]).await.answers(201);
}
