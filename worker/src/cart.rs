//! Sells from several sales at once, all or none. It holds the locks of all these sales, so it
//! never meets another cart or an order of one of them.

use std::time::Duration;

use edgelock::{Command, Decision, Error, Reply, Runtime};
use serde_json::{Value, json};
use shared::body::{Id, parse};
use shared::call::{self, Answer, Call};
use shared::gate::Gate;
use shared::problem::Problem;
use shared::section::{NO_FENCE, WAIT, section};
use worker::{Date, Request};

use crate::input::{Cart, Order};
use crate::isolate::{CARTS, SOLD_OUT as SOLD_OUT_HERE, ask, of_section};
use crate::ledger::{Ledger, READS_OF_ORDER};
use crate::placement::{
    InCart, OrderNow, Placement, SOLD_OUT, Sold, order_conflict, place as place_item, sold_out,
};

/// As that of a turn of orders: it is for a Worker that died.
const TTL: Duration = Duration::from_secs(3);

/// Of the wait for the locks. If all requests get lost, there are up to three for the look before
/// it, and six for what comes behind: the commit, and what gives the locks back; or the look at
/// what is sold out. Together they stay below 40, and a handler may have 50.
const MAX_REQUESTS: u32 = 28;

pub async fn place(mut request: Request, call: Call) -> Answer {
    let cart: Cart = parse(&call::read(&mut request).await?)?;
    let call = call.ends_with_its_caller();
    let outcome = sell_all(&call, &Line::all(&cart)).await;
    let sold_out = outcome.as_ref().err().filter(|problem| problem.code == SOLD_OUT);
    let sku = sold_out.and_then(|problem| Id::parse(problem.member("sku")?.as_str()?));
    if let Some(sku) = sku {
        SOLD_OUT_HERE.with(|sold_out| sold_out.notice(&sku, &call.client));
    }
    let (sold, status) = outcome?;
    call::json(status, &receipt(&cart, &sold))
}

async fn sell_all(call: &Call, lines: &[Line]) -> Outcome {
    let now = call.client.runtime().now();
    let is_too_late = |line: &&Line| {
        SOLD_OUT_HERE.with(|sold_out| sold_out.refuses(&line.sku, &line.order.order_id, now))
    };
    if let Some(line) = lines.iter().find(is_too_late) {
        return Err(of_item(sold_out(), line));
    }
    // It looks first, since a cart that gets nothing must not keep others out of its sales. A look
    // may see what no replica has yet.
    let at_ms = Date::now().as_millis();
    let reads: Vec<_> = lines.iter().flat_map(Line::reads).collect();
    let place = ask(call).await?;
    let found = call.client.read(&reads).await.map_err(of_look)?;
    drop(place);
    if let (Decision::Leave(sold), None) = (decide(lines, &found, at_ms, NO_FENCE)?, call.replicas)
    {
        return Ok(sold);
    }
    let names: Vec<_> = lines.iter().map(|line| line.ledger.lock_name()).collect();
    let wait = call.pass(&CARTS.with(Gate::clone), names.clone(), WAIT).await?;
    let locks = of_section(call, call.client.lock_all(&names)).ttl(TTL).wait_timeout(wait);
    let decide = |replies: &[Reply], fence| decide(lines, replies, at_ms, fence);
    let (sold, _) = section(&locks.max_requests(MAX_REQUESTS), &reads, decide).await?;
    Ok(sold)
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

/// Decides a cart that came at this time by what is recorded of each item, under the fence of all
/// locks.
fn decide(
    lines: &[Line],
    replies: &[Reply],
    at_ms: u64,
    fence: u64,
) -> Result<Decision<(Vec<Sold>, u16)>, Problem> {
    if replies.len() != lines.len() * READS_OF_ORDER {
        return Err(Problem::corrupt());
    }
    let (mut known, mut new, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    let cart = Some(InCart { items: lines.len() as u64, fence });
    for (line, replies) in lines.iter().zip(replies.chunks(READS_OF_ORDER)) {
        let Line { ledger, order, .. } = line;
        let found = OrderNow::parse(replies, at_ms);
        let placed = found.and_then(|found| place_item(order, cart, &found));
        match placed.map_err(|problem| of_item(problem, line))? {
            Placement::Known(sold) => known.push(sold),
            Placement::New { sold, bought, ends_at_ms } => {
                commands.extend(ledger.sell(order, &sold, bought));
                commands.extend(ledger.expire(ends_at_ms));
                new.push(sold);
            }
        }
    }
    if known.is_empty() {
        return Ok(Decision::Write(commands, (new, 201)));
    }
    let is_one_cart = new.is_empty() && known.iter().all(|sold| sold.cart == known[0].cart);
    if !is_one_cart {
        return Err(order_conflict());
    }
    Ok(Decision::Leave((known, 200)))
}

/// Names the item because of which a cart is refused.
fn of_item(problem: Problem, line: &Line) -> Problem {
    problem.with("sku", line.sku.as_str())
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
fn receipt(cart: &Cart, sold: &[Sold]) -> Value {
    let items = cart.items.iter().zip(sold).map(|(item, sold)| {
        json!({"sku": item.sku, "quantity": sold.quantity, "remaining": sold.remaining})
    });
    json!({
        "order_id": cart.order_id, "buyer": cart.buyer, "items": items.collect::<Vec<_>>(),
        "fence": sold.first().and_then(|sold| sold.cart).map(|cart| cart.fence),
    })
}
