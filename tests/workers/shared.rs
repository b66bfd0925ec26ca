//! Orders that wait at the same time share turns of the lock, and each gets an answer of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::meddler::{COMMITS, Mischief};
use crate::support::{Stack, at_once, until};

/// How many orders each shared turn had, by the Workers' logs.
fn orders_of_turns(stack: &Stack) -> Vec<u64> {
    let logged = stack.logged().into_iter();
    let turns = logged.filter(|line| line["event"] == "grouped");
    turns.filter_map(|line| line["items"].as_u64()).collect()
}

#[tokio::test]
async fn a_hundred_orders_at_once_share_turns_and_each_is_answered() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    shop.open("42", 60, 1).await.answers(201);
    let before = redis.scripts_run();
    let order = |n| shop.clone().orders("42".to_owned(), format!("o{n}"), format!("b{n}"), 1);
    let mut left = BTreeSet::new();
    for answer in at_once((0..100).map(order)).await {
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
    until("turns are logged", || async { orders_of_turns(&stack).iter().sum::<u64>() >= 60 }).await;
    let turns = orders_of_turns(&stack);
    assert!(turns.iter().any(|orders| *orders > 5), "{turns:?}");
}

/// If an answer is made in another's request, workerd takes it for broken. Optimized code must not
/// do that either, so there are thousands of orders.
#[tokio::test]
async fn each_is_answered_in_its_own_request_however_many_have_been_before() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.open("42", 1_000_000, 1).await.answers(201);
    for round in 0..16 {
        let order = |n| {
            let (caller, id) = (caller.clone(), format!("{round}-{n}"));
            // A busy machine may take longer than a request of the Worker may.
            async move { while !caller.is_placed("42", &id).await {} }
        };
        at_once((0..512).map(order)).await;
    }
}

#[tokio::test]
async fn callers_that_hang_up_at_any_moment_keep_nobody_from_an_answer() {
    let mut stack = Stack::start();
    let workers = [stack.caller(), stack.start_worker()];
    workers[0].open("42", 1_000, 1).await.answers(201);
    for round in 0..10_u64 {
        let mut hasty = JoinSet::new();
        let mut patient = JoinSet::new();
        for n in 0..20_u64 {
            let shop = workers[(n / 2 % 2) as usize].clone();
            let id = format!("{round}-{n}");
            let crowd = if n % 2 == 0 { &mut hasty } else { &mut patient };
            crowd.spawn(async move {
                let buyer = format!("b{id}");
                let order = shop.order("42", &id, &buyer, 1);
                // Each hangs up later than the one before, so that every stage of a turn is met.
                let limit = Duration::from_millis(if n % 2 == 0 { 1 + round } else { 60_000 });
                tokio::time::timeout(limit, order).await.ok()
            });
        }
        hasty.join_all().await;
        for answer in patient.join_all().await {
            answer.expect("an answer").answers(201);
        }
    }
    // A turn that was begun for orders that are gone also comes to its end.
    stack.until_released("42").await;
    let mut redis = stack.redis();
    let sold: u64 = redis.run("HLEN sale:{42}:orders");
    assert!((100..=200).contains(&sold), "{sold}");
    assert_eq!(redis.run::<u64>("HGET sale:{42} remaining"), 1_000 - sold);
    assert_eq!(redis.run::<u64>("HLEN sale:{42}:buyers"), sold);
}

/// Whatever another's request has left undone, this order goes on in its own. If its work were part
/// of the other's request, it would end with that, and workerd would answer 500.
#[tokio::test]
async fn an_order_behind_one_that_hung_up_in_its_turn_goes_on_in_its_own_request() {
    let mut stack = Stack::start();
    let mut redis = stack.redis();
    stack.caller().open("42", 2, 1).await.answers(201);
    let (meddler, shop) = stack.start_meddled(COMMITS, Mischief::HoldReply).await;
    let gone = shop.order_to_hang_up("42", "gone").await;
    until("it is placed", || {
        let placed: u64 = redis.run("HLEN sale:{42}:orders");
        async move { placed == 1 }
    })
    .await;
    drop(gone);
    shop.hears_what_came_before().await;
    let before = redis.scripts_run();
    let [sku, id] = ["42", "behind"].map(str::to_owned);
    let behind = tokio::spawn(shop.clone().orders(sku, id.clone(), id, 1));
    until("it is looked at", || {
        let looked_at = redis.scripts_run() > before;
        async move { looked_at }
    })
    .await;
    shop.hears_what_came_before().await;
    redis.run::<()>("SET sale:{42}:lock another PX 3600000");
    meddler.open();
    behind.await.expect("no panic").refuses(503, "lock_held");
}

#[tokio::test]
async fn an_order_that_cannot_succeed_waits_for_nobody() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    for sku in ["42", "43"] {
        shop.open(sku, 1, 1).await.answers(201);
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
    // Each order looks. Where turns were taken lately, some wait for one at the same time. And two
    // requests are sent for what is remembered.
    assert!(redis.scripts_run() - before <= 4 + 4 + 2);
}

#[tokio::test]
async fn a_late_customer_is_told_so_without_a_request_and_a_buyer_is_told_of_the_purchase() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    shop.open("42", 2, 1).await.answers(201);
    shop.order("42", "o1", "ann", 1).await.answers(201);
    shop.order("42", "o2", "bob", 1).await.answers(201);
    until("what is sold out is known", || async {
        let before = stack.redis().scripts_run();
        shop.order("42", "o3", "cid", 1).await.refuses(409, "sold_out");
        stack.redis().scripts_run() == before
    })
    .await;
    let before = redis.scripts_run();
    for n in 4..20 {
        shop.order("42", &format!("o{n}"), "dan", 1).await.refuses(409, "sold_out");
    }
    assert_eq!(redis.scripts_run(), before);
    shop.order("42", "o1", "ann", 1).await.answers(200);
    shop.order("42", "o2", "ann", 1).await.refuses(409, "order_conflict");
    // Changes that somebody makes in Redis by hand are noticed soon.
    redis.run::<()>("HSET sale:{42} remaining 1");
    until("a unit that was given back is sold", || async {
        shop.order("42", "o3", "cid", 1).await.status == 201
    })
    .await;
}
