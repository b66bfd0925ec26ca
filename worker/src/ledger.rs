//! How a sale is stored in Redis. The only file that knows its keys.
//!
//! - `sale:{sku}` is a hash of the terms and of what remains.
//! - `sale:{sku}:orders` is a hash of order → record.
//! - `sale:{sku}:buyers` is a hash of buyer → how many.
//! - `sale:{sku}:reserved:<token>` is the record of an order that is not confirmed yet, and lasts
//!   as long as the reservation. Once it is confirmed, its number is the token.
//! - `sale:{sku}:units` is the name of the reservations.
//!
//! All share the sku as hash tag, and so the slot of a cluster. All expire a week after the sale's
//! end.

use std::collections::BTreeSet;
use std::time::Duration;

use edgelock::{Command, Reply, Token};
use shared::body::Id;
use shared::problem::Problem;
use shared::reply::{now_ms, whole};

use crate::input::{Order, Terms};
use crate::placement::{InCart, OrderNow, Sale, SaleNow, Sold};

/// How many commands [`Ledger::read_order`] has.
pub const READS_OF_ORDER: usize = 3;

const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The keys of one sale.
pub struct Ledger {
    sale: String,
    orders: String,
    buyers: String,
}

/// What [`Ledger::read_sold_out`] found of a sale that goes on and is sold out.
pub struct SoldOutNow {
    /// The ids of all orders of the sale.
    pub orders: BTreeSet<String>,
    pub ends_in: Duration,
}

impl Ledger {
    pub fn of(sku: &Id) -> Self {
        Self {
            sale: format!("sale:{{{sku}}}"),
            orders: format!("sale:{{{sku}}}:orders"),
            buyers: format!("sale:{{{sku}}}:buyers"),
        }
    }

    pub fn lock_name(&self) -> String {
        format!("{}:lock", self.sale)
    }

    pub fn units_name(&self) -> String {
        format!("{}:units", self.sale)
    }

    pub fn read_sale(&self) -> Vec<Command> {
        vec![self.terms(), Command::new("TIME")]
    }

    /// Redis's time is not read: it never repeats, and so would cost each turn a round trip.
    pub fn read_order(&self, order: &Order) -> Vec<Command> {
        vec![
            self.terms(),
            field("HGET", &self.orders, &order.order_id),
            self.read_bought(&order.buyer),
        ]
    }

    fn terms(&self) -> Command {
        let terms = ["stock", "remaining", "limit_per_buyer", "ends_at_ms", "two_steps"];
        terms.into_iter().fold(Command::new("HMGET").key(&self.sale), Command::arg)
    }

    pub fn count_orders(&self) -> Command {
        Command::new("HLEN").key(&self.orders)
    }

    pub fn read_sold_out(&self) -> Vec<Command> {
        let mut reads = self.read_sale();
        reads.push(Command::new("HKEYS").key(&self.orders));
        reads
    }

    /// Records a new sale.
    pub fn open(&self, terms: &Terms) -> Vec<Command> {
        let stock = terms.stock.0;
        let ends_at_ms = terms.ends_at_ms.0;
        let mut sale = Command::new("HSET")
            .key(&self.sale)
            .arg("stock")
            .arg(stock)
            .arg("remaining")
            .arg(stock)
            .arg("limit_per_buyer")
            .arg(terms.limit_per_buyer.0)
            .arg("ends_at_ms")
            .arg(ends_at_ms);
        if !terms.two_steps {
            return vec![sale, expire(&self.sale, ends_at_ms)];
        }
        sale = sale.arg("two_steps").arg(1);
        // The count of a sale that is opened anew begins anew. By itself it would never expire.
        let confirmed = format!("{}:confirmed", self.units_name());
        let none = Command::new("SET").key(&confirmed).arg(0);
        vec![sale, expire(&self.sale, ends_at_ms), none, expire(&confirmed, ends_at_ms)]
    }

    pub fn read_bought(&self, buyer: &Id) -> Command {
        field("HGET", &self.buyers, buyer)
    }

    /// Records what is reserved by this token, for as long as the reservation lasts.
    pub fn reserve(&self, token: &Token, sold: &Sold, lasts: Duration) -> Command {
        let reserved = Command::new("SET").key(self.reserved(token)).arg(sold.record());
        reserved.arg("PX").arg(lasts.as_millis().to_string())
    }

    pub fn read_reserved(&self, token: &Token) -> Vec<Command> {
        let mut reads = self.read_sale();
        reads.push(field("HGET", &self.orders, token.expose()));
        reads.push(Command::new("GET").key(self.reserved(token)));
        reads
    }

    /// Records what was reserved by this token as an order.
    pub fn confirm(&self, token: &Token, sold: &Sold, ends_at_ms: u64) -> Vec<Command> {
        let Sold { quantity, buyer, .. } = sold;
        let mut writes = vec![
            field("HINCRBY", &self.sale, "remaining").arg(format!("-{quantity}")),
            field("HSET", &self.orders, token.expose()).arg(sold.record()),
            field("HINCRBY", &self.buyers, buyer).arg(*quantity),
        ];
        writes.extend(self.expire(ends_at_ms));
        writes
    }

    fn reserved(&self, token: &Token) -> String {
        format!("{}:reserved:{}", self.sale, token.expose())
    }

    /// Records an order that was `sold`. After it the buyer has `bought`.
    pub fn sell(&self, order: &Order, sold: &Sold, bought: u64) -> Vec<Command> {
        // The stock comes first: if Redis refuses a later command, too few are sold, and never too
        // many.
        vec![
            field("HSET", &self.sale, "remaining").arg(sold.remaining),
            field("HSET", &self.orders, &order.order_id).arg(sold.record()),
            field("HSET", &self.buyers, &order.buyer).arg(bought),
        ]
    }

