//! The ledger, read from Redis itself, so neither the Workers nor the bridge can falsify it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redis::{Client, Connection, ConnectionAddr, IntoConnectionInfo};

const LIMIT: Duration = Duration::from_secs(5);

/// A connection to Redis that does not go through the bridge.
pub struct RedisProbe {
    redis: Connection,
}

/// What Redis knows of one sale or several, compared with what the customers were told.
#[derive(Default)]
pub struct Ledger {
    stock: u64,
    sold: u64,
    /// Units that were sold although they did not exist.
    oversold: u64,
    remaining: u64,
    charged_twice: u64,
    /// Orders of which a customer was told that they are sold, but which Redis does not know.
    lost: u64,
    /// Orders that did not subtract their units from what the order before left.
    out_of_turn: u64,
}

struct Entry {
    quantity: u64,
    buyer: String,
    turn: u64,
    remaining: u64,
}

impl RedisProbe {
    /// The ledger of the Redis at this unix socket.
    pub fn open(socket: &Path) -> Result<Self> {
        let address = ConnectionAddr::Unix(socket.into()).into_connection_info()?;
        Self::of(&Client::open(address)?)
    }

    fn of(client: &Client) -> Result<Self> {
        let redis = client.get_connection_with_timeout(LIMIT)?;
        redis.set_read_timeout(Some(LIMIT))?;
        Ok(Self { redis })
    }

    /// The ledger of the Redis at this URL.
    pub fn at(url: &str) -> Result<Self> {
        Self::of(&Client::open(url)?)
    }

    /// How many scripts Redis got so far. The bridge sends one for each request of an order.
    pub fn scripts(&mut self) -> Result<u64> {
        self.calls(|name| name == "eval" || name == "evalsha")
    }

    /// How many commands Redis executed so far, those inside of scripts among them, and without the
    /// `PING` of the bridge. The bridge asks for the time only around scripts that it does not know
    /// yet.
    pub fn commands(&mut self) -> Result<u64> {
        self.calls(|name| name != "ping" && name != "info")
    }

    fn calls(&mut self, counts: impl Fn(&str) -> bool) -> Result<u64> {
        let statistics: String = redis::cmd("INFO").arg("commandstats").query(&mut self.redis)?;
        let calls = |line: &str| {
            let (name, calls) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let calls = calls.split_once(',')?.0.parse::<u64>().ok()?;
            counts(name).then_some(calls)
        };
        Ok(statistics.lines().filter_map(calls).sum())
    }

    /// Cuts every connection of Redis but this one. Returns how many there were.
    pub fn cut_connections(&mut self) -> Result<u64> {
        Ok(redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).query(&mut self.redis)?)
    }

    /// Reads a sale. `answered` has each order of which customers were told that it is sold, and
    /// how often they were told that it is newly sold.
    pub fn ledger(&mut self, sku: &str, answered: &BTreeMap<String, u64>) -> Result<Ledger> {
        let sale: BTreeMap<String, String> = self.hash(&format!("sale:{{{sku}}}"))?;
        let number = |field| -> Result<u64> {
            Ok(sale.get(field).with_context(|| format!("no {field}"))?.parse()?)
        };
        let orders: BTreeMap<String, String> = self.hash(&format!("sale:{{{sku}}}:orders"))?;
        let orders = orders
            .into_iter()
            .map(|(id, order)| Ok((id, Entry::parse(&order)?)))
            .collect::<Result<_>>()?;
        let buyers = self.hash(&format!("sale:{{{sku}}}:buyers"))?;
        Ok(Ledger::judge(number("stock")?, number("remaining")?, &orders, &buyers, answered))
    }

    fn hash<T: redis::FromRedisValue>(&mut self, key: &str) -> Result<T> {
        redis::cmd("HGETALL")
            .arg(key)
            .query(&mut self.redis)
            .with_context(|| format!("cannot read {key}"))
    }
}

impl Ledger {
    fn judge(
        stock: u64,
        remaining: u64,
        orders: &BTreeMap<String, Entry>,
        buyers: &BTreeMap<String, u64>,
        answered: &BTreeMap<String, u64>,
    ) -> Self {
        let twice = answered.values().filter(|times| **times > 1).count() as u64;
        let sold: u64 = orders.values().map(|entry| entry.quantity).sum();
        Self {
            stock,
            remaining,
            sold,
            oversold: sold.saturating_sub(stock),
            charged_twice: twice + wrongly_charged(orders.values(), buyers),
            lost: answered.keys().filter(|id| !orders.contains_key(*id)).count() as u64,
            out_of_turn: out_of_turn(orders.values().collect(), stock),
        }
    }

    /// Adds the ledger of another sale.
    pub fn add(&mut self, other: &Self) {
        self.stock += other.stock;
        self.sold += other.sold;
        self.oversold += other.oversold;
        self.remaining += other.remaining;
        self.charged_twice += other.charged_twice;
        self.lost += other.lost;
        self.out_of_turn += other.out_of_turn;
    }

    /// Whether exactly the stock was sold, each unit once, and the customers know.
    pub fn is_right(&self) -> bool {
        self.is_consistent() && self.remaining == 0
    }

