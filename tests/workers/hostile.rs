//! Whatever is sent, the answer is a 4xx that says what is wrong, and nothing is changed.

use serde_json::Value;

use crate::support::Stack;

/// The field that is wrong, for a 422. `None` if the body is no JSON object, for a 400.
type Wrong = Option<&'static str>;

/// What a route takes: the fields of a body, each with a good value, and values that are refused.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) fields: Vec<(&'static str, &'static str, Vec<String>)>,
    /// Other bodies that are refused.
    pub(crate) others: Vec<(String, Wrong)>,
}

/// No whole number from 1 on, nor one that is too large for all fields. Values are between blanks.
/// The first one is empty: the field is not there.
const NO_NUMBERS: &str = r#" 0 -1 1.5 1.0 1e3 18446744073709551617 1e300 "1" null true [1] {}"#;
const NO_IDS: &str = r#" 1 null "" "a\u0020b" "a\nb" "a\u0000" "{a}" "ü" "a/b" ["a"]"#;

pub(crate) fn all(values: &str) -> Vec<String> {
    values.split(' ').map(str::to_owned).collect()
}

/// No number from 1 to `most`.
pub(crate) fn no_number_to(most: u64) -> Vec<String> {
    [all(NO_NUMBERS), vec![(most + 1).to_string()]].concat()
}

