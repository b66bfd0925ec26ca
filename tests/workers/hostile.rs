//! Whatever is sent, the answer is a 4xx that says what is wrong, and nothing is changed.

use serde_json::Value;

use crate::support::Stack;
use crate::support::caller::{Answer, Caller};

/// What is wrong with a body, and how the answer says so.
pub(crate) enum Wrong {
    /// Status 422, with this field.
    Field(&'static str),
    /// Status 400.
    Json,
    /// Status 413.
    TooLarge,
}
use Wrong::{Field, Json, TooLarge};

/// Checks that all of `bodies` are refused, and change nothing in Redis, not even a fence.
pub(crate) async fn refused(stack: &Stack, path: &str, bodies: &[(String, Wrong)]) {
    let caller = stack.caller();
    let before = stack.redis().dump();
    for (body, wrong) in bodies {
        let answer = send(&caller, path, body).await;
        let (status, code, field) = match wrong {
            Field(field) => (422, "invalid_input", Value::from(*field)),
            Json => (400, "bad_json", Value::Null),
            TooLarge => (413, "body_too_large", Value::Null),
        };
        let answer = answer.refuses(status, code);
        assert_eq!(answer.json["field"], field, "{answer:?}");
        assert!(answer.text.len() < 1000, "{answer:?}");
    }
    assert_eq!(stack.redis().dump(), before);
}

async fn send(caller: &Caller, path: &str, body: &str) -> Answer {
    match path {
        "/sales/42" => caller.admin("PUT", path, body).await,
        _ => caller.locks("POST", path, body).await,
    }
}

/// Everything that is no whole number from 1 to 1000.
pub(crate) const NO_QUANTITIES: [&str; 13] = [
    "0",
    "-1",
    "1.5",
    "1.0",
    "1e3",
    "1001",
    "18446744073709551617",
    "1e300",
    r#""1""#,
    "null",
    "true",
    "[1]",
    "{}",
];
pub(crate) const NO_OBJECTS: [&str; 9] = [
    "",
    " ",
    "{",
    "[]",
    "null",
    "1",
    "quantity=1",
    "{'a':1}",
    "\u{feff}{}",
];

fn order(order_id: &str, buyer: &str, quantity: &str) -> String {
    format!(r#"{{"order_id":{order_id},"buyer":{buyer},"quantity":{quantity}}}"#)
}

#[tokio::test]
async fn a_hostile_order_is_refused() {
    let stack = Stack::start();
    stack.caller().open("42", 5, 5).await.answers(201);
    let good = r#""x""#;
    let long = |length| format!(r#""{}""#, "x".repeat(length));
    let mut bodies: Vec<(String, Wrong)> = Vec::new();
    for quantity in NO_QUANTITIES {
        bodies.push((order(good, good, quantity), Field("quantity")));
    }
    for quantity in ["NaN", "1e999", "2x", "", "+1", "x"] {
        bodies.push((order(good, good, quantity), Json));
    }
    for id in [
        "1",
        "null",
        r#""""#,
        r#""a b""#,
        r#""a\nb""#,
        r#""a\u0000""#,
        r#""{a}""#,
        r#""ü""#,
        r#""a/b""#,
        &long(65),
        &long(9000),
    ] {
        bodies.push((order(id, good, "1"), Field("order_id")));
        bodies.push((order(good, id, "1"), Field("buyer")));
    }
    for body in NO_OBJECTS {
        bodies.push((body.to_owned(), Json));
    }
    bodies.extend([
        (order(good, r#""\ud800""#, "1"), Json),
        (order(good, good, "1") + "x", Json),
        (order(good, good, &"[".repeat(10_000)), Field("quantity")),
        (order(good, good, r#"1,"price":0"#), Field("price")),
        (order(good, good, r#"1,"quantity":2"#), Field("quantity")),
        (
            format!(r#"{{"order_id":{good},"buyer":{good}}}"#),
            Field("quantity"),
        ),
        (r#"["x","x",1]"#.to_owned(), Json),
        (order(&long(17_000), good, "1"), TooLarge),
    ]);
    refused(&stack, "/sales/42/orders", &bodies).await;
}

#[tokio::test]
async fn a_hostile_cart_is_refused() {
    let stack = Stack::start();
    let shop = stack.caller();
    shop.open("42", 5, 5).await.answers(201);
    shop.open("43", 5, 5).await.answers(201);
    let cart = |order_id: &str, buyer: &str, items: &str| {
        format!(r#"{{"order_id":{order_id},"buyer":{buyer},"items":{items}}}"#)
    };
    let (good, item) = (r#""x""#, r#"{"sku":"42"}"#);
    let many = |count| {
        let items: Vec<_> = (0..count).map(|n| format!(r#"{{"sku":"s{n}"}}"#)).collect();
        format!("[{}]", items.join(","))
    };
    let mut bodies: Vec<(String, Wrong)> = Vec::new();
    for items in ["[]", "{}", "null", "1", r#""42""#, item, &many(33)] {
        bodies.push((cart(good, good, items), Field("items")));
    }
    for wrong in ["null", "1", r#""43""#, r#"["43",1]"#] {
        let items = format!("[{item},{wrong}]");
        bodies.push((cart(good, good, &items), Field("items[1]")));
    }
    let missing = format!("[{item},{{}}]");
    bodies.push((cart(good, good, &missing), Field("items[1].sku")));
    for quantity in NO_QUANTITIES {
        let items = format!(r#"[{item},{{"sku":"43","quantity":{quantity}}}]"#);
        bodies.push((cart(good, good, &items), Field("items[1].quantity")));
    }
    for id in ["1", "null", r#""""#, r#""a b""#, r#""{a}""#, r#""a/b""#] {
        let items = format!(r#"[{item},{{"sku":{id}}}]"#);
        bodies.push((cart(good, good, &items), Field("items[1].sku")));
        bodies.push((cart(id, good, &many(1)), Field("order_id")));
        bodies.push((cart(good, id, &many(1)), Field("buyer")));
    }
    for body in NO_OBJECTS {
        bodies.push((body.to_owned(), Json));
    }
    bodies.extend([
        (
            cart(good, good, &format!("[{item},{item}]")),
            Field("items"),
        ),
        (
            cart(good, good, r#"[{"sku":"42","price":0}]"#),
            Field("items[0].price"),
        ),
        (
            cart(good, good, r#"[{"sku":"42","sku":"43"}]"#),
            Field("items[0].sku"),
        ),
        (
            cart(good, good, &format!(r#"[{item}],"quantity":1"#)),
            Field("quantity"),
        ),
        (order(good, good, "1"), Field("quantity")),
        (
            format!(r#"{{"order_id":{good},"items":[{item}]}}"#),
            Field("buyer"),
        ),
        (cart(good, good, &format!("[{item}")), Json),
        (cart(good, good, &many(2_000)), TooLarge),
    ]);
    refused(&stack, "/orders", &bodies).await;
}

#[tokio::test]
async fn hostile_terms_of_a_sale_are_refused() {
    let stack = Stack::start();
    let terms = |stock: &str, limit: &str, end: &str| {
        format!(r#"{{"stock":{stock},"limit_per_buyer":{limit},"ends_at_ms":{end}}}"#)
    };
    let end = "9999999999999";
    let mut bodies = vec![
        (terms("1000001", "1", end), Field("stock")),
        (terms("1", "1000001", end), Field("limit_per_buyer")),
        (terms("1", "1", "9007199254740992"), Field("ends_at_ms")),
        (terms("1", "1", r#""2030-01-01""#), Field("ends_at_ms")),
        (terms("1", "1", r#"1,"sold":0"#), Field("sold")),
        (r#"{"stock":1}"#.to_owned(), Field("limit_per_buyer")),
    ];
    for none in NO_QUANTITIES.into_iter().filter(|none| *none != "1001") {
        bodies.push((terms(none, "1", end), Field("stock")));
        bodies.push((terms("1", none, end), Field("limit_per_buyer")));
        bodies.push((terms("1", "1", none), Field("ends_at_ms")));
    }
    for body in NO_OBJECTS {
        bodies.push((body.to_owned(), Json));
    }
    refused(&stack, "/sales/42", &bodies).await;
}

#[tokio::test]
async fn a_hostile_entry_is_refused() {
    let stack = Stack::lottery();
    let mut bodies = vec![
        (
            r#"{"entrant":"ann","chances":10}"#.to_owned(),
            Field("chances"),
        ),
        (
            r#"{"entrant":"ann","entrant":"bob"}"#.to_owned(),
            Field("entrant"),
        ),
        ("{\"entrant\":\"".to_owned() + &"x".repeat(17_000), TooLarge),
    ];
    for none in ["1", "null", r#""""#, r#""a b""#, r#""a\nb""#, r#"["a"]"#] {
        bodies.push((format!(r#"{{"entrant":{none}}}"#), Field("entrant")));
    }
    for body in NO_OBJECTS {
        bodies.push((body.to_owned(), Json));
    }
    refused(&stack, "/lottery/2026-11-21/entrants", &bodies).await;
}

#[tokio::test]
async fn a_hostile_path_or_method_is_refused() {
    let long_sku = format!("/sales/{}", "4".repeat(65));
    let of_sale = [
        ("GET", "/index.html", 404, "no_such_route"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/sales", 404, "no_such_route"),
        ("GET", "/sales/42/orders/o1", 404, "no_such_route"),
        ("DELETE", "/sales/42", 405, "method_not_allowed"),
        ("OPTIONS", "/sales/42", 405, "method_not_allowed"),
        ("GET", "/sales/42/orders", 405, "method_not_allowed"),
        ("GET", "/orders", 405, "method_not_allowed"),
        ("POST", "/orders/o1", 404, "no_such_route"),
        ("GET", "/sales/", 422, "invalid_input"),
        ("GET", "/sales/%7B42%7D", 422, "invalid_input"),
        ("GET", "/sales/4%002", 422, "invalid_input"),
        ("GET", "/sales/%ZZ", 422, "invalid_input"),
        ("GET", &long_sku, 422, "invalid_input"),
    ];
    let of_lottery = [
        ("GET", "/lottery", 404, "no_such_route"),
        ("GET", "/lottery/2026-11-21/winners", 404, "no_such_route"),
        ("GET", "/lottery/%FF", 422, "invalid_input"),
        ("DELETE", "/lottery/2026-11-21", 405, "method_not_allowed"),
        ("GET", "/lottery/2026-02-30", 422, "invalid_input"),
        ("POST", "/lottery/today/entrants", 422, "invalid_input"),
    ];
    are_refused(&Stack::start(), &of_sale).await;
    are_refused(&Stack::lottery(), &of_lottery).await;
}

async fn are_refused(stack: &Stack, requests: &[(&str, &str, u16, &str)]) {
    let caller = stack.caller();
    for &(method, path, status, code) in requests {
        let answer = caller.locks(method, path, "").await;
        let answer = answer.refuses(status, code);
        assert_eq!(
            status == 405,
            !answer.header("allow").is_empty(),
            "{answer:?}"
        );
    }
    assert_eq!(stack.redis().dump(), []);
}
