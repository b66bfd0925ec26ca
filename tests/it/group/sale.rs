//! A sale whose callers share turns.

use edgelock::{Command, Decision, GroupCommit, Lock, Reply, Runtime, Section, Transport};

use crate::support::turns::together;

/// Sells what is in `stock`.
pub(super) struct Sale;

#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) number: u64,
    /// Whether it buys. If not, it only asks.
    pub(super) wants: bool,
    /// The command that reads the hash of orders, and the hash's key.
    pub(super) read: &'static str,
    pub(super) orders: &'static str,
    /// Where something is written besides, which may fail.
    pub(super) note: Option<&'static str>,
}

pub(super) fn order(number: u64) -> Order {
    Order { number, wants: true, read: "HGET", orders: "orders", note: None }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// So many are left behind it.
    Sold {
        left: i64,
        fence: u64,
    },
    SoldOut,
}

impl Answer {
    pub(super) fn left(self) -> Option<i64> {
        match self {
            Self::Sold { left, .. } => Some(left),
            Self::SoldOut => None,
        }
    }

    #[track_caller]
    pub(super) fn fence(self) -> u64 {
        match self {
            Self::Sold { fence, .. } => fence,
            Self::SoldOut => panic!("sold out"),
        }
    }
}

impl Section for Sale {
    type Item = Order;
    type Answer = Answer;
    type State = Option<i64>;

    fn reads(&self, order: &Order) -> Vec<Command> {
        let stock = Command::new("GET").key("stock");
        let known = Command::new(order.read).key(order.orders);
        vec![stock, known.arg(order.number)]
    }

    fn decide(
        &self,
        order: &Order,
        replies: &[Reply],
        left: &mut Option<i64>,
        fence: u64,
    ) -> Decision<Answer> {
        let left = left.get_or_insert_with(|| replies[0].as_i64().expect("a stock"));
        assert!(replies[1].is_nil(), "{} was decided before", order.number);
        if *left == 0 || !order.wants {
            return Decision::Leave(Answer::SoldOut);
        }
        *left -= 1;
        let stock = Command::new("SET").key("stock").arg(*left);
        let record = Command::new("HSET").key(order.orders);
        let mut writes = vec![stock, record.arg(order.number).arg(fence)];
        writes.extend(order.note.map(|note| Command::new("LPUSH").key(note).arg(1)));
        Decision::Write(writes, Answer::Sold { left: *left, fence })
    }
}

/// The answers to orders that are placed at once, in the same order.
pub(super) async fn answers<T, R>(
    sale: &GroupCommit<Sale>,
    lock: &Lock<T, R>,
    orders: impl IntoIterator<Item = Order>,
) -> Vec<Answer>
where
    T: Transport + 'static,
    R: Runtime,
{
    let outcomes = together(sale, lock, orders).await;
    outcomes.into_iter().map(|it| it.expect("an answer")).collect()
}
