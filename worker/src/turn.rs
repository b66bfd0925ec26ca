//! Decides the orders of one turn, each by what those before it have bought.

use std::collections::HashMap;

use edgelock::{Command, Decision, Reply, Section};
use shared::problem::Problem;

use crate::input::Order;
use crate::ledger::Ledger;
use crate::placement::{OrderNow, Placement, Sold, place};

/// How orders share turns.
pub struct Orders;

/// An order of a sale.
pub struct Placed {
    pub ledger: Ledger,
    pub order: Order,
    /// When it came, by the Worker's clock.
    pub at_ms: u64,
}

/// What was sold, and the status of the answer.
type Outcome = Result<(Sold, u16), Problem>;

/// What the orders of one turn changed of a sale.
#[derive(Default)]
pub struct Sales {
    /// As in [`Sold`].
    turn: Option<u64>,
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

    const USES_FENCE: bool = false;

    fn reads(&self, placed: &Placed) -> Vec<Command> {
        placed.ledger.read_order(&placed.order)
    }

    fn decide(
        &self,
        placed: &Placed,
        replies: &[Reply],
        sales: &mut Sales,
        _: u64,
    ) -> Decision<Outcome> {
        let Placed { ledger, order, .. } = placed;
        let found = OrderNow::parse(replies, placed.at_ms).map(|found| sales.after(order, found));
        match found.and_then(|found| place(order, None, &found)) {
            Err(problem) => Decision::Leave(Err(problem)),
            Ok(Placement::Known(sold)) => Decision::Leave(Ok((sold, 200))),
            Ok(Placement::New { mut sold, bought, ends_at_ms }) => {
                sold.turn = *sales.turn.get_or_insert(sold.turn);
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
    /// What needs no turn.
    pub fn peek(&self, placed: &Placed, replies: &[Reply]) -> Option<Outcome> {
        let found = OrderNow::parse(replies, placed.at_ms);
        match found.and_then(|found| place(&placed.order, None, &found)) {
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
