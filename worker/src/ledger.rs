//! How a sale is stored in Redis. The only file that knows its keys.
//!
//! - `sale:{sku}` is a hash of the terms and of what remains.
//! - `sale:{sku}:orders` is a hash of order → record.
//! - `sale:{sku}:buyers` is a hash of buyer → how many.
//!
//! All share the sku as hash tag, and so the slot of a cluster. All expire a week after the sale's
//! end.

use std::collections::BTreeSet;
use std::time::Duration;

use edgelock::{Command, Reply};

use crate::input::{Id, Order, Terms};
use crate::problem::Problem;
use crate::reply::{now_ms, whole};

/// How many commands [`Ledger::read_order`] has.
pub(crate) const READS_OF_ORDER: usize = 4;

const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The keys of one sale.
pub(crate) struct Ledger {
    sale: String,
    orders: String,
    buyers: String,
}

/// A sale in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sale {
    pub(crate) stock: u64,
    pub(crate) remaining: u64,
    pub(crate) limit_per_buyer: u64,
    pub(crate) ends_at_ms: u64,
}

/// An order in its stored form: what was sold to whom, under which fence, and what remained after
/// it. A cart has such a record in each of its sales, with the number of its `items`
/// behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sold {
    pub(crate) quantity: u64,
    pub(crate) buyer: String,
    pub(crate) fence: u64,
    pub(crate) remaining: u64,
    pub(crate) items: u64,
}

/// What [`Ledger::read_sale`] found.
#[derive(Debug)]
pub(crate) struct SaleNow {
    pub(crate) sale: Option<Sale>,
    /// Redis's clock, the same for all Workers.
    pub(crate) now_ms: u64,
}

/// What [`Ledger::read_order`] found.
#[derive(Debug)]
pub(crate) struct OrderNow {
    pub(crate) at: SaleNow,
    /// The order, if it was sold before.
    pub(crate) sold: Option<Sold>,
    /// How many the buyer has.
    pub(crate) bought: u64,
}

/// What [`Ledger::read_sold_out`] found of a sale that goes on and is sold out.
pub(crate) struct SoldOutNow {
    /// The ids of all orders of the sale.
    pub(crate) orders: BTreeSet<String>,
    pub(crate) ends_in: Duration,
}

impl Ledger {
    pub(crate) fn of(sku: &Id) -> Self {
        Self {
            sale: format!("sale:{{{sku}}}"),
            orders: format!("sale:{{{sku}}}:orders"),
            buyers: format!("sale:{{{sku}}}:buyers"),
        }
    }

    pub(crate) fn lock_name(&self) -> String {
        format!("{}:lock", self.sale)
    }

    pub(crate) fn read_sale(&self) -> Vec<Command> {
        let terms = Command::new("HMGET").key(&self.sale);
        let terms = ["stock", "remaining", "limit_per_buyer", "ends_at_ms"]
            .into_iter()
            .fold(terms, Command::arg);
        vec![terms, Command::new("TIME")]
    }

    pub(crate) fn read_order(&self, order: &Order) -> Vec<Command> {
        let mut reads = self.read_sale();
        reads.push(field("HGET", &self.orders, &order.order_id));
        reads.push(field("HGET", &self.buyers, &order.buyer));
        reads
    }

    pub(crate) fn count_orders(&self) -> Command {
        Command::new("HLEN").key(&self.orders)
    }

    pub(crate) fn read_sold_out(&self) -> Vec<Command> {
        let mut reads = self.read_sale();
        reads.push(Command::new("HKEYS").key(&self.orders));
        reads
    }

    /// Records a new sale.
    pub(crate) fn open(&self, terms: &Terms) -> Vec<Command> {
        let stock = terms.stock.get();
        let ends_at_ms = terms.ends_at_ms.get();
        let sale = Command::new("HSET")
            .key(&self.sale)
            .arg("stock")
            .arg(stock)
            .arg("remaining")
            .arg(stock)
            .arg("limit_per_buyer")
            .arg(terms.limit_per_buyer.get())
            .arg("ends_at_ms")
            .arg(ends_at_ms);
        vec![sale, expire(&self.sale, ends_at_ms)]
    }

    /// Records an order that was `sold`. After it the buyer has `bought`.
    pub(crate) fn sell(&self, order: &Order, sold: &Sold, bought: u64) -> Vec<Command> {
        // The stock comes first: if Redis refuses a later command, too few are sold, and never too
        // many.
        vec![
            field("HSET", &self.sale, "remaining").arg(sold.remaining),
            field("HSET", &self.orders, &order.order_id).arg(sold.record()),
            field("HSET", &self.buyers, &order.buyer).arg(bought),
        ]
    }

