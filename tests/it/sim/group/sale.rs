//! What is sold: a stock, and a log of who had what under which fence.

use std::rc::Rc;

use edgelock::{Command, Decision, Reply, Section};
use send_wrapper::SendWrapper;

use super::books::Books;

pub(super) struct Sale;

/// What is checked of a lock's own keys does not concern those that begin like this.
pub(super) const STOCK: &str = "log:stock";
pub(super) const LOG: &str = "log:sold";

pub(super) struct Order {
    pub(super) process: usize,
    pub(super) number: usize,
    /// Whether it sees what those before it in its turn did.
    pub(super) remembers: bool,
    pub(super) books: SendWrapper<Rc<Books>>,
}

impl Sale {
    /// Nothing is ever given back.
    pub(super) fn peek(&self, _: &Order, replies: &[Reply]) -> Option<bool> {
        (replies[0].as_i64() == Some(0)).then_some(false)
    }
}

impl Section for Sale {
    type Item = Order;
    type Answer = bool;
    type Turn = Option<i64>;

    fn reads(&self, order: &Order) -> Vec<Command> {
        // It is asked right before it waits.
        order.books.arrive(order.process, order.number);
        vec![Command::new("GET").key(STOCK)]
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
