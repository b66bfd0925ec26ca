//! A sale in two steps: a unit is reserved, and then confirmed once, or somebody else may have it.

use std::collections::BTreeSet;

use crate::support::caller::{Answer, Caller};
use crate::support::meddler::{COMMITS, Mischief};
use crate::support::{Stack, at_once, now_ms, until};

/// A stack that sells units of 42 in two steps.
async fn selling(stock: u64, limit: u64) -> Stack {
    let stack = Stack::start();
    stack.caller().open_in_two_steps("42", stock, limit).await;
    stack
}

/// Ends a reservation so many milliseconds from now.
fn end(stack: &Stack, token: &str, after_ms: u64) {
    let ends = now_ms() + after_ms;
    stack.redis().run::<()>(&format!("ZADD sale:{{42}}:units XX {ends} {token}"));
}

/// Checks that these are all the orders, as each record has it.
#[track_caller]
fn sold(stack: &Stack, stock: u64, sold: &BTreeSet<String>) {
    let mut redis = stack.redis();
    assert_eq!(redis.run::<BTreeSet<String>>("HKEYS sale:{42}:orders"), *sold);
    let units: Vec<u64> = redis.run("HVALS sale:{42}:buyers");
    let units = units.iter().sum::<u64>();
    assert_eq!(redis.run::<u64>("GET sale:{42}:units:confirmed"), units);
    assert_eq!(stack.left("42"), stock - units);
}

/// One buyer after the other comes; some pay, some give back, and some are never seen again. Of
/// some that pay the answer is lost, and they ask again elsewhere.
async fn buy(n: usize, shops: Vec<Caller>, cut_off: Caller) -> Option<Answer> {
    let (shop, buyer) = (&shops[n % shops.len()], format!("b{n}"));
    let reserved = shop.reserve("42", &buyer, 1 + n as u64 % 2).await;
    match (reserved.status, reserved.json["code"].as_str()) {
        (201, None) => {}
        (503, Some("all_reserved" | "crowded")) | (409, Some("sold_out")) => return None,
        _ => panic!("{reserved:?}"),
    }
    let token = reserved.token();
    match n % 5 {
        0 => {
            shop.step("42", "release", &token).await.answers(200);
            shop.step("42", "confirm", &token).await.refuses(410, "reservation_over");
            None
        }
        1 => None,
        2 => {
            cut_off.step("42", "confirm", &token).await.refuses(503, "outcome_unknown");
            Some(shop.step("42", "confirm", &token).await.answers(200))
        }
        _ => Some(shop.step("42", "confirm", &token).await.answers(201)),
    }
}

#[tokio::test]
async fn a_crowd_that_reserves_pays_gives_back_and_vanishes_never_gets_more_than_there_is() {
    let mut stack = selling(20, 2).await;
    let (_, cut_off) = stack.meddled(COMMITS, Mischief::LoseReply).await;
    let shops = vec![stack.caller(), stack.start_worker()];
    let crowd = (0..120).map(|n| buy(n, shops.clone(), cut_off.clone()));
    let mut orders = BTreeSet::new();
    let mut add = |answer: Answer| assert!(orders.insert(answer.token()), "{answer:?}");
    at_once(crowd).await.into_iter().flatten().for_each(&mut add);
    // What was reserved by those who were never seen again falls back, and is sold as well.
    let reserved: Vec<String> = stack.redis().run("ZRANGE sale:{42}:units 0 -1");
    reserved.iter().for_each(|token| end(&stack, token, 0));
    for n in 0..20 {
        let reserved = shops[n % 2].reserve("42", &format!("late{n}"), 1).await;
        if reserved.status == 201 {
            add(shops[n % 2].step("42", "confirm", &reserved.token()).await.answers(201));
        } else {
            reserved.refuses(409, "sold_out");
        }
    }
    sold(&stack, 20, &orders);
    assert_eq!(stack.left("42"), 0);
    for token in reserved {
        shops[0].step("42", "confirm", &token).await.refuses(410, "reservation_over");
    }
}