    /// Sets when a sale's records expire. Send it after what [`Ledger::sell`] writes.
    pub(crate) fn expire(&self, ends_at_ms: u64) -> Vec<Command> {
        let keys = [&self.sale, &self.orders, &self.buyers];
        keys.map(|key| expire(key, ends_at_ms)).into()
    }
}

impl SaleNow {
    /// # Errors
    /// [`Problem::corrupt`] if the replies are not those of a sale that this file wrote.
    pub(crate) fn parse(replies: &[Reply]) -> Result<Self, Problem> {
        let [terms, time, ..] = replies else {
            return Err(Problem::corrupt());
        };
        Ok(Self {
            sale: Sale::parse(terms)?,
            now_ms: now_ms(time).ok_or_else(Problem::corrupt)?,
        })
    }
}

impl OrderNow {
    /// # Errors
    /// As [`SaleNow::parse`].
    pub(crate) fn parse(replies: &[Reply]) -> Result<Self, Problem> {
        let [.., sold, bought] = replies else {
            return Err(Problem::corrupt());
        };
        let bought = match bought {
            Reply::Nil => Some(0),
            bought => whole(bought),
        };
        let sold = match sold {
            Reply::Nil => None,
            sold => Some(
                sold.as_str()
                    .and_then(Sold::parse)
                    .ok_or_else(Problem::corrupt)?,
            ),
        };
        Ok(Self {
            at: SaleNow::parse(replies)?,
            sold,
            bought: bought.ok_or_else(Problem::corrupt)?,
        })
    }
}

impl SoldOutNow {
    /// `None` if the sale is in another state.
    pub(crate) fn parse(replies: &[Reply]) -> Option<Self> {
        let found = SaleNow::parse(replies).ok()?;
        let sale = found.sale.filter(|sale| sale.remaining == 0)?;
        let ends_in = sale.ends_at_ms.checked_sub(found.now_ms)?;
        let [_, _, orders] = replies else {
            return None;
        };
        let orders = orders.as_array()?.iter();
        let orders: Option<_> = orders.map(|id| Some(id.as_str()?.to_owned())).collect();
        Some(Self {
            orders: orders?,
            ends_in: Duration::from_millis(ends_in),
        })
    }
}

impl Sale {
    fn parse(terms: &Reply) -> Result<Option<Self>, Problem> {
        let terms = terms.as_array().ok_or_else(Problem::corrupt)?;
        if terms.iter().all(Reply::is_nil) {
            return Ok(None);
        }
        let terms: Option<Vec<_>> = terms.iter().map(whole).collect();
        match terms.as_deref() {
            Some(&[stock, remaining, limit_per_buyer, ends_at_ms]) if remaining <= stock => {
                Ok(Some(Self {
                    stock,
                    remaining,
                    limit_per_buyer,
                    ends_at_ms,
                }))
            }
            _ => Err(Problem::corrupt()),
        }
    }
}

impl Sold {
    fn record(&self) -> String {
        let Self {
            quantity,
            buyer,
            fence,
            remaining,
            items,
        } = self;
        let order = format!("{quantity} {buyer} {fence} {remaining}");
        match items {
            1 => order,
            _ => format!("{order} {items}"),
        }
    }

    fn parse(record: &str) -> Option<Self> {
        let mut words = record.split(' ');
        let sold = Self {
            quantity: words.next()?.parse().ok()?,
            buyer: words.next()?.to_owned(),
            fence: words.next()?.parse().ok()?,
            remaining: words.next()?.parse().ok()?,
            items: words.next().map_or(Some(1), |items| items.parse().ok())?,
        };
        words.next().is_none().then_some(sold)
    }
}

fn field(name: &str, key: &str, field: impl ToString) -> Command {
    Command::new(name).key(key).arg(field)
}

fn expire(key: &str, ends_at_ms: u64) -> Command {
    Command::new("PEXPIREAT")
        .key(key)
        .arg(ends_at_ms.saturating_add(KEPT_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input;

    fn text(text: &str) -> Reply {
        Reply::Bytes(text.into())
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
        let order: Order = input::parse(order).unwrap();
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
        for (items, record) in [
            (1, "2 ann 1700000000000000 7"),
            (3, "2 ann 1700000000000000 7 3"),
        ] {
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
            assert!(
                SaleNow::parse(&[corrupt.clone(), time()]).is_err(),
                "{corrupt:?}"
            );
        }
        assert!(SaleNow::parse(&[]).is_err());
        assert!(OrderNow::parse(&[time()]).is_err());
    }
}
