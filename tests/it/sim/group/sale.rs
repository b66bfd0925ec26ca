//! What is sold: a stock, and a log of the items with their fences.

use std::rc::Rc;

use edgelock::{Command, Decision, Reply, Section};
use send_wrapper::SendWrapper;

use super::books::Books;

pub(super) struct Sale;

/// Keys that begin with `log:` are no keys of a lock, so its promises do not concern them.
pub(super) const STOCK: &str = "log:stock";
pub(super) const LOG: &str = "log:sold";
/// Not to be read as a text, and too large to be read.
pub(super) const BAD: [&str; 2] = ["log:hash", "log:large"];

pub(super) struct Order {
    pub(super) process: usize,
    pub(super) number: usize,
    /// Whether it sees what earlier items of its turn did.
    pub(super) remembers: bool,
    /// Beside what all read it reads this, which fails.
    pub(super) reads: Option<&'static str>,
    pub(super) books: SendWrapper<Rc<Books>>,
}

impl Sale {
    /// Since nothing is given back, sold out stays sold out.
    pub(super) fn peek(&self, _: &Order, replies: &[Reply]) -> Option<bool> {
        (replies[0].as_i64() == Some(0)).then_some(false)
    }
}

impl Section for Sale {
    type Item = Order;
    type Answer = bool;
    type State = Option<i64>;

    fn reads(&self, order: &Order) -> Vec<Command> {
        // The section is asked for reads right before the item waits, so this is when it comes.
        order.books.arrive(order.process, order.number);
        let keys = [STOCK].into_iter().chain(order.reads);
        keys.map(|key| Command::new("GET").key(key)).collect()
    }

    fn decide(
        &self,
        order: &Order,
        replies: &[Reply],
        left: &mut Option<i64>,
        fence: u64,
    ) -> Decision<bool> {
        let found = replies[0].as_i64().expect("a stock");
        let left = match order.remembers {
            true => left.get_or_insert(found),
            false => left.insert(found),
        };
        if *left == 0 {
            return Decision::Leave(false);
        }
        *left -= 1;
        let stock = Command::new("SET").key(STOCK).arg(*left);
        let entry = format!("{} {fence};", order.number);
        let log = Command::new("APPEND").key(LOG).arg(entry);
        Decision::Write(vec![stock, log], true)
    }
}
