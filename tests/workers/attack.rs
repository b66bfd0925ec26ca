//! What an anonymous customer can do to other customers, and to Redis.

pub(crate) mod crowd;

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::caller::HangUp;
use crate::support::{Stack, at_once, until};

/// So many, or a multiple if `cargo xtask attack` asks for it.
pub(crate) fn many(count: u32) -> u32 {
    let times = std::env::var("EDGELOCK_ATTACK").ok();
    count * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[tokio::test]
async fn orders_of_what_is_not_there_leave_nothing_in_redis() {
    let stack = Stack::start();
    // A look that is late becomes a turn, whose lock leaves its last fence: so not all at once.
    for round in 0..many(10) {
        let skus = (0..20).map(|n| format!("none-{}", 20 * round + n));
        for answer in at_once(skus.map(|sku| stack.caller().order(&sku, "o", "b", 1))).await {
            answer.refuses(404, "no_such_sale");
        }
    }
    assert_eq!(stack.redis().dump(), []);
}

/// The order leaves the line with its buyer, so nothing is sold to nobody.
#[tokio::test]
async fn an_order_whose_buyer_hangs_up_before_its_turn_begins_is_not_placed() {
    let stack = Stack::selling(&["42"], 1_000, 1).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    redis.run::<()>("SET sale:{42}:lock another PX 3600000");
    let first = tokio::spawn(shop.order("42", "first", "first", 1));
    until("it waits for the lock", async || !stack.logged_of("contended").is_empty()).await;
    let mut ordered = Vec::new();
    for n in 0..many(100) {
        let order = format!(r#"{{"order_id":"a{n}","buyer":"a{n}","quantity":1}}"#);
        let order = format!("POST /sales/42/orders {order}");
        ordered.push(shop.to_hang_up(HangUp::Reset, &order).await);
    }
    drop(ordered);
    // Once it has answered later requests, the Worker has noticed.
    for _ in 0..20 {
        shop.sale("42").await.answers(200);
    }
    redis.run::<()>("DEL sale:{42}:lock");
    first.await.expect("no panic").answers(201);
    shop.order("42", "last", "last", 1).await.answers(201);
    let mut placed: Vec<String> = redis.run("HKEYS sale:{42}:orders");
    placed.sort();
    assert_eq!(placed, ["first", "last"]);
}

/// Another program holds the lock of that sku, so its turn does not come.
#[tokio::test]
async fn orders_of_a_sku_whose_turn_does_not_come_hold_up_no_other_sku() {
    let stack = Stack::selling(&["42", "other"], 1_000, 1).await;
    let shop = stack.caller();
    stack.redis().run::<()>("SET sale:{42}:lock another PX 3600000");
    let ids = (0..700).map(|n| format!("o{n}"));
    let mut orders: JoinSet<_> = ids.map(|id| shop.order("42", &id, &id, 1)).collect();
    for n in 0..700 {
        let answer = orders.join_next().await.expect("an order").expect("no panic");
        answer.refuses(503, "lock_held");
        if n < 20 {
            let id = format!("b{n}");
            shop.order("other", &id, &id, 1).await.answers(201);
        }
    }
}

/// The Worker waits neither for a stranger's body nor for one that cannot matter.
#[tokio::test]
async fn a_body_is_read_after_the_route_and_the_credential() {
    let stack = Stack::start();
    for row in
        ["POST /nowhere 404", "DELETE /sales/42 405", "PUT /sales/42 401", "GET /sales/42 404"]
    {
        let (request, status) = row.rsplit_once(' ').expect("a status");
        let address = ("127.0.0.1", stack.workers[0].port());
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        // Most of the body is never sent.
        let head = format!("{request} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut first = [0; 12];
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_exact(&mut first));
        read.await.expect("an answer before the body").expect("an answer");
        assert_eq!(first, *format!("HTTP/1.1 {status}").as_bytes(), "{request}");
    }
}
