//! Sells from several sales at once, all or none. It holds the locks of all these sales, so it
//! never meets another cart or an order of one of them.

use std::time::Duration;

use edgelock::{Command, Decision, Error, Reply, Runtime, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::{self, Cart, Id, Order};
use crate::ledger::{Ledger, OrderNow, READS_OF_ORDER, Sold};
use crate::placement::{NO_FENCE, Placement, place};
use crate::problem::Problem;
use crate::section::{WAIT, section_under};
use crate::shop::Shop;

/// As that of a turn of orders: it is for a Worker that died.
const TTL: Duration = Duration::from_secs(3);

/// Of the wait for the locks. If all requests get lost, there are up to three for the look before
/// it, and six for what comes behind: the commit, and what gives the locks back; or the look at
/// what is sold out. Together they stay below 40, and a handler may have 50.
const MAX_REQUESTS: u32 = 28;

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn place_cart(&self, body: &[u8]) -> Result<Response, Problem> {
        let cart: Cart = input::parse(body)?;
        let outcome = self.sell_all(&Line::all(&cart)).await;
        if let Some(sku) = outcome.as_ref().err().and_then(Problem::sold_out_sku) {
            self.isolate.sold_out.notice(sku, &self.client);
        }
        let (sold, status) = outcome?;
        Ok(Response::json(status, &Receipt::of(&cart, &sold)))
    }

    async fn sell_all(&self, lines: &[Line]) -> Outcome {
        let now = self.client.runtime().now();
        let is_too_late = |line: &&Line| {
            let sold_out = &self.isolate.sold_out;
            sold_out.refuses(&line.sku, &line.order.order_id, now)
        };
        if let Some(line) = lines.iter().find(is_too_late) {
            return Err(Problem::sold_out().sku(&line.sku));
        }
        // It looks first, since a cart that gets nothing must not keep others out of its sales. A
        // look may see what no replica has yet.
        let reads: Vec<_> = lines.iter().flat_map(Line::reads).collect();
        let found = self.client.read(&reads).await.map_err(of_look)?;
        if let (Decision::Leave(sold), None) = (decide(lines, &found, NO_FENCE)?, self.replicas) {
            return Ok(sold);
        }
        let names: Vec<_> = lines.iter().map(|line| line.ledger.lock_name()).collect();
        let locks = self.section_locks(&names).ttl(TTL).wait_timeout(WAIT);
        let locks = locks.max_requests(MAX_REQUESTS);
        let decide = |replies: &[Reply], fence| decide(lines, replies, fence);
        let (sold, _) = section_under(&locks, &reads, decide).await?;
        Ok(sold)
    }
}

/// What was sold of each item, and the status of the answer.
type Outcome = Result<(Vec<Sold>, u16), Problem>;

/// An item of a cart, as an order of its sale.
struct Line {
    sku: Id,
    ledger: Ledger,
    order: Order,
}

impl Line {
    fn all(cart: &Cart) -> Vec<Self> {
        let items = cart.items.iter();
        items
            .map(|item| Self {
                sku: item.sku.clone(),
                ledger: Ledger::of(&item.sku),
                order: Order {
                    order_id: cart.order_id.clone(),
                    buyer: cart.buyer.clone(),
                    quantity: item.quantity,
                },
            })
            .collect()
    }

    fn reads(&self) -> Vec<Command> {
        self.ledger.read_order(&self.order)
    }
}

/// Decides a cart by what is recorded of each item, under the fence of all locks.
fn decide(
    lines: &[Line],
    replies: &[Reply],
    fence: u64,
) -> Result<Decision<(Vec<Sold>, u16)>, Problem> {
    if replies.len() != lines.len() * READS_OF_ORDER {
        return Err(Problem::corrupt());
    }
    let (mut known, mut new, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for (line, replies) in lines.iter().zip(replies.chunks(READS_OF_ORDER)) {
        let Line { sku, ledger, order } = line;
        let found = OrderNow::parse(replies);
        let placement = found.and_then(|found| place(order, lines.len() as u64, &found, fence));
        match placement.map_err(|problem| problem.sku(sku))? {
            Placement::Known(sold) => known.push(sold),
            Placement::New {
                sold,
                bought,
                ends_at_ms,
            } => {
                commands.extend(ledger.sell(order, &sold, bought));
                commands.extend(ledger.expire(ends_at_ms));
                new.push(sold);
            }
        }
    }
    if known.is_empty() {
        return Ok(Decision::Write(commands, (new, 201)));
    }
    // The items of one cart were sold under one fence.
    let is_one_cart = new.is_empty() && known.iter().all(|sold| sold.fence == known[0].fence);
    if !is_one_cart {
        return Err(Problem::order_conflict());
    }
    Ok(Decision::Leave((known, 200)))
}

/// As [`Problem::of`]. A Redis Cluster runs no script with keys of several slots, and says so.
fn of_look(error: Error) -> Problem {
    match &error {
        Error::Refused { message, .. } if message.contains("CROSSSLOT") => Problem::new(
            422,
            "skus_apart",
            "this shop's Redis is a cluster, where these sales lie apart and cannot be locked at once; order each of them alone",
        ),
        _ => Problem::of(error),
    }
}

/// A sold cart as its buyer sees it: the same each time.
#[derive(Serialize)]
struct Receipt<'a> {
    order_id: &'a Id,
    buyer: &'a Id,
    items: Vec<SoldItem<'a>>,
    fence: Option<u64>,
}

#[derive(Serialize)]
struct SoldItem<'a> {
    sku: &'a Id,
    quantity: u64,
    remaining: u64,
}

impl<'a> Receipt<'a> {
    fn of(cart: &'a Cart, sold: &[Sold]) -> Self {
        let items = cart.items.iter().zip(sold);
        Self {
            order_id: &cart.order_id,
            buyer: &cart.buyer,
            items: items
                .map(|(item, sold)| SoldItem {
                    sku: &item.sku,
                    quantity: sold.quantity,
                    remaining: sold.remaining,
                })
                .collect(),
            fence: sold.first().map(|sold| sold.fence),
        }
    }
}
