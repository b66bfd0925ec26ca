//! When the lock, the bridge or Redis fails, the answer is clear, and nothing is half done.

use crate::support::{BRIDGE_URL, Stack, until};

#[tokio::test]
async fn an_order_whose_turn_does_not_come_is_503_and_told_how_long_to_stay_away() {
    let stack = Stack::selling(&["42"], 2, 2).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    redis.run::<()>("SET sale:{42}:lock another PX 20000");
    let before = redis.records();
    let answer = shop.order("42", "o1", "ann", 1).await.refuses(503, "lock_held");
    answer.tells("gave_up", &[]);
    assert_eq!(answer.number("ahead"), 0, "{answer:?}");
    // The Worker waited, and nobody gave the lock back. So the answer is what the holder has left.
    let stay_ms = answer.number("retry_after_ms");
    assert!((1_000..20_000).contains(&stay_ms), "{answer:?}");
    assert_eq!(answer.header("retry-after"), stay_ms.div_ceil(1000).to_string());
    assert_eq!(redis.records(), before);
    assert_eq!(redis.run::<String>("GET sale:{42}:lock"), "another");
}

#[tokio::test]
async fn a_bridge_that_is_away_refuses_or_is_not_named_is_told_on_every_route_and_to_the_log() {
    let mut stack = Stack::start();
    for (name, value, status, code, logged) in [
        (BRIDGE_URL, "http://127.0.0.1:9", 503, "bridge_unavailable", ""),
        ("EDGELOCK_BRIDGE_CREDENTIAL", "another", 502, "bridge_refused", ""),
        (BRIDGE_URL, "", 500, "not_configured", BRIDGE_URL),
    ] {
        let without = stack.config.clone().unbind(name);
        let config = if value.is_empty() { without } else { without.bind(name, value) };
        let shop = stack.start_with(config);
        let order = shop.order("42", "o1", "ann", 1).await;
        for answer in [order, shop.open("42", 2, 2).await, shop.sale("42").await] {
            assert!(!answer.refuses(status, code).text.contains("BRIDGE"));
        }
        until(("its cause is logged", code), async || {
            let mut failures = stack.logged_of("failed").into_iter();
            failures.any(|line| line["code"] == code && line["cause"].to_string().contains(logged))
        })
        .await;
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn records_that_are_not_ours_are_an_error_and_stay() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    for (spoil, code) in [
        ("HSET sale:{42} remaining many", "corrupt_record"),
        ("HSET sale:{42} remaining -1", "corrupt_record"),
        ("HSET sale:{42} remaining 3", "corrupt_record"),
        ("HDEL sale:{42} stock", "corrupt_record"),
        ("HSET sale:{42}:orders o1 nonsense", "corrupt_record"),
        ("HSET sale:{42}:buyers ann several", "corrupt_record"),
        ("SET sale:{42}:orders text", "command_failed"),
        ("SET sale:{42}:buyers text", "command_failed"),
        ("SET sale:{42} text", "command_failed"),
        ("RPUSH sale:{42}:lock one two", "wrong_type"),
    ] {
        redis.run::<()>("FLUSHALL");
        shop.open("42", 2, 2).await.answers(201);
        redis.run::<()>(spoil);
        let before = redis.records();
        shop.order("42", "o1", "ann", 1).await.refuses(500, code);
        assert_eq!(redis.records(), before, "{spoil}");
        if code != "wrong_type" {
            stack.until_released("42").await;
        }
    }
    assert_eq!(redis.run::<Vec<String>>("LRANGE sale:{42}:lock 0 -1"), ["one", "two"]);
}
