//! Sells, and never more than there is. Orders that arrive at the same time share a turn of the
//! lock.

use std::collections::HashMap;
use std::time::Duration;

use edgelock::{Command, Decision, Reply, Runtime, Section, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::{self, Id, Order};
use crate::ledger::{Ledger, OrderNow, Sold};
use crate::placement::{NO_FENCE, ONE_ITEM, Placement, place};
use crate::problem::Problem;
use crate::section::WAIT;
use crate::shop::Shop;

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn place_order(&self, sku: &Id, body: &[u8]) -> Result<Response, Problem> {
        let order: Order = input::parse(body)?;
        let now = self.client.runtime().now();
        if self.isolate.sold_out.refuses(sku, &order.order_id, now) {
            self.isolate.sold_out.notice(sku, &self.client);
            return Err(Problem::sold_out());
        }
        let ledger = Ledger::of(sku);
        let lock = self
            .section_lock(&ledger.lock_name())
            .wait_timeout(WAIT)
            .ttl(TTL);
        let placed = Placed {
            ledger,
            order: order.clone(),
        };
        let outcome = self.isolate.orders.submit(&lock, placed).await;
        let outcome = outcome.map_err(Problem::of_write)?;
        if outcome.as_ref().is_err_and(Problem::is_sold_out) {
            self.isolate.sold_out.notice(sku, &self.client);
        }
        let (sold, status) = outcome?;
        Ok(Response::json(status, &Receipt::of(sku, &order, &sold)))
    }
}

/// A turn takes two round trips. The ttl is for a Worker that died in a turn with the orders of
/// many.
const TTL: Duration = Duration::from_secs(3);

/// How orders share turns.
pub(crate) struct Orders;

/// An order of a sale.
pub(crate) struct Placed {
    ledger: Ledger,
    order: Order,
}

/// What was sold, and the status of the answer.
type Outcome = Result<(Sold, u16), Problem>;

/// What the orders of one turn changed of a sale.
#[derive(Default)]
pub(crate) struct Sales {
    remaining: Option<u64>,
    /// By order and by buyer.
    sold: HashMap<String, Sold>,
    bought: HashMap<String, u64>,
    expiries: Vec<Command>,
}

impl Section for Orders {
    type Item = Placed;
    type Answer = Outcome;
    type State = Sales;

    fn reads(&self, placed: &Placed) -> Vec<Command> {
        placed.ledger.read_order(&placed.order)
    }

    fn decide(
        &self,
        placed: &Placed,
        replies: &[Reply],
        sales: &mut Sales,
        fence: u64,
    ) -> Decision<Outcome> {
        let Placed { ledger, order } = placed;
        let found = OrderNow::parse(replies).map(|found| sales.after(order, found));
        match found.and_then(|found| place(order, ONE_ITEM, &found, fence)) {
            Err(problem) => Decision::Leave(Err(problem)),
            Ok(Placement::Known(sold)) => Decision::Leave(Ok((sold, 200))),
            Ok(Placement::New {
                sold,
                bought,
                ends_at_ms,
            }) => {
                sales.add(order, &sold, bought);
                sales.expiries = ledger.expire(ends_at_ms);
                Decision::Write(ledger.sell(order, &sold, bought), Ok((sold, 201)))
            }
        }
    }

    fn end(&self, sales: Sales) -> Vec<Command> {
        sales.expiries
    }
}

impl Orders {
    /// What needs no turn ([`NO_FENCE`]).
    pub(crate) fn peek(&self, placed: &Placed, replies: &[Reply]) -> Option<Outcome> {
        let found = OrderNow::parse(replies);
        match found.and_then(|found| place(&placed.order, ONE_ITEM, &found, NO_FENCE)) {
            Ok(Placement::New { .. }) => None,
            Ok(Placement::Known(sold)) => Some(Ok((sold, 200))),
            Err(problem) => Some(Err(problem)),
        }
    }
}

impl Sales {
    /// The state for `order`: what was `found` before the turn, with the turn's own changes.
    fn after(&self, order: &Order, mut found: OrderNow) -> OrderNow {
        if let (Some(sale), Some(remaining)) = (&mut found.at.sale, self.remaining) {
            sale.remaining = remaining;
        }
        if let Some(sold) = self.sold.get(order.order_id.as_str()) {
            found.sold = Some(sold.clone());
        }
        if let Some(bought) = self.bought.get(order.buyer.as_str()) {
            found.bought = *bought;
        }
        found
    }

    fn add(&mut self, order: &Order, sold: &Sold, bought: u64) {
        self.remaining = Some(sold.remaining);
        self.sold.insert(order.order_id.to_string(), sold.clone());
        self.bought.insert(order.buyer.to_string(), bought);
    }
}

/// A sold order as its buyer sees it: the same each time.
#[derive(Serialize)]
struct Receipt<'a> {
    order_id: &'a Id,
    sku: &'a Id,
    buyer: &'a Id,
    quantity: u64,
    remaining: u64,
    fence: u64,
}

impl<'a> Receipt<'a> {
    const fn of(sku: &'a Id, order: &'a Order, sold: &Sold) -> Self {
        Self {
            order_id: &order.order_id,
            sku,
            buyer: &order.buyer,
            quantity: sold.quantity,
            remaining: sold.remaining,
            fence: sold.fence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: impl ToString) -> Reply {
        Reply::Bytes(text.to_string().into())
    }

    /// The reads of a sale of 3, with a limit of 2, before anybody bought.
    fn replies() -> [Reply; 4] {
        let terms = ["3", "3", "2", "9000"].map(text).to_vec();
        let time = ["1", "0"].map(text).to_vec();
        [
            Reply::Array(terms),
            Reply::Array(time),
            Reply::Nil,
            Reply::Nil,
        ]
    }

    /// The outcomes of orders in one turn: a status, or a code.
    fn in_one_turn(orders: &[(&str, &str, u64)]) -> Vec<String> {
        let mut sales = Sales::default();
        let decide = |(order_id, buyer, quantity): &(&str, &str, u64)| {
            let body =
                format!(r#"{{"order_id":"{order_id}","buyer":"{buyer}","quantity":{quantity}}}"#);
            let placed = Placed {
                ledger: Ledger::of(&Id::parse("42").unwrap()),
                order: input::parse(body.as_bytes()).unwrap(),
            };
            let decision = Orders.decide(&placed, &replies(), &mut sales, 7);
            let (Decision::Write(_, outcome) | Decision::Leave(outcome)) = decision;
            outcome.map_or_else(
                |problem| {
                    let body = Response::from(problem).body;
                    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
                    body["code"].as_str().unwrap().to_owned()
                },
                |(_, status)| status.to_string(),
            )
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
        let expected = [
            "201",
            "200",
            "order_conflict",
            "not_enough_left",
            "limit_reached",
            "201",
            "sold_out",
        ];
        assert_eq!(outcomes, expected);
    }
}
