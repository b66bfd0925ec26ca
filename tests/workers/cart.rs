//! A cart is sold as a whole, or not at all.

use serde_json::json;
use tokio::task::JoinHandle;
use xtask::stack::{Bridge, RedisCluster};

use crate::support::caller::{Answer, Caller};
use crate::support::{Stack, at_once, until};

/// What is left of these sales, as Redis has it.
fn left(stack: &Stack, skus: [&str; 2]) -> [u64; 2] {
    skus.map(|sku| stack.redis().run(&format!("HGET sale:{{{sku}}} remaining")))
}

fn orders_of(stack: &Stack, sku: &str) -> Vec<String> {
    stack.redis().run(&format!("HKEYS sale:{{{sku}}}:orders"))
}

async fn open_both(shop: &Caller, stock: u64) {
    shop.open("x", stock, stock).await.answers(201);
    shop.open("y", stock, stock).await.answers(201);
}

const BOTH: [(&str, u64); 2] = [("x", 1), ("y", 1)];

#[tokio::test]
async fn two_crossing_carts_never_get_half_a_cart() {
    let mut stack = Stack::start();
    let (here, there) = (stack.caller(), stack.start_worker());
    // Many rounds, since it is a matter of luck whether both come at the same instant.
    for round in 1..=30 {
        let (x, y) = (format!("x.{round}"), format!("y.{round}"));
        here.open(&x, 1, 1).await.answers(201);
        here.open(&y, 1, 1).await.answers(201);

        let (one, other) = ([(x.as_str(), 1), (y.as_str(), 1)], [(&*y, 1), (&*x, 1)]);
        let (a, b) = tokio::join!(here.cart("a", "A", &one), there.cart("b", "B", &other));

        let (won, lost, id, sku) = match a.status {
            201 => (a, b, "a", &y),
            _ => (b, a, "b", &x),
        };
        won.answers(201);
        let lost = lost.refuses(409, "sold_out");
        assert_eq!(lost.json["sku"], *sku, "{lost:?}");
        assert_eq!(left(&stack, [&x, &y]), [0, 0]);
        for sku in [&x, &y] {
            assert_eq!(orders_of(&stack, sku), [id]);
        }
    }
}

#[tokio::test]
async fn carts_beside_orders_of_their_sales_never_sell_too_many() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    open_both(&workers[0], 20).await;
    let ask = |n: usize| {
        let shop = workers[n % 2].clone();
        let (id, buyer) = (format!("o{n}"), format!("buyer{n}"));
        async move {
            match n % 3 {
                0 => (shop.cart(&id, &buyer, &BOTH).await, ["x", "y"].to_vec()),
                1 => (shop.order("x", &id, &buyer, 1).await, ["x"].to_vec()),
                _ => (shop.order("y", &id, &buyer, 1).await, ["y"].to_vec()),
            }
        }
    };
    let (mut sold, mut carts) = (Vec::new(), 0);
    for (answer, skus) in at_once((0..90).map(ask)).await {
        if answer.status == 201 {
            carts += usize::from(skus.len() == 2);
            sold.extend(skus);
        } else {
            answer.refuses(409, "sold_out");
        }
    }
    for sku in ["x", "y"] {
        assert_eq!(sold.iter().filter(|sold| **sold == sku).count(), 20, "{sku}");
    }
    assert_eq!(left(&stack, ["x", "y"]), [0, 0]);
    let [of_x, of_y] = ["x", "y"].map(|sku| orders_of(&stack, sku));
    assert_eq!(of_x.iter().filter(|id| of_y.contains(id)).count(), carts);
}

/// Sends a cart with one unit of each sale.
fn send_both(shop: &Caller) -> JoinHandle<Answer> {
    let shop = shop.clone();
    tokio::spawn(async move { shop.cart("o1", "ann", &BOTH).await })
}

async fn until_somebody_waits(stack: &Stack, sku: &str) {
    until(("somebody waits", sku), || async {
        stack.redis().waiters_for(&format!("sale:{{{sku}}}:lock")) == 1
    })
    .await;
}

#[tokio::test]
async fn a_cart_waits_for_whoever_holds_one_of_its_sales_and_holds_no_other_meanwhile() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    open_both(&shop, 2).await;
    redis.run::<()>("SET sale:{y}:lock another PX 20000");
    let waiting = send_both(&shop);
    until_somebody_waits(&stack, "y").await;
    assert!(!redis.run::<bool>("EXISTS sale:{x}:lock"));
    shop.order("x", "o2", "bob", 1).await.answers(201);
    waiting.await.expect("no panic").refuses(503, "lock_held").says_when_to_retry();
    assert_eq!(left(&stack, ["x", "y"]), [1, 2]);
    redis.run::<u64>("DEL sale:{y}:lock");
    shop.cart("o1", "ann", &BOTH).await.answers(201);
    assert_eq!(left(&stack, ["x", "y"]), [0, 1]);
}

