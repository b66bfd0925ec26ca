//! Sells, and never more than there is. Orders that arrive at the same time share a turn of the
//! lock.

use std::collections::HashMap;
use std::time::Duration;

use edgelock::{Command, Decision, Reply, Runtime, Section, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::{self, Id, Order};
use crate::ledger::{Ledger, OrderNow, Sold};
use crate::problem::Problem;
use crate::section::WAIT;
use crate::shop::Shop;

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn place_order(&self, sku: &Id, body: &[u8]) -> Result<Response, Problem> {
        let order: Order = input::parse(body)?;
        let now = self.client.runtime().now();
        if self.isolate.sold_out.refuses(sku, &order, now) {
            self.isolate.sold_out.notice(sku, &self.client);
            return Err(Problem::sold_out());
        }
        let ledger = Ledger::of(sku);
        let lock = self.section_lock(&ledger.lock_name()).wait(WAIT).ttl(TTL);
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
    type Turn = Sales;

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
        match found.and_then(|found| place(order, &found, fence)) {
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
    /// A refusal stays true: nothing is ever given back, and a sale's terms never change. A sold
    /// order stays sold.
    pub(crate) fn peek(&self, placed: &Placed, replies: &[Reply]) -> Option<Outcome> {
        const NO_FENCE: u64 = 0;
        let found = OrderNow::parse(replies);
        match found.and_then(|found| place(&placed.order, &found, NO_FENCE)) {
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

/// The decision about an order.
#[derive(Debug)]
enum Placement {
    /// It was sold before.
    Known(Sold),
    /// It is sold. After it the buyer has `bought`.
    New {
        sold: Sold,
        bought: u64,
        ends_at_ms: u64,
    },
}

/// Decides `order` by what is recorded, under the lock's fence.
fn place(order: &Order, found: &OrderNow, fence: u64) -> Result<Placement, Problem> {
    let quantity = order.quantity.get();
    // First of all: a buyer is told of a sold order, even when the sale is over.
    if let Some(sold) = &found.sold {
        if sold.quantity == quantity && sold.buyer == order.buyer.as_str() {
            return Ok(Placement::Known(sold.clone()));
        }
        return Err(Problem::new(
            409,
            "order_conflict",
            "another order has this order_id",
        ));
    }
    let sale = found.at.sale.as_ref().ok_or_else(Problem::no_such_sale)?;
    if found.at.now_ms >= sale.ends_at_ms {
        return Err(Problem::new(410, "sale_over", "the sale is over"));
    }
    if sale.remaining == 0 {
        return Err(Problem::sold_out());
    }
    let Some(remaining) = sale.remaining.checked_sub(quantity) else {
        return Err(
            Problem::new(409, "not_enough_left", "fewer are left than were ordered")
                .remaining(sale.remaining),
        );
    };
    let bought = found.bought.saturating_add(quantity);
    if bought > sale.limit_per_buyer {
        return Err(Problem::new(
            409,
            "limit_reached",
            format!("a buyer may have {}", sale.limit_per_buyer),
        )
        .bought(found.bought));
    }
    let sold = Sold {
        quantity,
        buyer: order.buyer.to_string(),
        fence,
        remaining,
    };
    Ok(Placement::New {
        sold,
        bought,
        ends_at_ms: sale.ends_at_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Sale, SaleNow};

    const NOW_MS: u64 = 1_000;

    fn order(quantity: u64) -> Order {
        let body = format!(r#"{{"order_id":"o1","buyer":"ann","quantity":{quantity}}}"#);
        input::parse(body.as_bytes()).unwrap()
    }

    /// A sale with `remaining` left, for a buyer with `bought` and a limit of 3.
    fn found(remaining: u64, bought: u64) -> OrderNow {
        let sale = Sale {
            stock: 10,
            remaining,
            limit_per_buyer: 3,
            ends_at_ms: NOW_MS + 1,
        };
        OrderNow {
            at: SaleNow {
                sale: Some(sale),
                now_ms: NOW_MS,
            },
            sold: None,
            bought,
        }
    }

    #[track_caller]
    fn refused(quantity: u64, found: &OrderNow) -> String {
        let problem = place(&order(quantity), found, 7).unwrap_err();
        let body: serde_json::Value = serde_json::from_str(&Response::from(problem).body).unwrap();
        body["code"].as_str().unwrap().to_owned()
    }

    #[test]
    fn an_order_is_sold_down_to_the_last_unit_and_up_to_the_limit() {
        for (remaining, bought, quantity) in [(10, 0, 1), (3, 0, 3), (1, 2, 1), (10, 0, 3)] {
            let found = found(remaining, bought);
            let placement = place(&order(quantity), &found, 7).unwrap();
            let Placement::New {
                sold, bought: has, ..
            } = placement
            else {
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
        let sold = Sold {
            quantity: 2,
            buyer: "ann".to_owned(),
            fence: 1,
            remaining: 0,
        };
        let mut found = found(0, 9);
        found.sold = Some(sold.clone());
        found.at.sale = None;
        let placement = place(&order(2), &found, 7).unwrap();
        assert!(matches!(placement, Placement::Known(repeated) if repeated == sold));
    }

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
