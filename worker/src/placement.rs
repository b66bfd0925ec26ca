//! The rules of a sale: decides an order by what is recorded, be it an order of its own or an item
//! of a cart. Nothing here knows a host, a lock or Redis.

use shared::problem::Problem;

use crate::input::Order;

pub const SOLD_OUT: &str = "sold_out";
pub const NO_SUCH_SALE: &str = "no_such_sale";

/// A sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    pub stock: u64,
    pub remaining: u64,
    pub limit_per_buyer: u64,
    pub ends_at_ms: u64,
    pub two_steps: bool,
}

/// A sale, if there is one, at a time.
#[derive(Debug)]
pub struct SaleNow {
    pub sale: Option<Sale>,
    pub now_ms: u64,
}

/// An order that was sold: what to whom, and what remained after it. A cart has such a record in
/// each of its sales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sold {
    pub quantity: u64,
    pub buyer: String,
    /// How many were left when its turn began: no other turn has the same number.
    pub turn: u64,
    pub remaining: u64,
    pub cart: Option<InCart>,
}

/// An order that is part of a cart of so many `items`, which are sold under one fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InCart {
    pub items: u64,
    pub fence: u64,
}

/// What is recorded for an order.
#[derive(Debug)]
pub struct OrderNow {
    pub at: SaleNow,
    /// The order, if it was sold before.
    pub sold: Option<Sold>,
    /// How many the buyer has.
    pub bought: u64,
}

/// The decision about an order.
#[derive(Debug)]
pub enum Placement {
    /// It was sold before.
    Known(Sold),
    /// It is sold. After it the buyer has `bought`.
    New { sold: Sold, bought: u64, ends_at_ms: u64 },
}

/// Decides `order` by what is recorded, be it one of its own or part of a cart. Without the lock, a
/// decision that sells is void. Any other stays true: nothing is ever given back, a sale's terms
/// never change, and a sold order stays sold.
///
/// # Errors
/// Why it is not sold.
pub fn place(order: &Order, cart: Option<InCart>, found: &OrderNow) -> Result<Placement, Problem> {
    let quantity = order.quantity.0;
    // First of all: a buyer is told of a sold order, even when the sale is over.
    if let Some(sold) = &found.sold {
        let is_same = sold.quantity == quantity && sold.buyer == order.buyer.as_str();
        let items = |cart: InCart| cart.items;
        if is_same && sold.cart.map(items) == cart.map(items) {
            return Ok(Placement::Known(sold.clone()));
        }
        return Err(order_conflict());
    }
    let sale = found.at.open()?;
    if sale.two_steps {
        let told = "this sale has two steps: reserve first, and then confirm";
        return Err(Problem::new(409, "two_steps", told));
    }
    if sale.remaining == 0 {
        return Err(sold_out());
    }
    let Some(remaining) = sale.remaining.checked_sub(quantity) else {
        let few = Problem::new(409, "not_enough_left", "fewer are left than were ordered");
        return Err(few.with("remaining", sale.remaining));
    };
    sale.leaves(found.bought, quantity)?;
    let bought = found.bought + quantity;
    let buyer = order.buyer.to_string();
    let sold = Sold { quantity, buyer, turn: sale.remaining, remaining, cart };
    Ok(Placement::New { sold, bought, ends_at_ms: sale.ends_at_ms })
}

impl SaleNow {
    /// # Errors
    /// It is not there, or over.
    pub fn open(&self) -> Result<&Sale, Problem> {
        let sale = self.sale.as_ref().ok_or_else(no_such_sale)?;
        let over = || Problem::new(410, "sale_over", "the sale is over");
        (self.now_ms < sale.ends_at_ms).then_some(sale).ok_or_else(over)
    }
}

impl Sale {
    /// How many a buyer of this sale may still have, which is not less than `quantity`.
    ///
    /// # Errors
    /// It is less.
    pub fn leaves(&self, bought: u64, quantity: u64) -> Result<u64, Problem> {
        let left = self.limit_per_buyer.saturating_sub(bought);
        let told = || format!("a buyer may have {}", self.limit_per_buyer);
        let reached = || Problem::new(409, "limit_reached", told()).with("bought", bought);
        (quantity <= left).then_some(left).ok_or_else(reached)
    }
}

pub fn sold_out() -> Problem {
    Problem::new(409, SOLD_OUT, "nothing is left").with("remaining", 0)
}

pub fn no_such_sale() -> Problem {
    Problem::new(404, NO_SUCH_SALE, "there is no sale of this sku; PUT /sales/{sku} opens one")
}

pub fn order_conflict() -> Problem {
    let told = "another order has this order_id; draw a new one at random";
    Problem::new(409, "order_conflict", told)
}