#[tokio::test]
async fn the_same_confirmation_at_the_same_time_over_two_workers_sells_once() {
    let mut stack = selling(3, 3).await;
    let workers = [stack.caller(), stack.start_worker()];
    let reserved = workers[0].reserve("42", "ann", 2).await.answers(201);
    let ms = reserved.number("expires_in_ms");
    assert!((580_000..=600_000).contains(&ms), "{reserved:?}");
    let token = reserved.token();
    let answers = at_once((0..8).map(|n| workers[n % 2].step("42", "confirm", &token))).await;
    let first = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(first.count(), 1, "{answers:?}");
    for answer in &answers {
        assert!([200, 201].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.text, answers[0].text);
    }
    assert_eq!(answers[0].number("quantity"), 2);
    workers[1].step("42", "release", &token).await.refuses(409, "confirmed");
    // Even once Redis has forgotten the token, the order is on record.
    stack.redis().run::<()>(&format!("DEL sale:{{42}}:units:gone:{token}"));
    let later = workers[1].step("42", "confirm", &token).await.answers(200);
    assert_eq!(later.text, answers[0].text);
    sold(&stack, 3, &BTreeSet::from([token]));
}

#[tokio::test]
async fn a_confirmation_that_races_its_deadline_sells_or_frees_the_units_and_says_which() {
    let stack = selling(30, 1).await;
    let shop = stack.caller();
    let mut orders = BTreeSet::new();
    for n in 0..30 {
        let token = shop.reserve("42", &format!("b{n}"), 1).await.answers(201).token();
        end(&stack, &token, n / 4);
        let answer = shop.step("42", "confirm", &token).await;
        if answer.status == 201 {
            shop.step("42", "confirm", &token).await.answers(200);
            orders.insert(token);
        } else {
            answer.refuses(410, "reservation_over");
            shop.step("42", "confirm", &token).await.refuses(410, "reservation_over");
        }
        sold(&stack, 30, &orders);
    }
    let free = 30 - orders.len() as u64;
    let rest = (0..free + 1).map(|n| shop.reserve("42", &format!("c{n}"), 1));
    let got = at_once(rest).await.into_iter().filter(|answer| answer.status == 201);
    assert_eq!(got.count() as u64, free);
}

#[tokio::test]
async fn a_confirmation_that_arrives_behind_its_deadline_sells_nothing() {
    let mut stack = selling(1, 1).await;
    let (meddler, held_up) = stack.meddled(COMMITS, Mischief::Hold).await;
    let shop = stack.caller();
    let token = shop.reserve("42", "ann", 1).await.answers(201).token();
    shop.reserve("42", "bob", 1).await.refuses(503, "all_reserved");
    held_up.step("42", "confirm", &token).await.refuses(503, "outcome_unknown");
    end(&stack, &token, 0);
    let next = shop.reserve("42", "bob", 1).await.answers(201).token();
    assert!(meddler.deliver().await > 0);
    shop.step("42", "confirm", &token).await.refuses(410, "reservation_over");
    shop.step("42", "confirm", &next).await.answers(201);
    sold(&stack, 1, &BTreeSet::from([next]));
}

#[tokio::test]
async fn a_confirmation_that_did_not_arrive_may_be_sent_again_and_sells_once() {
    let mut stack = selling(2, 1).await;
    let (meddler, held_up) = stack.meddled(COMMITS, Mischief::Hold).await;
    let shop = stack.caller();
    let token = shop.reserve("42", "ann", 1).await.answers(201).token();
    held_up.step("42", "confirm", &token).await.refuses(503, "outcome_unknown");
    shop.step("42", "confirm", &token).await.answers(201);
    assert!(meddler.deliver().await > 0);
    shop.step("42", "confirm", &token).await.answers(200);
    sold(&stack, 2, &BTreeSet::from([token]));
}

