//! When the lock, the bridge or Redis fails, the answer is clear, and nothing is half done.

use crate::support::meddler::{self, ALL, COMMITS, Mischief};
use crate::support::{Stack, until};

#[tokio::test]
async fn an_order_whose_turn_does_not_come_is_503_and_told_how_long_to_stay_away() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    shop.open("42", 2, 2).await.answers(201);
    redis.run::<()>("SET sale:{42}:lock another PX 20000");
    let before = redis.records();
    let answer = shop.order("42", "o1", "ann", 1).await;
    let answer = answer.refuses(503, "lock_held").says_when_to_retry();
    assert_eq!(answer.number("ahead"), 0, "{answer:?}");
    // The Worker waited, and nobody gave the lock back. So the answer is what the holder has left.
    let stay_ms = answer.number("retry_after_ms");
    assert!((1_000..20_000).contains(&stay_ms), "{answer:?}");
    assert_eq!(answer.header("retry-after"), stay_ms.div_ceil(1000).to_string());
    assert_eq!(redis.records(), before);
    assert_eq!(redis.run::<String>("GET sale:{42}:lock"), "another");
}

#[tokio::test]
async fn a_bridge_that_is_away_sheds_load_or_refuses_is_told_on_every_route() {
    let mut stack = Stack::without_workers();
    let (_meddler, shedding) = meddler::start(&stack.bridge, ALL, Mischief::Shed).await;
    let url = "EDGELOCK_BRIDGE_URL";
    for (name, value, status, code, retry_after) in [
        (url, "http://127.0.0.1:9", 503, "bridge_unavailable", None),
        (url, &shedding, 503, "bridge_unavailable", Some("86400")),
        ("EDGELOCK_BRIDGE_CREDENTIAL", "another", 502, "bridge_refused", Some("")),
    ] {
        let honest = stack.config.clone();
        stack.config = honest.clone().bind(name, value);
        let shop = stack.start_worker();
        let order = shop.order("42", "o1", "ann", 1).await;
        for answer in [order, shop.open("42", 2, 2).await, shop.sale("42").await] {
            let answer = answer.refuses(status, code);
            match retry_after {
                Some(told) => assert_eq!(answer.header("retry-after"), told),
                None => drop(answer.says_when_to_retry()),
            }
        }
        stack.config = honest;
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn a_worker_without_a_bridge_tells_its_log_what_to_set_and_callers_nothing() {
    let mut stack = Stack::without_workers();
    stack.config = stack.config.unbind("EDGELOCK_BRIDGE_URL");
    let answer = stack.start_worker().sale("42").await;
    let answer = answer.refuses(500, "not_configured");
    assert!(!answer.text.contains("BRIDGE"), "{answer:?}");
    until("it is logged", || async {
        stack.logged().iter().any(|line| {
            line["event"] == "failed" && line["cause"].to_string().contains("EDGELOCK_BRIDGE_URL")
        })
    })
    .await;
}

#[tokio::test]
async fn the_names_that_upstash_and_vercel_set_work_too() {
    for (url, token) in [
        ("UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"),
        ("KV_REST_API_URL", "KV_REST_API_TOKEN"),
    ] {
        let mut stack = Stack::without_workers();
        let config =
            stack.config.unbind("EDGELOCK_BRIDGE_URL").unbind("EDGELOCK_BRIDGE_CREDENTIAL");
        stack.config = config.bind(url, stack.bridge.url()).bind(token, stack.bridge.token());
        stack.start_worker().open("42", 1, 1).await.answers(201);
    }
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

#[tokio::test]
async fn a_worker_that_dies_in_its_section_sells_nothing_and_keeps_others_out_for_3_s_at_most() {
    let mut stack = Stack::start();
    let (honest, mut redis) = (stack.caller(), stack.redis());
    honest.open("42", 2, 2).await.answers(201);
    let (_meddler, meddled) = stack.start_meddled(COMMITS, Mischief::Hold).await;
    let before = redis.records();
    let order = tokio::spawn(async move { meddled.order("42", "o1", "ann", 2).await });
    until("the Worker is in its section", || {
        let held: bool = redis.run("EXISTS sale:{42}:lock");
        async move { held }
    })
    .await;
    order.abort();
    stack.workers.last_mut().expect("the meddled one").kill();

    assert!(redis.run::<i64>("PTTL sale:{42}:lock") <= 3_000);
    assert_eq!(redis.records(), before);
    until("another Worker may sell", || async {
        honest.order("42", "o2", "bob", 2).await.status == 201
    })
    .await;
}