#[tokio::test]
async fn the_same_cart_again_gets_the_same_answer_whatever_became_of_its_sales() {
    let mut stack = Stack::start();
    let (shop, other) = (stack.caller(), stack.start_worker());
    open_both(&shop, 5).await;
    let items = [("y", 2), ("x", 1)];
    let first = shop.cart("o1", "ann", &items).await.answers(201);
    let sold = json!([
        {"sku": "y", "quantity": 2, "remaining": 3},
        {"sku": "x", "quantity": 1, "remaining": 4},
    ]);
    assert_eq!(first.json["items"], sold);
    shop.order("x", "o2", "bob", 4).await.answers(201);
    stack.redis().run::<u64>("HSET sale:{y} ends_at_ms 1000");
    for shop in [&shop, &other] {
        let again = shop.cart("o1", "ann", &items).await.answers(200);
        assert_eq!(again.text, first.text);
    }
    assert_eq!(left(&stack, ["x", "y"]), [0, 3]);
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
        open_both(&shop, 3).await;
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
async fn what_is_sold_out_while_a_cart_waits_is_named_and_nothing_is_taken() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    open_both(&shop, 1).await;
    redis.run::<()>("SET sale:{y}:lock another PX 20000");
    let waiting = send_both(&shop);
    until_somebody_waits(&stack, "y").await;
    redis.run::<u64>("HSET sale:{y} remaining 0");
    redis.run::<u64>("DEL sale:{y}:lock");
    let answer = waiting.await.expect("no panic").refuses(409, "sold_out");
    assert_eq!(answer.json["sku"], "y");
    assert_eq!(left(&stack, ["x", "y"]), [1, 0]);
    stack.until_released("x").await;
}

#[tokio::test]
async fn another_order_or_cart_under_the_same_id_is_a_conflict() {
    let stack = Stack::start();
    let shop = stack.caller();
    for sku in ["w", "x", "y", "z"] {
        shop.open(sku, 9, 9).await.answers(201);
    }
    shop.cart("o1", "ann", &BOTH).await.answers(201);
    // Two orders with one id are no cart, and a cart of the same id with other items is another
    // cart.
    shop.order("x", "o2", "ann", 1).await.answers(201);
    shop.order("y", "o2", "ann", 1).await.answers(201);
    shop.cart("o3", "ann", &[("x", 1), ("z", 1)]).await.answers(201);
    shop.cart("o3", "ann", &[("y", 1), ("w", 1)]).await.answers(201);
    for (id, buyer, items) in [
        ("o1", "bob", &BOTH as &[_]),
        ("o1", "ann", &[("x", 1), ("y", 2)]),
        ("o1", "ann", &[("x", 1)]),
        ("o1", "ann", &[("x", 1), ("z", 1)]),
        ("o1", "ann", &[("x", 1), ("y", 1), ("z", 1)]),
        ("o2", "ann", &BOTH),
        ("o3", "ann", &BOTH),
    ] {
        shop.cart(id, buyer, items).await.refuses(409, "order_conflict");
    }
    shop.order("x", "o1", "ann", 1).await.refuses(409, "order_conflict");
    assert_eq!(left(&stack, ["x", "y"]), [6, 6]);
}

#[tokio::test]
async fn a_cart_of_32_is_three_requests_to_the_bridge_and_one_if_nothing_is_sold() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    let skus: Vec<_> = (0..32).map(|n| format!("s{n}")).collect();
    for sku in &skus {
        shop.open(sku, 1, 1).await.answers(201);
    }
    let items: Vec<_> = skus.iter().map(|sku| (sku.as_str(), 1)).collect();
    for (id, status, requests) in [("o1", 201, 3), ("o1", 200, 1)] {
        let before = redis.scripts_run();
        shop.cart(id, "ann", &items).await.answers(status);
        assert_eq!(redis.scripts_run() - before, requests);
    }
    // The Worker learns in the background which others come too late.
    until("it is remembered", || async {
        let before = stack.redis().scripts_run();
        let refused = shop.cart("o2", "bob", &items).await;
        assert_eq!(refused.refuses(409, "sold_out").json["sku"], "s0");
        stack.redis().scripts_run() == before
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
    let cart = send_both(&shop);
    until_somebody_waits(&stack, "y").await;
    // Each order that gives the one sale back tells the cart to ask, while the other sale is held.
    for n in 1.. {
        let (order, buyer) = (format!("o{n}"), format!("b{n}"));
        shop.order("y", &order, &buyer, 1).await.answers(201);
        if cart.is_finished() {
            break;
        }
    }
    cart.await.expect("no panic").refuses(503, "lock_held");
    let mut requests = None;
    until("its wait is logged", || {
        let logged = stack.logged();
        let wait = logged.iter().find(|line| line["event"] == "gave_up");
        requests = wait.and_then(|line| line["requests"].as_u64());
        async move { requests.is_some() }
    })
    .await;
    // Up to nine requests are sent before the cart's own, and after them.
    assert!(requests.is_some_and(|requests| requests <= 28), "{requests:?}");
}

#[tokio::test]
async fn on_a_cluster_a_cart_whose_sales_lie_apart_is_refused_and_told_why() {
    let cluster = RedisCluster::start();
    let bridge = Bridge::options().cluster(cluster.url()).start();
    let mut stack = Stack::behind(bridge.expect("a bridge"));
    let shop = stack.start_worker();
    open_both(&shop, 2).await;
    let answer = shop.cart("o1", "ann", &BOTH).await.refuses(422, "skus_apart");
    assert!(answer.json["detail"].to_string().contains("cluster"));
    for sku in ["x", "y"] {
        assert_eq!(shop.sale(sku).await.answers(200).number("sold"), 0);
        shop.order(sku, "o1", "ann", 1).await.answers(201);
    }
    shop.cart("o2", "ann", &[("x", 1)]).await.answers(201);
}