/// Though it asks many times at once, over two Workers, and pays in between.
#[tokio::test]
async fn a_buyer_who_hoards_gets_no_more_than_a_buyer_may_have() {
    let mut stack = selling(100, 4).await;
    let shops = vec![stack.caller(), stack.start_worker()];
    let hoard = async |n: usize, shops: Vec<Caller>| {
        let shop = &shops[n % 2];
        let reserved = shop.reserve("42", "ann", 1).await;
        match (reserved.status, reserved.json["code"].as_str()) {
            (201, None) if n % 4 < 2 => {
                shop.step("42", "confirm", &reserved.token()).await.answers(201);
            }
            (201, None) | (503, Some("crowded")) => {}
            (409, Some("owner_limit" | "limit_reached")) => {}
            _ => panic!("{reserved:?}"),
        }
    };
    for _ in 0..4 {
        at_once((0..16).map(|n| hoard(n, shops.clone()))).await;
        until("what was given up is free", async || {
            let bought: u64 =
                stack.redis().run::<Option<u64>>("HGET sale:{42}:buyers ann").unwrap_or(0);
            bought + stack.redis().run::<u64>("ZCARD sale:{42}:units") <= 4
        })
        .await;
    }
    let bought: u64 = stack.redis().run("HGET sale:{42}:buyers ann");
    let reserved: Vec<String> = stack.redis().run("ZRANGE sale:{42}:units 0 -1");
    assert_eq!(bought + reserved.len() as u64, 4);
    for token in reserved {
        shops[0].step("42", "confirm", &token).await.answers(201);
    }
    shops[0].reserve("42", "ann", 1).await.refuses(409, "limit_reached");
    shops[1].reserve("42", "bob", 4).await.answers(201);
    shops[1].reserve("42", "bob", 1).await.refuses(409, "owner_limit");
}

#[tokio::test]
async fn a_sale_has_one_step_or_two() {
    let stack = selling(5, 5).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    shop.open("43", 5, 5).await.answers(201);
    let token = shop.reserve("42", "ann", 1).await.answers(201).token();
    shop.order("42", "o1", "ann", 1).await.refuses(409, "two_steps");
    let cart = shop.cart("o1", "ann", &[("43", 1), ("42", 1)]).await.refuses(409, "two_steps");
    assert_eq!(cart.json["sku"], "42");
    let before = redis.dump();
    shop.reserve("43", "ann", 1).await.refuses(409, "one_step");
    shop.reserve("44", "ann", 1).await.refuses(404, "no_such_sale");
    let made_up = "0123456789_-abcdefghij";
    for step in ["confirm", "release"] {
        shop.step("42", step, made_up).await.refuses(410, "reservation_over");
        shop.step("43", step, &token).await.refuses(409, "one_step");
        shop.step("44", step, &token).await.refuses(404, "no_such_sale");
    }
    assert_eq!(redis.dump(), before);
    // One that is reserved may be paid behind the end of the sale.
    redis.run::<u64>("HSET sale:{42} ends_at_ms 1000");
    shop.reserve("42", "bob", 1).await.refuses(410, "sale_over");
    shop.step("42", "confirm", &token).await.answers(201);
}

#[tokio::test]
async fn no_step_is_told_that_no_replica_has() {
    let mut stack = selling(3, 3).await;
    // There is no replica.
    let careful = stack.start_with(stack.config.clone().bind("WAIT_FOR_REPLICAS", "1"));
    careful.reserve("42", "ann", 1).await.refuses(503, "not_replicated");
    let token = stack.caller().reserve("42", "bob", 1).await.answers(201).token();
    for _ in 0..2 {
        careful.step("42", "confirm", &token).await.refuses(503, "not_replicated");
    }
    stack.caller().step("42", "confirm", &token).await.answers(200);
}

#[tokio::test]
async fn a_reservation_is_three_requests_and_a_confirmation_two_and_all_is_forgotten_in_the_end() {
    let stack = selling(2, 1).await;
    let (shop, mut redis) = (stack.caller(), stack.redis());
    let before = redis.scripts_run();
    let token = shop.reserve("42", "ann", 1).await.answers(201).token();
    assert_eq!(redis.scripts_run() - before, 3);
    shop.step("42", "confirm", &token).await.answers(201);
    assert_eq!(redis.scripts_run() - before, 5);
    for key in redis.run::<Vec<String>>("KEYS *") {
        assert!(redis.run::<i64>(&format!("PTTL {key}")) > 0, "{key}");
    }
}
