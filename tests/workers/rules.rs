//! The rules of the Workers, in the files that know no host.

mod gate;
mod lottery;
mod observe;
mod problem;

use std::time::Duration;

use edgelock::{Decision, Instant, Reply, Section};
use shared::body::{Id, parse};

use crate::ledger::{Ledger, SoldOutNow};
use crate::placement::Sold;
use crate::sold_out::SoldOut;
use crate::turn::{Orders, Placed, Sales};

#[test]
fn only_what_was_recorded_is_taken_for_a_record() {
    for record in ["2 ann 9 7", "2 ann 9 7 3 1700000000000000"] {
        assert_eq!(Sold::parse(record).expect("a record").record(), record);
    }
    for wrong in
        ["", "2 ann 7", "2 ann 7 1 1", "2 ann 7 1 1 x", "2  ann 7 1", "-2 ann 7 1", "2.0 ann 7 1"]
    {
        assert_eq!(Sold::parse(wrong), None, "{wrong}");
    }
}

fn list<const N: usize>(texts: [&str; N]) -> Reply {
    Reply::Array(texts.map(|text| Reply::Bytes(text.to_owned().into())).to_vec())
}

/// A sale in one step.
fn terms(terms: [&str; 4]) -> Reply {
    let mut terms = list(terms).as_array().expect("a list").to_vec();
    terms.push(Reply::Nil);
    Reply::Array(terms)
}

#[test]
fn an_order_sees_what_those_before_it_in_its_turn_have_bought() {
    let mut sales = Sales::default();
    // A sale of 3, with a limit of 2, before anybody bought.
    let replies = [terms(["3", "3", "2", "9000"]), Reply::Nil, Reply::Nil];
    for (id, buyer, quantity, expected) in [
        ("o1", "ann", 2, "201"),
        ("o1", "ann", 2, "200"),
        ("o1", "bob", 2, "order_conflict"),
        ("o2", "bob", 2, "not_enough_left"),
        ("o3", "ann", 1, "limit_reached"),
        ("o4", "bob", 1, "201"),
        ("o5", "cid", 1, "sold_out"),
    ] {
        let order = format!(r#"{{"order_id":"{id}","buyer":"{buyer}","quantity":{quantity}}}"#);
        let order = parse(order.as_bytes()).expect("an order");
        let placed = Placed { ledger: Ledger::of(&sku()), order, at_ms: 0 };
        let decision = Orders.decide(&placed, &replies, &mut sales, 7);
        let (Decision::Write(_, outcome) | Decision::Leave(outcome)) = decision;
        let told = outcome
            .map_or_else(|problem| problem.code.to_owned(), |(_, status)| status.to_string());
        assert_eq!(told, expected, "{id} of {buyer}");
    }
}

fn sku() -> Id {
    Id::parse("lamp").expect("an id")
}

/// What is found of a sale of 5 when Redis's clock is at 1,002, with the order `sold`.
fn look(remaining: &str, end: &str) -> Option<SoldOutNow> {
    SoldOutNow::parse(&[terms(["5", remaining, "3", end]), list(["1", "2000"]), list(["sold"])])
}

/// Whether an isolate's memory refuses an order at this time.
fn refuses(memory: &SoldOut, order: &str, at_ms: u64) -> bool {
    memory.refuses(&sku(), &Id::parse(order).expect("an id"), at(at_ms))
}

fn at(ms: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(ms))
}

#[test]
fn a_sold_out_sale_is_remembered_until_its_end_for_orders_that_are_not_on_record() {
    let memory = SoldOut::default();
    memory.remember(sku(), look("0", "1102"), at(0));
    assert!(refuses(&memory, "late", 99) && !refuses(&memory, "sold", 99));
    assert!(!refuses(&memory, "late", 100));
    for other in [look("1", "9999"), look("0", "1001"), SoldOutNow::parse(&[])] {
        memory.remember(sku(), look("0", "9999"), at(200));
        assert!(refuses(&memory, "late", 300));
        memory.remember(sku(), other, at(300));
        assert!(!refuses(&memory, "late", 301));
    }
}

#[test]
fn one_order_finds_out_again_while_the_others_are_still_refused() {
    let memory = SoldOut::default();
    assert!(memory.begin(&sku(), at(0)));
    memory.remember(sku(), look("0", "60000"), at(0));
    for (ms, is_first) in [(2_499, false), (2_500, true), (2_501, false)] {
        assert_eq!(memory.begin(&sku(), at(ms)), is_first);
        assert!(refuses(&memory, "late", ms));
    }
    memory.remember(sku(), look("0", "60000"), at(2_500));
    assert!(refuses(&memory, "late", 7_499) && !refuses(&memory, "late", 7_500));
}