    /// Whether each unit is left, or was sold once to a customer who knows.
    pub fn is_consistent(&self) -> bool {
        self.sold + self.remaining == self.stock
            && self.oversold == 0
            && self.charged_twice == 0
            && self.lost == 0
            && self.out_of_turn == 0
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  sold                  {:>8} of {}", self.sold, self.stock)?;
        writeln!(f, "  oversold              {:>8}", self.oversold)?;
        writeln!(f, "  charged twice         {:>8}", self.charged_twice)?;
        writeln!(f, "  sold, but not on record{:>7}", self.lost)?;
        write!(f, "  out of turn           {:>8}", self.out_of_turn)
    }
}

impl Entry {
    /// Parses `quantity buyer turn remaining`.
    fn parse(text: &str) -> Result<Self> {
        let fields: Vec<_> = text.split(' ').collect();
        ensure!(fields.len() == 4, "an order is recorded as {text:?}");
        Ok(Self {
            quantity: fields[0].parse()?,
            buyer: fields[1].to_owned(),
            turn: fields[2].parse()?,
            remaining: fields[3].parse()?,
        })
    }
}

/// How many buyers have an account that differs from the sum of their orders.
fn wrongly_charged<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    buyers: &BTreeMap<String, u64>,
) -> u64 {
    let mut differences: BTreeMap<&str, i128> = BTreeMap::new();
    for entry in entries {
        *differences.entry(&entry.buyer).or_default() -= i128::from(entry.quantity);
    }
    for (buyer, bought) in buyers {
        *differences.entry(buyer).or_default() += i128::from(*bought);
    }
    differences.values().filter(|difference| **difference != 0).count() as u64
}

/// How many orders were not decided in turn. They are sorted by turn, and within a turn by what
/// they left. Each must leave what the one before left, less its own units. If two turns had
/// been decided at once, some would not.
fn out_of_turn(mut entries: Vec<&Entry>, stock: u64) -> u64 {
    entries.sort_by_key(|entry| Reverse((entry.turn, entry.remaining)));
    let mut left = stock;
    let mut count = 0;
    for entry in entries {
        count += u64::from(left.checked_sub(entry.quantity) != Some(entry.remaining));
        left = entry.remaining;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judge(
        orders: &[&str],
        buyers: &[(&str, u64)],
        remaining: u64,
        answered: &[(&str, u64)],
    ) -> Ledger {
        let orders = orders.iter().enumerate().map(|(index, order)| {
            (
                format!("o{}", index + 1),
                Entry::parse(order).expect("an entry as the Worker writes it"),
            )
        });
        let owned = |pairs: &[(&str, u64)]| {
            pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        Ledger::judge(3, remaining, &orders.collect(), &owned(buyers), &owned(answered))
    }

    #[test]
    fn a_right_ledger_is_right() {
        let ledger = judge(
            &["2 ann 3 1", "1 bob 1 0"],
            &[("ann", 2), ("bob", 1)],
            0,
            &[("o1", 1), ("o2", 1)],
        );
        assert!(ledger.is_right(), "{ledger}");
    }

    #[test]
    fn units_sold_beyond_the_stock_are_counted() {
        let ledger = judge(&["2 ann 3 1", "2 bob 3 1"], &[("ann", 2), ("bob", 2)], 0, &[]);
        assert_eq!((ledger.oversold, ledger.out_of_turn, ledger.is_right()), (1, 1, false));
    }

    #[test]
    fn orders_of_one_turn_take_their_units_one_after_the_other() {
        let shared = ["1 bob 3 1", "1 ann 3 2", "1 cid 1 0"];
        let buyers = [("ann", 1), ("bob", 1), ("cid", 1)];
        assert!(judge(&shared, &buyers, 0, &[]).is_right());
        let both = ["1 bob 3 2", "1 ann 3 2", "1 cid 1 0"];
        assert_eq!(judge(&both, &buyers, 0, &[]).out_of_turn, 2);
    }

    #[test]
    fn units_that_were_not_sold_make_it_wrong() {
        assert!(!judge(&["2 ann 3 1"], &[("ann", 2)], 1, &[]).is_right());
    }

    #[test]
    fn an_account_that_differs_from_the_orders_is_a_wrong_charge() {
        let ledger = judge(&["2 ann 3 1", "1 bob 1 0"], &[("ann", 4), ("bob", 1)], 0, &[]);
        assert_eq!((ledger.charged_twice, ledger.is_right()), (1, false));
    }

    #[test]
    fn an_order_sold_twice_is_a_wrong_charge() {
        let ledger = judge(&["2 ann 3 1", "1 bob 1 0"], &[("ann", 2), ("bob", 1)], 0, &[("o1", 2)]);
        assert_eq!((ledger.charged_twice, ledger.is_right()), (1, false));
    }

    #[test]
    fn an_order_sold_but_not_on_record_is_lost() {
        let ledger = judge(&["2 ann 3 1", "1 bob 1 0"], &[("ann", 2), ("bob", 1)], 0, &[("o3", 1)]);
        assert_eq!((ledger.lost, ledger.is_right()), (1, false));
    }
}
