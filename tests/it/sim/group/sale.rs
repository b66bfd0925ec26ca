//! What is sold: a stock, and a log of the items with their fences.

use std::collections::BTreeMap;
use std::rc::Rc;

use edgelock::{Command, Decision, Reply, Section};
use send_wrapper::SendWrapper;

use super::books::Books;

/// Its turns use their fences, or do not.
pub(crate) struct Sale<const FENCED: bool>;

/// Keys that begin with `log:` are no keys of a lock, so its promises do not concern them.
pub(crate) const STOCK: &str = "log:stock";
pub(super) const LOG: &str = "log:sold";
/// A sign for each that was added, or taken away, without an order.
pub(crate) const RESTOCKED: &str = "log:restocked";
/// How many each buyer has.
const BUYERS: &str = "log:buyers";
/// Not to be read as a text, and too large to be read.
pub(super) const BAD: [&str; 2] = ["log:hash", "log:large"];

/// How many a buyer may have.
pub(super) const MOST: i64 = 2;

pub(crate) struct Order {
    pub(crate) process: usize,
    pub(crate) number: usize,
    /// Whether it sees what earlier items of its turn did.
    pub(crate) remembers: bool,
    /// Beside what all read it reads this, which fails.
    pub(crate) reads: Option<&'static str>,
    pub(crate) books: SendWrapper<Rc<Books>>,
}

impl Order {
    fn buyer(&self) -> usize {
        buyer(self.number)
    }
}

/// Who orders this. The later ones of orders that come one after the other are of a buyer each.
pub(super) const fn buyer(number: usize) -> usize {
    if number < 1_000 { number % 5 } else { number }
}

/// What a turn has sold so far.
#[derive(Default)]
pub(crate) struct Sold {
    left: Option<i64>,
    has: BTreeMap<usize, i64>,
}

impl<const FENCED: bool> Sale<FENCED> {
    /// Sold out stays sold out where nothing is given back. Otherwise it is as true as when the
    /// item came.
    pub(super) fn peek(&self, _: &Order, replies: &[Reply]) -> Option<bool> {
        (replies[0].as_i64() == Some(0)).then_some(false)
    }
}

impl<const FENCED: bool> Section for Sale<FENCED> {
    type Item = Order;
    type Answer = bool;
    type State = Sold;

    const USES_FENCE: bool = FENCED;

    fn reads(&self, order: &Order) -> Vec<Command> {
        // The section is asked for reads right before the item waits, so this is when it comes.
        order.books.arrive(order.process, order.number);
        let stock = Command::new("GET").key(STOCK);
        let buyer = Command::new("HGET").key(BUYERS).arg(order.buyer());
        let bad = order.reads.map(|key| Command::new("GET").key(key));
        [stock, buyer].into_iter().chain(bad).collect()
    }

    fn decide(
        &self,
        order: &Order,
        replies: &[Reply],
        sold: &mut Sold,
        fence: u64,
    ) -> Decision<bool> {
        if !order.remembers {
            *sold = Sold::default();
        }
        let found = replies[0].as_i64().expect("a stock");
        let left = sold.left.get_or_insert(found);
        let has = sold.has.entry(order.buyer());
        let has = has.or_insert_with(|| replies[1].as_i64().unwrap_or(0));
        if *left == 0 || *has == MOST {
            return Decision::Leave(false);
        }
        *left -= 1;
        *has += 1;
        let stock = Command::new("SET").key(STOCK).arg(*left);
        let entry = format!("{} {fence};", order.number);
        let log = Command::new("APPEND").key(LOG).arg(entry);
        let bought = Command::new("HSET").key(BUYERS).arg(order.buyer());
        Decision::Write(vec![stock, log, bought.arg(*has)], true)
    }
}
