//! What an anonymous customer can do to other customers, and to Redis.

pub(crate) mod crowd;

use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::{Stack, at_once, until};

/// So many, or a multiple if `cargo xtask attack` asks for it.
pub(crate) fn many(count: u32) -> u32 {
    let times = std::env::var("EDGELOCK_ATTACK").ok();
    count * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[tokio::test]
async fn orders_and_entries_for_what_is_not_there_leave_nothing_in_redis() {
    let mut stack = Stack::start();
    let (shop, lottery) = (stack.caller(), stack.start_lottery());
    let ask = |n| {
        let (shop, lottery) = (shop.clone(), lottery.clone());
        async move {
            let buyer = format!("b{n}");
            let order = shop.order(&format!("none-{n}"), &format!("o{n}"), &buyer, 1).await;
            order.refuses(404, "no_such_sale");
            lottery.enter("1970-01-01", &buyer).await.refuses(410, "lottery_closed");
            lottery.enter("9999-01-01", &buyer).await.refuses(422, "invalid_input");
        }
    };
    // A look that is late becomes a turn, whose lock leaves its last fence: so not all at once.
    for round in 0..many(10) {
        at_once((0..20).map(|n| ask(20 * round + n))).await;
    }
    assert_eq!(stack.redis().dump(), []);
}

/// The order leaves the line with its buyer, so nothing is sold to nobody.
#[tokio::test]
async fn an_order_whose_buyer_hangs_up_before_its_turn_begins_is_not_placed() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 1_000, 1).await.answers(201);
    let mut redis = stack.redis();
    redis.run::<()>("SET sale:{42}:lock another PX 3600000");
    let [sku, id] = ["42", "first"].map(str::to_owned);
    let first = tokio::spawn(shop.clone().orders(sku, id.clone(), id, 1));
    until("it waits for the lock", || async {
        stack.logged().iter().any(|line| line["event"] == "contended")
    })
    .await;
    let mut ordered = Vec::new();
    for n in 0..many(100) {
        ordered.push(shop.order_to_hang_up("42", &format!("a{n}")).await);
    }
    drop(ordered);
    shop.hears_what_came_before().await;
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
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 1_000, 1).await.answers(201);
    shop.open("other", 1_000, 1).await.answers(201);
    stack.redis().run::<()>("SET sale:{42}:lock another PX 3600000");
    let mut orders = JoinSet::new();
    for n in 0..700 {
        let id = format!("o{n}");
        orders.spawn(shop.clone().orders("42".to_owned(), id.clone(), id, 1));
    }
    let mut beside = 0;
    while let Some(answer) = orders.join_next().await {
        answer.expect("no panic").refuses(503, "lock_held");
        if beside < 20 {
            let id = format!("b{beside}");
            shop.order("other", &id, &id, 1).await.answers(201);
            beside += 1;
        }
    }
}

/// The Worker waits neither for a stranger's body nor for one that cannot matter.
#[tokio::test]
async fn a_body_is_read_after_the_route_and_the_credential() {
    let stack = Stack::start();
    let shop = stack.caller();
    for (method, path, status) in [
        ("POST", "/nowhere", 404),
        ("DELETE", "/sales/42", 405),
        ("PUT", "/sales/42", 401),
        ("GET", "/sales/42", 404),
    ] {
        let mut stream = TcpStream::connect(shop.address()).await.expect("a connection");
        // Most of the body is never sent.
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut first = [0; 12];
        let read = stream.read_exact(&mut first);
        let read = tokio::time::timeout(Duration::from_secs(20), read).await;
        read.expect("an answer before the body").expect("an answer");
        assert_eq!(first, *format!("HTTP/1.1 {status}").as_bytes(), "{method} {path}");
    }
}

#[tokio::test]
async fn head_is_answered_as_get_without_a_body() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 7, 1).await.answers(201);
    let http = reqwest::Client::new();
    for path in ["/sales/42", "/sales/none"] {
        let head = http.head(format!("http://{}{path}", shop.address()));
        let head = head.send().await.expect("an answer");
        let of_get = shop.send("GET", path, None, "").await;
        assert_eq!(head.status(), of_get.status, "{path}");
        let kind = |headers: &HeaderMap| headers.get("content-type").cloned();
        assert_eq!(kind(head.headers()), kind(&of_get.headers), "{path}");
        assert_eq!(head.text().await.expect("an end"), "", "{path}");
    }
}
