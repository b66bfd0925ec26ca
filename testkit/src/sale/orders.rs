//! What the crowd sends: honest orders, repeats of them, and requests that are no orders.

use reqwest::Method;
use serde_json::json;

/// Each buyer comes back now and then, so that limits are reached while something is left. Seven of
/// ten requests buy, and ask for a little more than there is.
const BUYERS: usize = 750;

/// A request of a customer.
#[derive(Clone)]
pub struct Order {
    /// The method of HTTP.
    pub method: Method,
    /// Below the address of a Worker.
    pub path: String,
    /// What is sent.
    pub body: String,
    /// The order that it is about; `None` if it must be refused as bad input.
    pub honest: Option<Honest>,
}

/// An order that the Worker may accept.
#[derive(Clone)]
pub struct Honest {
    /// Its name, by which it is executed once.
    pub id: String,
    /// How many units.
    pub quantity: u64,
}

/// Orders for one unit each, each by another buyer.
pub fn fresh(sku: &str, count: usize) -> Vec<Order> {
    (0..count)
        .map(|index| honest(sku, &format!("quiet-{index}"), &format!("buyer-{index}"), 1))
        .collect()
}

/// Orders of which every fifth repeats one of the last thirty, and every tenth is hostile. They are
/// the same in each run.
pub fn mixed(sku: &str, count: usize) -> Vec<Order> {
    let mut orders: Vec<Order> = Vec::with_capacity(count);
    for index in 0..count {
        let order = match index % 10 {
            3 | 8 => again(&orders, index).unwrap_or_else(|| new(sku, index)),
            5 => hostile(sku, index / 10),
            _ => new(sku, index),
        };
        orders.push(order);
    }
    orders
}

/// Orders for one unit each, each by another buyer, as carts of one item. Carts share no turns.
pub fn carts(sku: &str, count: usize) -> Vec<Order> {
    let cart = |index: usize| {
        let id = format!("cart-{index}");
        let items = [json!({ "sku": sku })];
        Order {
            path: "/orders".to_owned(),
            body: json!({ "order_id": id, "buyer": id, "items": items }).to_string(),
            ..honest(sku, &id, &id, 1)
        }
    };
    (0..count).map(cart).collect()
}

fn new(sku: &str, index: usize) -> Order {
    let buyer = format!("buyer-{}", index * 7 % BUYERS);
    honest(sku, &format!("{sku}-{index}"), &buyer, 1 + index as u64 % 2)
}

fn again(orders: &[Order], index: usize) -> Option<Order> {
    let recent = &orders[orders.len().saturating_sub(1 + index % 30)..];
    recent.iter().find(|order| order.honest.is_some()).cloned()
}

fn honest(sku: &str, id: &str, buyer: &str, quantity: u64) -> Order {
    let body = json!({ "order_id": id, "buyer": buyer, "quantity": quantity }).to_string();
    Order { honest: Some(Honest { id: id.to_owned(), quantity }), ..post(sku, body) }
}

fn hostile(sku: &str, index: usize) -> Order {
    let order = |id: &str, buyer: &str, quantity: &str| {
        format!(r#"{{"order_id":{},"buyer":{},"quantity":{quantity}}}"#, json!(id), json!(buyer))
    };
    let id = format!("hostile-{index}");
    match index % 14 {
        0 => post(sku, String::new()),
        1 => post(sku, r#"{"order_id":"#.to_owned()),
        2 => post(sku, "[1, 2, 3]".to_owned()),
        3 => post(sku, order(&id, "mallory", "-1")),
        4 => post(sku, order(&id, "mallory", "0")),
        5 => post(sku, order(&id, "mallory", "1.5")),
        6 => post(sku, order(&id, "mallory", "1e300")),
        7 => post(sku, order(&id, "mallory", "18446744073709551616")),
        8 => post(sku, order(&id, "mallory", r#"1,"price":0"#)),
        9 => post(sku, order(&"x".repeat(10_000), "mallory", "1")),
        10 => post(sku, order(&id, "", "1")),
        11 => post(sku, order(&id, "mallory\r\n*1\r\n$8\r\nFLUSHALL\r\n", "1")),
        12 => Order { method: Method::DELETE, ..post(sku, String::new()) },
        _ => post("no-such-sale", order(&id, "mallory", "1")),
    }
}

fn post(sku: &str, body: String) -> Order {
    Order { method: Method::POST, path: format!("/sales/{sku}/orders"), body, honest: None }
}
