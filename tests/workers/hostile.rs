//! Whatever is sent, the answer is a 4xx that says what is wrong, and nothing is changed.

use serde_json::Value;

use crate::support::Stack;

/// What is wrong with a body, and how the answer says so.
enum Wrong {
    /// Status 422, with this field.
    Field(&'static str),
    /// Status 400.
    Json,
    /// Status 413.
    TooLarge,
}
use Wrong::{Field, Json, TooLarge};

/// What a route takes: the fields of a body, each with a good value, and values that are refused.
struct Route {
    path: &'static str,
    fields: Vec<(&'static str, &'static str, Vec<String>)>,
    others: Vec<(String, Wrong)>,
}

/// Stands for a field that is not there.
const MISSING: &str = "";
/// No whole number from 1 on, nor one that is too large for all fields.
const NO_NUMBERS: [&str; 13] = [
    MISSING,
    "0",
    "-1",
    "1.5",
    "1.0",
    "1e3",
    "18446744073709551617",
    "1e300",
    r#""1""#,
    "null",
    "true",
    "[1]",
    "{}",
];
const NO_IDS: [&str; 11] = [
    MISSING,
    "1",
    "null",
    r#""""#,
    r#""a b""#,
    r#""a\nb""#,
    r#""a\u0000""#,
    r#""{a}""#,
    r#""ü""#,
    r#""a/b""#,
    r#"["a"]"#,
];
const NO_TOKENS: [&str; 7] = [
    MISSING,
    "1",
    "null",
    r#""""#,
    r#""short""#,
    r#""AAAAAAAAAAAAAAAAAAAAA*""#,
    r#""AAAAAAAAAAAAAAAAAAAAAAA""#,
];
const NO_OBJECTS: [&str; 8] = [" ", "{", "[]", "null", "1", "quantity=1", "{'a':1}", "\u{feff}{}"];
const ID: &str = r#""x""#;
const TOKEN: &str = r#""AAAAAAAAAAAAAAAAAAAAAA""#;

fn all(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

/// No number from 1 to `most`.
fn no_number_to(most: u64) -> Vec<String> {
    let mut none = all(&NO_NUMBERS);
    none.push((most + 1).to_string());
    none
}

fn no_id() -> Vec<String> {
    let long = |length| format!(r#""{}""#, "x".repeat(length));
    [all(&NO_IDS), vec![long(65), long(9_000)]].concat()
}

impl Route {
    /// A good body, but for the value of one field.
    fn body(&self, field: &str, value: &str) -> String {
        let value_of = |name: &str, good: &str| match name == field {
            true if value == MISSING => None,
            true => Some(format!(r#""{name}":{value}"#)),
            false => Some(format!(r#""{name}":{good}"#)),
        };
        let fields = self.fields.iter().filter_map(|(name, good, _)| value_of(name, good));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    fn all_wrong(self) -> Vec<(String, Wrong)> {
        let mut bodies = Vec::new();
        for (name, good, wrong) in &self.fields {
            bodies.extend(wrong.iter().map(|value| (self.body(name, value), Field(name))));
            bodies.push((self.body(name, &format!(r#"{good},"{name}":{good}"#)), Field(name)));
            bodies.push((self.body(name, &format!(r#"{good},"price":0"#)), Field("price")));
            bodies.push((self.body(name, "x"), Json));
        }
        let good = self.body("none", MISSING);
        bodies.extend(NO_OBJECTS.map(|body| (body.to_owned(), Json)));
        bodies.extend([(format!("[{good}]"), Json), (format!("{good}x"), Json)]);
        bodies.push((good + &" ".repeat(17_000), TooLarge));
        bodies.extend(self.others);
        bodies
    }

    /// Sends all that is wrong. Nothing in Redis is changed by it, not even a fence.
    async fn refuses_what_is_wrong(self, stack: &Stack) {
        let (caller, path) = (stack.caller(), self.path);
        let before = stack.redis().dump();
        for (body, wrong) in self.all_wrong() {
            let answer = match path {
                "/sales/42" => caller.admin("PUT", path, &body).await,
                _ => caller.locks("POST", path, &body).await,
            };
            let (status, code, field) = match wrong {
                Field(field) => (422, "invalid_input", Value::from(field)),
                Json => (400, "bad_json", Value::Null),
                TooLarge => (413, "body_too_large", Value::Null),
            };
            let answer = answer.refuses(status, code);
            assert_eq!(answer.json["field"], field, "{body}: {answer:?}");
            assert!(answer.text.len() < 1000, "{answer:?}");
        }
        assert_eq!(stack.redis().dump(), before);
    }
}

#[tokio::test]
async fn a_hostile_body_is_refused_by_the_flash_sale() {
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
    for sku in ["42", "43"] {
        stack.caller().open(sku, 5, 5).await.answers(201);
    }
    let mut order = Route {
        path: "/sales/42/orders",
        fields: vec![
            ("order_id", ID, no_id()),
            ("buyer", ID, no_id()),
            ("quantity", "1", no_number_to(1_000)),
        ],
        others: vec![(r#"["x","x",1]"#.to_owned(), Json), (String::new(), Json)],
    };
    for value in ["NaN", "1e999", "2x", "+1"] {
        order.others.push((order.body("quantity", value), Json));
    }
    order.others.push((order.body("buyer", r#""\ud800""#), Json));
    order.others.push((order.body("quantity", &"[".repeat(10_000)), Field("quantity")));
    order.refuses_what_is_wrong(&stack).await;
    cart().refuses_what_is_wrong(&stack).await;
}

fn cart() -> Route {
    let item = r#"{"sku":"42"}"#;
    let many: Vec<_> = (0..33).map(|n| format!(r#"{{"sku":"s{n}"}}"#)).collect();
    let mut no_items = all(&[MISSING, "[]", "{}", "null", "1", r#""42""#, item]);
    no_items.extend([format!("[{}]", many.join(",")), format!("[{item},{item}]")]);
    let mut cart = Route {
        path: "/orders",
        fields: vec![
            ("order_id", ID, no_id()),
            ("buyer", ID, no_id()),
            ("items", r#"[{"sku":"42"}]"#, no_items),
        ],
        others: vec![(String::new(), Json)],
    };
    let mut wrong = |second: &str, field| {
        cart.others.push((cart.body("items", &format!("[{item},{second}]")), Field(field)));
    };
    for second in ["null", "1", r#""43""#, r#"["43",1]"#] {
        wrong(second, "items[1]");
    }
    wrong("{}", "items[1].sku");
    wrong(r#"{"sku":"43","price":0}"#, "items[1].price");
    wrong(r#"{"sku":"43","sku":"44"}"#, "items[1].sku");
    for id in &NO_IDS[1..] {
        wrong(&format!(r#"{{"sku":{id}}}"#), "items[1].sku");
    }
    for quantity in &NO_NUMBERS[1..] {
        wrong(&format!(r#"{{"sku":"43","quantity":{quantity}}}"#), "items[1].quantity");
    }
    cart
}

#[tokio::test]
async fn a_hostile_body_is_refused_by_the_lottery() {
    let stack = Stack::lottery();
    let path = "/lottery/2026-11-21/entrants";
    let others = vec![(String::new(), Json)];
    let entry = Route { path, fields: vec![("entrant", ID, no_id())], others };
    entry.refuses_what_is_wrong(&stack).await;
}

#[tokio::test]
async fn a_hostile_body_is_refused_by_the_lock_service() {
    let stack = Stack::locks();
    let optional = |most| no_number_to(most).split_off(1);
    let (mut wait, mut another_ttl) = (optional(30_000), optional(86_400_000));
    wait.retain(|value| value != "0");
    another_ttl.retain(|value| value != "null");
    let acquire = Route {
        path: "/locks/a/acquire",
        fields: vec![("ttl_ms", "4", optional(86_400_000)), ("wait_ms", "0", wait)],
        others: vec![(format!(r#"{{"token":{TOKEN}}}"#), Field("token"))],
    };
    let token = || ("token", TOKEN, all(&NO_TOKENS));
    let renew = Route {
        path: "/locks/a/renew",
        fields: vec![token(), ("ttl_ms", "4", another_ttl)],
        others: vec![(String::new(), Json)],
    };
    let release = Route {
        path: "/locks/a/release",
        fields: vec![token()],
        others: vec![(String::new(), Json)],
    };
    for route in [acquire, renew, release] {
        route.refuses_what_is_wrong(&stack).await;
    }
}

/// Method, path, status and code.
type Refused<'a> = (&'a str, &'a str, u16, &'a str);

#[tokio::test]
async fn a_hostile_path_or_method_is_refused() {
    let [long_sku, long_name] =
        [("sales", 65), ("locks", 508)].map(|(of, length)| format!("/{of}/{}", "n".repeat(length)));
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
    let of_locks = [
        ("GET", "/locks", 404, "no_such_route"),
        ("POST", "/locks/a/steal", 404, "no_such_route"),
        ("POST", "/locks/a%2Fb%2Facquire", 405, "method_not_allowed"),
        ("PUT", "/locks/a", 405, "method_not_allowed"),
        ("GET", "/locks/a/acquire", 405, "method_not_allowed"),
        ("GET", "/locks/%7B42%7D:fence", 422, "invalid_input"),
        ("GET", "/locks/%7B42%7D:receipt:x", 422, "invalid_input"),
        ("GET", "/locks/%FF", 422, "invalid_input"),
        ("GET", "/locks/%7D", 422, "invalid_input"),
        ("GET", &long_name, 422, "invalid_input"),
    ];
    let all: [(Stack, &[Refused<'_>]); 3] =
        [(Stack::start(), &of_sale), (Stack::lottery(), &of_lottery), (Stack::locks(), &of_locks)];
    for (stack, requests) in all {
        let caller = stack.caller();
        for &(method, path, status, code) in requests {
            let answer = caller.locks(method, path, "").await.refuses(status, code);
            assert_eq!(status == 405, !answer.header("allow").is_empty(), "{answer:?}");
        }
        assert_eq!(stack.redis().dump(), []);
    }
}