pub(crate) fn id(name: &'static str) -> (&'static str, &'static str, Vec<String>) {
    let long = |length| format!(r#""{}""#, "x".repeat(length));
    (name, r#""x""#, [all(NO_IDS), vec![long(65), long(9_000)]].concat())
}

impl Route {
    /// A good body, but for the value of one field.
    fn body(&self, field: &str, value: &str) -> String {
        let fields = self.fields.iter().filter_map(|(name, good, _)| {
            let value = if *name == field { value } else { *good };
            (!value.is_empty()).then(|| format!(r#""{name}":{value}"#))
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    fn all_wrong(&self) -> Vec<(String, Wrong)> {
        let mut bodies = self.others.clone();
        for (name, good, wrong) in &self.fields {
            bodies.extend(wrong.iter().map(|value| (self.body(name, value), Some(*name))));
            for more in [*name, "price"] {
                bodies.push((self.body(name, &format!(r#"{good},"{more}":{good}"#)), Some(more)));
            }
            bodies.push((self.body(name, "x"), None));
        }
        let good = self.body("none", "");
        let no_objects = [" ", "{", "[]", "null", "1", "quantity=1", "{'a':1}", "\u{feff}{}"];
        bodies.extend(no_objects.map(|body| (body.to_owned(), None)));
        bodies.extend([(format!("[{good}]"), None), (format!("{good}x"), None)]);
        bodies
    }

    /// Sends all that is wrong. Nothing in Redis is changed by it, not even a fence.
    pub(crate) async fn refuses_what_is_wrong(&self, stack: &Stack) {
        let (caller, before) = (stack.caller(), stack.redis().dump());
        let method = if self.path == "/sales/42" { "PUT" } else { "POST" };
        for (body, wrong) in self.all_wrong() {
            let answer = caller.ask(method, self.path, &body).await;
            let answer = match wrong {
                Some(_) => answer.refuses(422, "invalid_input"),
                None => answer.refuses(400, "bad_json"),
            };
            assert_eq!(answer.json["field"], Value::from(wrong), "{body}: {answer:?}");
            assert!(answer.text.len() < 1000, "{answer:?}");
        }
        let large = self.body("none", "") + &" ".repeat(17_000);
        caller.ask(method, self.path, &large).await.refuses(413, "body_too_large");
        assert_eq!(stack.redis().dump(), before);
    }
}

#[tokio::test]
async fn a_hostile_body_is_refused() {
    let stack = Stack::start();
    let terms = Route {
        path: "/sales/42",
        fields: vec![
            ("stock", "1", no_number_to(1_000_000)),
            ("limit_per_buyer", "1", no_number_to(1_000_000)),
            ("ends_at_ms", "9999999999999", no_number_to((1 << 53) - 1)),
        ],
        others: Vec::new(),
    };
    terms.refuses_what_is_wrong(&stack).await;
    stack.caller().open_all(&["42", "43"], 5, 5).await;
    let mut order = Route {
        path: "/sales/42/orders",
        fields: vec![id("order_id"), id("buyer"), ("quantity", "1", no_number_to(1_000))],
        others: vec![(r#"["x","x",1]"#.to_owned(), None), (String::new(), None)],
    };
    for value in ["NaN", "1e999", "2x", "+1"] {
        order.others.push((order.body("quantity", value), None));
    }
    order.others.push((order.body("buyer", r#""\ud800""#), None));
    order.others.push((order.body("quantity", &"[".repeat(10_000)), Some("quantity")));
    order.refuses_what_is_wrong(&stack).await;
    cart().refuses_what_is_wrong(&stack).await;
    let steps = ["/sales/42/reservations/confirm", "/sales/42/reservations/release"];
    let (_, _, no_tokens) = id("token");
    let token = ("token", r#""0123456789_-abcdefghij""#, [no_tokens, all(r#""x""#)].concat());
    for path in steps {
        let reserved = Route { path, fields: vec![token.clone()], others: Vec::new() };
        reserved.refuses_what_is_wrong(&stack).await;
    }
    let quantity = ("quantity", "1", no_number_to(1_000)[1..].to_vec());
    let fields = vec![id("buyer"), quantity];
    let wanted = Route { path: "/sales/42/reservations", fields, others: Vec::new() };
    wanted.refuses_what_is_wrong(&stack).await;
}

fn cart() -> Route {
    let item = r#"{"sku":"42"}"#;
    let many: Vec<_> = (0..33).map(|n| format!(r#"{{"sku":"s{n}"}}"#)).collect();
    let mut no_items = all(r#" [] {} null 1 "42" {"sku":"42"}"#);
    no_items.extend([format!("[{}]", many.join(",")), format!("[{item},{item}]")]);
    let mut cart = Route {
        path: "/orders",
        fields: vec![id("order_id"), id("buyer"), ("items", r#"[{"sku":"42"}]"#, no_items)],
        others: vec![(String::new(), None)],
    };
    // What stands around each of the values, as the second item.
    for (field, before, values, after) in [
        ("items[1]", "", r#" null 1 "43" ["43",1]"#, ""),
        ("items[1].sku", "", r#" {} {"sku":"43","sku":"44"}"#, ""),
        ("items[1].price", "", r#" {"sku":"43","price":0}"#, ""),
        ("items[1].sku", r#"{"sku":"#, NO_IDS, "}"),
        ("items[1].quantity", r#"{"sku":"43","quantity":"#, NO_NUMBERS, "}"),
    ] {
        for value in &all(values)[1..] {
            let items = format!("[{item},{before}{value}{after}]");
            cart.others.push((cart.body("items", &items), Some(field)));
        }
    }
    cart
}

/// Sends requests, each a method and a path, that must have this status and code.
pub(crate) async fn refuses_all(stack: &Stack, requests: &[(&str, &str, u16, &str)]) {
    for &(method, path, status, code) in requests {
        stack.caller().ask(method, path, "").await.refuses(status, code);
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn a_hostile_path_or_method_is_refused() {
    let long_sku = format!("/sales/{}", "n".repeat(65));
    let requests = [
        ("GET", "/index.html", 404, "no_such_route"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/sales", 404, "no_such_route"),
        ("GET", "/sales/42", 404, "no_such_sale"),
        ("GET", "/sales/42/orders/o1", 404, "no_such_route"),
        ("DELETE", "/sales/42", 405, "method_not_allowed"),
        ("OPTIONS", "/sales/42", 405, "method_not_allowed"),
        ("GET", "/sales/42/orders", 405, "method_not_allowed"),
        ("GET", "/sales/42/reservations", 405, "method_not_allowed"),
        ("GET", "/sales/42/reservations/confirm", 405, "method_not_allowed"),
        ("POST", "/sales/42/reservations/o1", 404, "no_such_route"),
        ("GET", "/orders", 405, "method_not_allowed"),
        ("POST", "/orders/o1", 404, "no_such_route"),
        ("GET", "/sales/", 422, "invalid_input"),
        ("GET", "/sales/%7B42%7D", 422, "invalid_input"),
        ("GET", "/sales/4%002", 422, "invalid_input"),
        ("GET", "/sales/%ZZ", 422, "invalid_input"),
        ("GET", &long_sku, 422, "invalid_input"),
    ];
    refuses_all(&Stack::start(), &requests).await;
}

#[tokio::test]
async fn head_is_answered_as_get_without_a_body() {
    let stack = Stack::selling(&["42"], 7, 1).await;
    let (shop, kind) = (stack.caller(), "content-type");
    for path in ["/sales/42", "/sales/none", "/sales/42/lock"] {
        let head = shop.send("HEAD", path, None, "").await;
        let get = shop.send("GET", path, None, "").await;
        assert_eq!((head.status, head.header(kind)), (get.status, get.header(kind)), "{path}");
    }
}
