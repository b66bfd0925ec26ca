//! When the lock, the bridge or Redis fails, the answer is clear, and nothing is half done.

use crate::support::caller::Caller;
use crate::support::meddler::Mischief;
use crate::support::{Stack, until};

/// A sale of 2 units, a Worker whose commits are tampered with, and a Worker before an honest
/// bridge.
async fn meddled(mischief: Mischief) -> (Stack, Caller, Caller) {
    let mut stack = Stack::start();
    let honest = stack.caller();
    honest.open("42", 2, 2).await.answers(201);
    let (_, meddled) = stack.start_meddled(mischief).await;
    (stack, meddled, honest)
}

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
    let seconds = stay_ms.div_ceil(1000).to_string();
    assert_eq!(answer.header("retry-after"), seconds);
    assert_eq!(redis.records(), before);
    assert_eq!(redis.run::<String>("GET sale:{42}:lock"), "another");
}

#[tokio::test]
async fn nobody_is_told_to_stay_away_for_more_than_30_s() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 2, 2).await.answers(201);
    stack
        .redis()
        .run::<()>("SET sale:{42}:lock another PX 3600000");
    let answer = shop.order("42", "o1", "ann", 1).await;
    let answer = answer.refuses(503, "lock_held");
    assert_eq!(
        (
            answer.number("retry_after_ms"),
            answer.header("retry-after")
        ),
        (30_000, "30")
    );
}

#[tokio::test]
async fn an_order_waits_for_its_turn() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 2, 2).await.answers(201);
    stack
        .redis()
        .run::<()>("SET sale:{42}:lock another PX 1000");
    shop.order("42", "o1", "ann", 1).await.answers(201);
}

#[tokio::test]
async fn a_bridge_that_is_away_is_503_and_when_to_retry() {
    let stack = Stack::start();
    let shop = stack.caller();
    let Stack {
        bridge,
        workers: _running,
        ..
    } = stack;
    drop(bridge);
    for answer in [
        shop.order("42", "o1", "ann", 1).await,
        shop.open("42", 2, 2).await,
        shop.sale("42").await,
    ] {
        answer
            .refuses(503, "bridge_unavailable")
            .says_when_to_retry();
    }
}

#[tokio::test]
async fn a_bridge_that_says_to_come_back_tomorrow_is_503_at_once_and_hands_that_on() {
    let (_stack, shop, _) = meddled(Mischief::Shed).await;
    for answer in [
        shop.sale("42").await,
        shop.order("42", "o1", "ann", 1).await,
        shop.open("42", 2, 2).await,
    ] {
        let answer = answer.refuses(503, "bridge_unavailable");
        assert_eq!(answer.header("retry-after"), "86400");
    }
}

