//! The rules of the Workers, in the files that know no host.

mod gate;
mod lottery;
mod observe;
mod problem;

use std::collections::BTreeSet;
use std::time::Duration;

use edgelock::{Command, Decision, Instant, Reply, Section};
use shared::body::{Id, parse};

use crate::input::Order;
use crate::ledger::{Ledger, READS_OF_ORDER, SoldOutNow};
use crate::placement::{ONE_ITEM, OrderNow, Placement, Sale, SaleNow, Sold, place};
use crate::sold_out::SoldOut;
use crate::turn::{Orders, Placed, Sales};

const NOW_MS: u64 = 1_000;

fn order(quantity: u64) -> Order {
    let body = format!(r#"{{"order_id":"o1","buyer":"ann","quantity":{quantity}}}"#);
    parse(body.as_bytes()).unwrap()
}

/// A sale with `remaining` left, for a buyer with `bought` and a limit of 3.
fn found(remaining: u64, bought: u64) -> OrderNow {
    let sale = Sale { stock: 10, remaining, limit_per_buyer: 3, ends_at_ms: NOW_MS + 1 };
    OrderNow { at: SaleNow { sale: Some(sale), now_ms: NOW_MS }, sold: None, bought }
}

#[track_caller]
fn refused(quantity: u64, found: &OrderNow) -> String {
    let problem = place(&order(quantity), ONE_ITEM, found, 7).unwrap_err();
    problem.code.to_owned()
}

#[test]
fn an_order_is_sold_down_to_the_last_unit_and_up_to_the_limit() {
    for (remaining, bought, quantity) in [(10, 0, 1), (3, 0, 3), (1, 2, 1), (10, 0, 3)] {
        let found = found(remaining, bought);
        let placement = place(&order(quantity), ONE_ITEM, &found, 7).unwrap();
        let Placement::New { sold, bought: has, .. } = placement else {
            panic!("it was sold before")
        };
        assert_eq!(sold.remaining, remaining - quantity);
        assert_eq!((sold.quantity, sold.fence), (quantity, 7));
        assert_eq!(has, bought + quantity);
    }
}

#[test]
fn an_order_is_refused_for_the_first_of_these_reasons() {
    let mut conflict = found(0, 9);
    conflict.sold = Some(Sold {
        quantity: 2,
        buyer: "ann".to_owned(),
        fence: 1,
        remaining: 0,
        items: ONE_ITEM,
    });
    let mut over = found(0, 9);
    over.at.now_ms = NOW_MS + 1;
    let mut none = found(0, 9);
    none.at.sale = None;
    for (found, quantity, code) in [
        (conflict, 1, "order_conflict"),
        (none, 1, "no_such_sale"),
        (over, 1, "sale_over"),
        (found(0, 9), 1, "sold_out"),
        (found(1, 9), 2, "not_enough_left"),
        (found(2, 2), 2, "limit_reached"),
        (found(10, u64::MAX), 1, "limit_reached"),
    ] {
        assert_eq!(refused(quantity, &found), code);
    }
}

#[test]
fn what_was_sold_is_repeated_whatever_became_of_the_sale() {
    let sold =
        Sold { quantity: 2, buyer: "ann".to_owned(), fence: 1, remaining: 0, items: ONE_ITEM };
    let mut found = found(0, 9);
    found.sold = Some(sold.clone());
    found.at.sale = None;
    let placement = place(&order(2), ONE_ITEM, &found, 7).unwrap();
    assert!(matches!(placement, Placement::Known(repeated) if repeated == sold));
}

fn text(text: impl ToString) -> Reply {
    Reply::Bytes(text.to_string().into())
}

/// The reads of a sale of 3, with a limit of 2, before anybody bought.
fn replies() -> [Reply; 4] {
    let terms = ["3", "3", "2", "9000"].map(text).to_vec();
    let time = ["1", "0"].map(text).to_vec();
    [Reply::Array(terms), Reply::Array(time), Reply::Nil, Reply::Nil]
}

/// The outcomes of orders in one turn: a status, or a code.
fn in_one_turn(orders: &[(&str, &str, u64)]) -> Vec<String> {
    let mut sales = Sales::default();
    let decide = |(order_id, buyer, quantity): &(&str, &str, u64)| {
        let body =
            format!(r#"{{"order_id":"{order_id}","buyer":"{buyer}","quantity":{quantity}}}"#);
        let placed = Placed {
            ledger: Ledger::of(&Id::parse("42").unwrap()),
            order: parse(body.as_bytes()).unwrap(),
        };
        let decision = Orders.decide(&placed, &replies(), &mut sales, 7);
        let (Decision::Write(_, outcome) | Decision::Leave(outcome)) = decision;
        outcome.map_or_else(|problem| problem.code.to_owned(), |(_, status)| status.to_string())
    };
    orders.iter().map(decide).collect()
}

#[test]
fn an_order_sees_what_those_before_it_in_its_turn_have_bought() {
    let orders = [
        ("o1", "ann", 2),
        ("o1", "ann", 2),
        ("o1", "bob", 2),
        ("o2", "bob", 2),
        ("o3", "ann", 1),
        ("o4", "bob", 1),
        ("o5", "cid", 1),
    ];
    let outcomes = in_one_turn(&orders);
    let expected =
        ["201", "200", "order_conflict", "not_enough_left", "limit_reached", "201", "sold_out"];
    assert_eq!(outcomes, expected);
}

fn terms(terms: [&str; 4]) -> Reply {
    Reply::Array(terms.map(text).to_vec())
}

fn time() -> Reply {
    Reply::Array(vec![text("1"), text("2000")])
}

#[test]
fn every_key_of_a_sale_has_its_sku_as_hash_tag() {
    let ledger = Ledger::of(&Id::parse("a.b").unwrap());
    let order = br#"{"order_id":"o1","buyer":"ann","quantity":1}"#;
    let order: Order = parse(order).unwrap();
    let sold = Sold::parse("1 ann 7 9").unwrap();
    let mut commands = ledger.read_order(&order);
    assert_eq!(commands.len(), READS_OF_ORDER);
    commands.extend(ledger.sell(&order, &sold, 1));
    commands.extend(ledger.expire(1));
    for key in commands.iter().flat_map(Command::keys) {
        assert!(key.starts_with("sale:{a.b}"), "{key}");
    }
    assert_eq!(ledger.lock_name(), "sale:{a.b}:lock");
}

#[test]
fn a_record_is_read_as_it_was_written() {
    for (items, record) in [(1, "2 ann 1700000000000000 7"), (3, "2 ann 1700000000000000 7 3")] {
        let sold = Sold {
            quantity: 2,
            buyer: "ann".to_owned(),
            fence: 1_700_000_000_000_000,
            remaining: 7,
            items,
        };
        assert_eq!(sold.record(), record);
        assert_eq!(Sold::parse(record), Some(sold));
    }
    for nonsense in [
        "",
        "2 ann 7",
        "2 ann 7 1 x",
        "2 ann 7 1 1 x",
        "2  ann 7 1 1",
        "-2 ann 7 1 1",
        "2.0 ann 7 1 1",
    ] {
        assert_eq!(Sold::parse(nonsense), None, "{nonsense}");
    }
}

#[test]
fn a_sale_is_sold_out_until_its_end_if_nothing_is_left() {
    let ids = Reply::Array(vec![text("o1"), text("o2")]);
    let found = |left, end| {
        let terms = terms(["5", left, "3", end]);
        SoldOutNow::parse(&[terms, time(), ids.clone()])
    };
    let sold_out = found("0", "1010").unwrap();
    assert_eq!(sold_out.ends_in, Duration::from_millis(8));
    assert_eq!(sold_out.orders, ["o1", "o2"].map(str::to_owned).into());
    assert!(found("1", "1010").is_none());
    assert!(found("0", "1001").is_none());
    assert!(SoldOutNow::parse(&[terms(["5", "0", "3", "1010"]), time()]).is_none());
}

#[test]
fn a_sale_is_there_as_a_whole_or_not_at_all() {
    let none = Reply::Array(vec![Reply::Nil; 4]);
    let found = SaleNow::parse(&[none, time()]).unwrap();
    assert_eq!((found.sale, found.now_ms), (None, 1_002));
    let found = SaleNow::parse(&[terms(["5", "4", "3", "2"]), time()]).unwrap();
    assert_eq!(found.sale.unwrap().remaining, 4);

    let partly = Reply::Array(vec![text("5"), text("4"), text("3"), Reply::Nil]);
    for corrupt in [
        partly,
        terms(["5", "6", "3", "2"]),
        terms(["5", "-1", "3", "2"]),
        terms(["5", "4", "", "2"]),
        Reply::Array(vec![text("5")]),
        Reply::Nil,
        text("5"),
    ] {
        assert!(SaleNow::parse(&[corrupt.clone(), time()]).is_err(), "{corrupt:?}");
    }
    assert!(SaleNow::parse(&[]).is_err());
    assert!(OrderNow::parse(&[time()]).is_err());
}

fn at(ms: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(ms))
}

fn known(ends_in_ms: u64) -> Option<SoldOutNow> {
    Some(SoldOutNow {
        orders: BTreeSet::from(["sold".to_owned()]),
        ends_in: Duration::from_millis(ends_in_ms),
    })
}

fn id(id: &str) -> Id {
    Id::parse(id).expect("an id")
}

fn sku() -> Id {
    id("lamp")
}

#[test]
fn one_order_finds_out_again_while_the_others_are_still_refused() {
    let memory = SoldOut::default();
    assert!(memory.begin(&sku(), at(0)));
    memory.remember(sku(), known(60_000), at(0));
    assert!(memory.refuses(&sku(), &id("late"), at(2_499)));
    assert!(!memory.begin(&sku(), at(2_499)));
    assert!(memory.begin(&sku(), at(2_500)));
    assert!(!memory.begin(&sku(), at(2_501)));
    assert!(memory.refuses(&sku(), &id("late"), at(2_501)));
    memory.remember(sku(), known(60_000), at(2_500));
    assert!(memory.refuses(&sku(), &id("late"), at(7_499)));
    assert!(!memory.refuses(&sku(), &id("late"), at(7_500)));
}

#[test]
fn whose_order_is_on_record_is_not_refused() {
    let memory = SoldOut::default();
    memory.remember(sku(), known(60_000), at(0));
    assert!(!memory.refuses(&sku(), &id("sold"), at(1)));
}

#[test]
fn what_is_remembered_is_forgotten_at_the_end_of_the_sale_and_when_it_has_stock_again() {
    let memory = SoldOut::default();
    memory.remember(sku(), known(100), at(0));
    assert!(memory.refuses(&sku(), &id("late"), at(99)));
    assert!(!memory.refuses(&sku(), &id("late"), at(100)));
    memory.remember(sku(), known(60_000), at(200));
    memory.remember(sku(), None, at(300));
    assert!(!memory.refuses(&sku(), &id("late"), at(301)));
}
