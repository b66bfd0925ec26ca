//! What an anonymous customer can do to other customers, and to Redis.

pub(crate) mod crowd;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::{Stack, until};

/// So many, or a multiple if `cargo xtask attack` asks for it.
pub(crate) fn many(count: u32) -> u32 {
    let times = std::env::var("EDGELOCK_ATTACK").ok();
    count * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[tokio::test]
async fn orders_and_entries_for_what_is_not_there_leave_nothing_in_redis() {
    let mut stack = Stack::start();
    let (shop, lottery) = (stack.caller(), stack.start_lottery());
    let mut asked = JoinSet::new();
    for n in 0..many(200) {
        let (shop, lottery) = (shop.clone(), lottery.clone());
        asked.spawn(async move {
            let (sku, buyer) = (format!("none-{n}"), format!("b{n}"));
            let order = shop.order(&sku, &format!("o{n}"), &buyer, 1).await;
            order.refuses(404, "no_such_sale");
            for (day, code) in [("1970-01-01", "lottery_closed"), ("9999-01-01", "")] {
                let refused = lottery.enter(day, &buyer).await;
                assert!((400..500).contains(&refused.status), "{refused:?}");
                assert!(refused.text.contains(code), "{refused:?}");
            }
        });
        // A look that is late becomes a turn, whose lock leaves its last fence.
        if n % 20 == 19 {
            while let Some(answered) = asked.join_next().await {
                answered.expect("no panic");
            }
        }
    }
    asked.join_all().await;
    assert_eq!(stack.redis().dump(), []);
}

/// They are refused without a turn of the lock.
#[tokio::test]
async fn orders_that_cannot_succeed_keep_nobody_from_buying() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("gone", 1, 1).await.answers(201);
    shop.order("gone", "first", "first", 1).await.answers(201);
    shop.open("42", 1_000_000, 1).await.answers(201);
    shop.open("other", 1_000_000, 1).await.answers(201);
    let mut attack = JoinSet::new();
    for n in 0..many(600) {
        let shop = shop.clone();
        attack.spawn(async move {
            // One order of what is sold out, and one for more than a buyer may have.
            let (id, buyer) = (format!("a{n}"), format!("a{n}"));
            for (sku, quantity) in [("gone", 1), ("42", 2)] {
                let refused = shop.order(sku, &id, &buyer, quantity).await;
                assert!(matches!(refused.status, 409 | 503), "{refused:?}");
            }
        });
    }
    let mut took = Vec::new();
    for n in 0.. {
        if attack.is_empty() {
            break;
        }
        for sku in ["42", "other"] {
            let began = Instant::now();
            let bought = shop.order(sku, &format!("h{n}"), &format!("h{n}"), 1).await;
            bought.answers(201);
            took.push(began.elapsed());
        }
        while let Some(attacked) = attack.try_join_next() {
            attacked.expect("no panic");
        }
    }
    took.sort();
    println!(
        "{} orders beside, median {:.1?}, longest {:.1?}",
        took.len(),
        took[took.len() / 2],
        took[took.len() - 1]
    );
}

/// The order leaves the line with its buyer, so nothing is sold to nobody.
#[tokio::test]
async fn an_order_whose_buyer_hangs_up_before_its_turn_begins_is_not_placed() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 1_000, 1).await.answers(201);
    let mut redis = stack.redis();
    redis.run::<()>("SET sale:{42}:lock another PX 3600000");
    let first = tokio::spawn({
        let shop = shop.clone();
        async move { shop.order("42", "first", "first", 1).await }
    });
    until("it waits for the lock", || {
        let waits = |line: &Value| line["event"] == "contended";
        let waits = stack.logged().iter().any(waits);
        async move { waits }
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

/// Ten buyers hang up as fast as they can.
#[tokio::test]
async fn buyers_who_hang_up_keep_no_honest_one_waiting() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 1_000_000, 1).await.answers(201);
    let mut attack = JoinSet::new();
    let hung_up = Arc::new(AtomicU64::new(0));
    for customer in 0..10 {
        let (shop, hung_up) = (shop.clone(), hung_up.clone());
        attack.spawn(async move {
            for n in 0.. {
                let id = format!("a{customer}-{n}");
                let order = shop.order_to_hang_up("42", &id).await;
                // Long enough for the order to get in line.
                tokio::time::sleep(Duration::from_millis(3)).await;
                drop(order);
                hung_up.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut took = Vec::new();
    let (honest, mut refusals) = (many(10), 0);
    for n in 0..honest {
        let began = Instant::now();
        // An order that is refused is sent again, as the Worker's answer asks, and as a machine
        // under attack may need.
        while !shop.is_placed("42", &format!("h{n}")).await {
            refusals += 1;
        }
        took.push(began.elapsed());
    }
    drop(attack);
    let placed: u32 = stack.redis().run("HLEN sale:{42}:orders");
    took.sort();
    println!(
        "{} orders, refused {refusals} times, beside {hung_up:?} that were hung up on, of which {} were placed: median {:.1?}, longest {:.1?}",
        took.len(),
        placed.saturating_sub(honest),
        took[took.len() / 2],
        took[took.len() - 1]
    );
}

/// Another program holds the lock of that sku, so its turn does not come.
#[tokio::test]
async fn orders_of_a_sku_whose_turn_does_not_come_hold_up_no_other_sku() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 1_000, 1).await.answers(201);
    shop.open("other", 1_000, 1).await.answers(201);
    stack
        .redis()
        .run::<()>("SET sale:{42}:lock another PX 3600000");
    let mut orders = JoinSet::new();
    for n in 0..700 {
        let shop = shop.clone();
        orders.spawn(async move {
            let id = format!("o{n}");
            shop.order("42", &id, &id, 1).await
        });
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
        let mut stream = TcpStream::connect(shop.address())
            .await
            .expect("a connection");
        // Most of the body is never sent.
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut first = [0; 12];
        let read = stream.read_exact(&mut first);
        let read = tokio::time::timeout(Duration::from_secs(20), read).await;
        read.expect("an answer before the body").expect("an answer");
        assert_eq!(
            first,
            *format!("HTTP/1.1 {status}").as_bytes(),
            "{method} {path}"
        );
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
