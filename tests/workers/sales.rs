//! A sale is opened once, shown to everybody, and forgotten in the end.

use serde_json::json;

use crate::support::{Stack, now_ms};

const DAY_MS: u64 = 86_400_000;

#[tokio::test]
async fn a_sale_is_opened_once_and_its_terms_stay() {
    let stack = Stack::start();
    let shop = stack.caller();
    let end = now_ms() + 60_000;
    let opened = shop.open_until("42", 10, 2, end).await.answers(201);
    let terms = json!({
        "sku": "42", "stock": 10, "sold": 0, "remaining": 10,
        "limit_per_buyer": 2, "ends_at_ms": end, "open": true, "two_steps": false,
    });
    assert_eq!(opened.json, terms);
    shop.order("42", "o1", "ann", 2).await.answers(201);

    let before = stack.redis().records();
    let again = shop.open_until("42", 10, 2, end).await.answers(200);
    assert_eq!((again.number("sold"), again.number("remaining")), (2, 8));
    for (stock, limit, end) in [(8, 2, end), (11, 2, end), (10, 3, end), (10, 2, end + 1)] {
        shop.open_until("42", stock, limit, end).await.refuses(409, "sale_exists");
    }
    assert_eq!(stack.redis().records(), before);

    // A sale of another sku, and an order of the same number, have nothing to do with it.
    shop.open("43", 5, 1).await.answers(201);
    shop.order("43", "o1", "bob", 1).await.answers(201);
    assert_eq!(shop.sale("43").await.number("remaining"), 4);
    assert_eq!(shop.sale("42").await.answers(200).text, again.text);
}

#[tokio::test]
async fn a_sale_ends_in_the_future_and_within_a_year_and_is_forgotten_a_week_later() {
    let stack = Stack::start();
    let (shop, mut redis) = (stack.caller(), stack.redis());
    for end in [1, now_ms() - 1000, now_ms() + 366 * DAY_MS, (1 << 53) - 1] {
        let answer = shop.open_until("42", 1, 1, end).await.refuses(422, "invalid_input");
        assert_eq!(answer.json["field"], "ends_at_ms");
    }
    assert_eq!(redis.records(), []);
    let end = now_ms() + 364 * DAY_MS;
    shop.open_until("42", 10, 2, end).await.answers(201);
    let mut expires = |key| redis.run::<u64>(&format!("PEXPIRETIME {key}"));
    assert_eq!(expires("sale:{42}"), end + 7 * DAY_MS);
    shop.order("42", "o1", "ann", 2).await.answers(201);
    for key in ["sale:{42}", "sale:{42}:orders", "sale:{42}:buyers"] {
        assert_eq!(expires(key), end + 7 * DAY_MS, "{key}");
    }
}