#[tokio::test]
async fn a_bridge_that_refuses_the_credential_is_502() {
    let mut stack = Stack::without_workers();
    stack.config = stack.config.bind("EDGELOCK_BRIDGE_CREDENTIAL", "another");
    let shop = stack.start_worker();
    shop.order("42", "o1", "ann", 1)
        .await
        .refuses(502, "bridge_refused");
    shop.sale("42").await.refuses(502, "bridge_refused");
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn a_worker_without_a_bridge_tells_its_log_what_to_set_and_callers_nothing() {
    let mut stack = Stack::without_workers();
    stack.config = stack.config.unbind("EDGELOCK_BRIDGE_URL");
    let answer = stack.start_worker().sale("42").await;
    let answer = answer.refuses(500, "not_configured");
    assert!(!answer.text.contains("BRIDGE"), "{answer:?}");
    until("it is logged", || {
        let told = (stack.logged().iter()).any(|line| {
            line["event"] == "failed" && line["cause"].to_string().contains("EDGELOCK_BRIDGE_URL")
        });
        async move { told }
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
        let config = stack
            .config
            .unbind("EDGELOCK_BRIDGE_URL")
            .unbind("EDGELOCK_BRIDGE_CREDENTIAL");
        stack.config = config
            .bind(url, stack.bridge.url())
            .bind(token, stack.bridge.token());
        let shop = stack.start_worker();
        shop.open("42", 1, 1).await.answers(201);
        shop.order("42", "o1", "ann", 1).await.answers(201);
    }
}

#[tokio::test]
async fn an_order_whose_outcome_got_lost_can_be_sent_again_and_is_charged_once() {
    let (stack, meddled, honest) = meddled(Mischief::LoseReply).await;
    let answer = meddled.order("42", "o1", "ann", 1).await;
    answer.refuses(503, "outcome_unknown").says_when_to_retry();
    assert_eq!(stack.redis().run::<u64>("HGET sale:{42} remaining"), 1);
    honest.order("42", "o1", "ann", 1).await.answers(200);
    assert_eq!(stack.redis().run::<u64>("HGET sale:{42} remaining"), 1);
}

#[tokio::test]
async fn nobody_is_told_of_an_order_that_no_replica_has() {
    let mut stack = Stack::without_workers();
    let careless = stack.start_worker();
    careless.open("42", 2, 2).await.answers(201);
    careless.open("43", 2, 2).await.answers(201);
    stack.config = stack.config.clone().bind("WAIT_FOR_REPLICAS", "1");
    // There is no replica.
    let careful = stack.start_worker();
    for _ in 0..2 {
        let answer = careful.order("42", "o1", "ann", 1).await;
        answer.refuses(503, "not_replicated").says_when_to_retry();
        let answer = careful.cart("c1", "ann", &[("42", 1), ("43", 1)]).await;
        answer.refuses(503, "not_replicated").says_when_to_retry();
        // After the second round, both orders are on record.
        careless.order("42", "o1", "ann", 1).await;
        careless.cart("c1", "ann", &[("42", 1), ("43", 1)]).await;
    }
}

#[tokio::test]
async fn an_order_that_got_lost_is_not_sold_and_keeps_nobody_out() {
    let (stack, meddled, honest) = meddled(Mischief::LoseRequest).await;
    let answer = meddled.order("42", "o1", "ann", 1).await;
    answer.refuses(503, "outcome_unknown").says_when_to_retry();
    assert_eq!(stack.redis().run::<u64>("HGET sale:{42} remaining"), 2);
    // Long before the ttl ends: the Worker gave the lock back.
    honest.order("42", "o2", "bob", 2).await.answers(201);
    honest
        .order("42", "o1", "ann", 1)
        .await
        .refuses(409, "sold_out");
}

#[tokio::test]
async fn an_order_that_got_stuck_on_its_way_does_not_come_late() {
    let mut stack = Stack::start();
    let honest = stack.caller();
    honest.open("42", 2, 2).await.answers(201);
    let (meddler, stuck) = stack.start_meddled(Mischief::Hold).await;
    let answer = stuck.order("42", "o1", "ann", 2).await;
    answer.refuses(503, "outcome_unknown").says_when_to_retry();
    stack.until_released("42").await;
    let before = stack.redis().records();
    // Each attempt was held.
    assert!(meddler.deliver().await.len() > 1);
    assert_eq!(stack.redis().records(), before);
    honest.order("42", "o2", "bob", 2).await.answers(201);
}

#[tokio::test]
async fn an_order_that_lost_its_lock_sells_nothing() {
    let (stack, meddled, honest) = meddled(Mischief::ExpireLock("sale:{42}:lock")).await;
    let before = stack.redis().records();
    let answer = meddled.order("42", "o1", "ann", 1).await;
    answer.refuses(503, "lock_lost").says_when_to_retry();
    assert_eq!(stack.redis().records(), before);
    honest.order("42", "o1", "ann", 1).await.answers(201);
}

#[tokio::test]
async fn a_key_of_another_type_in_the_locks_place_is_an_error_and_stays() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 2, 2).await.answers(201);
    stack.redis().run::<u64>("RPUSH sale:{42}:lock one two");
    let before = stack.redis().dump();
    shop.order("42", "o1", "ann", 1)
        .await
        .refuses(500, "wrong_type");
    assert_eq!(stack.redis().dump(), before);
}

#[tokio::test]
async fn records_that_are_not_ours_are_an_error_and_stay() {
    let stack = Stack::start();
    let shop = stack.caller();
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
    ] {
        let mut redis = stack.redis();
        redis.run::<()>("FLUSHALL");
        shop.open("42", 2, 2).await.answers(201);
        redis.run::<()>(spoil);
        let before = redis.records();
        shop.order("42", "o1", "ann", 1).await.refuses(500, code);
        assert_eq!(redis.records(), before, "{spoil}");
        stack.until_released("42").await;
    }
}

#[tokio::test]
async fn a_worker_that_dies_in_its_section_sells_nothing_and_keeps_others_out_for_3_s_at_most() {
    let (mut stack, meddled, honest) = meddled(Mischief::Hold).await;
    let mut redis = stack.redis();
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