    /// Sets when a sale's records expire. Send it after what [`Ledger::sell`] writes.
    pub fn expire(&self, ends_at_ms: u64) -> Vec<Command> {
        let keys = [&self.sale, &self.orders, &self.buyers];
        keys.map(|key| expire(key, ends_at_ms)).into()
    }
}

impl SaleNow {
    /// # Errors
    /// [`Problem::corrupt`] if the replies are not those of a sale that this file wrote.
    pub fn parse(replies: &[Reply]) -> Result<Self, Problem> {
        let [terms, time, ..] = replies else {
            return Err(Problem::corrupt());
        };
        Ok(Self { sale: Sale::parse(terms)?, now_ms: now_ms(time).ok_or_else(Problem::corrupt)? })
    }
}

impl OrderNow {
    /// What [`Ledger::read_order`] found, at this time of the Worker's clock.
    ///
    /// # Errors
    /// As [`SaleNow::parse`].
    pub fn parse(replies: &[Reply], now_ms: u64) -> Result<Self, Problem> {
        let [terms, sold, bought] = replies else {
            return Err(Problem::corrupt());
        };
        Ok(Self {
            at: SaleNow { sale: Sale::parse(terms)?, now_ms },
            sold: Sold::of(sold)?,
            bought: how_many(bought)?,
        })
    }
}

/// What is recorded of a token.
pub struct ReservedNow {
    pub at: SaleNow,
    pub confirmed: Option<Sold>,
    pub reserved: Option<Sold>,
}

impl ReservedNow {
    /// What [`Ledger::read_reserved`] found.
    ///
    /// # Errors
    /// As [`SaleNow::parse`].
    pub fn parse(replies: &[Reply]) -> Result<Self, Problem> {
        let [_, _, confirmed, reserved] = replies else {
            return Err(Problem::corrupt());
        };
        let (confirmed, reserved) = (Sold::of(confirmed)?, Sold::of(reserved)?);
        Ok(Self { at: SaleNow::parse(replies)?, confirmed, reserved })
    }
}

/// How many a buyer has, as [`Ledger::read_bought`] found.
///
/// # Errors
/// As [`SaleNow::parse`].
pub fn how_many(bought: &Reply) -> Result<u64, Problem> {
    let bought = if bought.is_nil() { Some(0) } else { whole(bought) };
    bought.ok_or_else(Problem::corrupt)
}

impl SoldOutNow {
    /// `None` if the sale is in another state.
    pub fn parse(replies: &[Reply]) -> Option<Self> {
        let found = SaleNow::parse(replies).ok()?;
        let sale = found.sale.filter(|sale| sale.remaining == 0)?;
        let ends_in = sale.ends_at_ms.checked_sub(found.now_ms)?;
        let [_, _, orders] = replies else {
            return None;
        };
        let orders = orders.as_array()?.iter();
        let orders: Option<_> = orders.map(|id| Some(id.as_str()?.to_owned())).collect();
        Some(Self { orders: orders?, ends_in: Duration::from_millis(ends_in) })
    }
}

impl Sale {
    fn parse(terms: &Reply) -> Result<Option<Self>, Problem> {
        let terms = terms.as_array().ok_or_else(Problem::corrupt)?;
        if terms.iter().all(Reply::is_nil) {
            return Ok(None);
        }
        let (terms, steps) = terms.split_at_checked(4).ok_or_else(Problem::corrupt)?;
        let terms: Option<Vec<_>> = terms.iter().map(whole).collect();
        let two_steps = match steps {
            [Reply::Nil] => false,
            [steps] if whole(steps) == Some(1) => true,
            _ => return Err(Problem::corrupt()),
        };
        match terms.as_deref() {
            Some(&[stock, remaining, limit_per_buyer, ends_at_ms]) if remaining <= stock => {
                Ok(Some(Self { stock, remaining, limit_per_buyer, ends_at_ms, two_steps }))
            }
            _ => Err(Problem::corrupt()),
        }
    }
}

impl Sold {
    fn of(record: &Reply) -> Result<Option<Self>, Problem> {
        let parsed = || record.as_str().and_then(Self::parse).ok_or_else(Problem::corrupt);
        (!record.is_nil()).then(parsed).transpose()
    }

    pub fn record(&self) -> String {
        let Self { quantity, buyer, turn, remaining, cart } = self;
        let order = format!("{quantity} {buyer} {turn} {remaining}");
        match cart {
            None => order,
            Some(InCart { items, fence }) => format!("{order} {items} {fence}"),
        }
    }

    pub fn parse(record: &str) -> Option<Self> {
        let words: Vec<_> = record.split(' ').collect();
        let (order, cart) = words.split_at_checked(4)?;
        let cart = match cart {
            [] => None,
            [items, fence] => {
                Some(InCart { items: items.parse().ok()?, fence: fence.parse().ok()? })
            }
            _ => return None,
        };
        Some(Self {
            quantity: order[0].parse().ok()?,
            buyer: order[1].to_owned(),
            turn: order[2].parse().ok()?,
            remaining: order[3].parse().ok()?,
            cart,
        })
    }
}

fn field(name: &str, key: &str, field: impl ToString) -> Command {
    Command::new(name).key(key).arg(field)
}

fn expire(key: &str, ends_at_ms: u64) -> Command {
    Command::new("PEXPIREAT").key(key).arg(ends_at_ms.saturating_add(KEPT_MS))
}
