//! Sells from one sale. Orders that arrive at the same time share a turn of its lock.

use std::time::Duration;

use edgelock::{GroupCommit, Runtime};
use serde_json::{Value, json};
use shared::body::{Id, parse};
use shared::call::{self, Answer, Call};
use shared::problem::Problem;
use shared::section::WAIT;
use worker::{Date, Request};

use crate::input::Order;
use crate::isolate::{self, ORDERS, SOLD_OUT as SOLD_OUT_HERE};
use crate::ledger::Ledger;
use crate::placement::{NO_SUCH_SALE, SOLD_OUT, Sold, sold_out};
use crate::turn::Placed;

pub async fn place(mut request: Request, call: Call, sku: Id) -> Answer {
    let order: Order = parse(&call::read(&mut request).await?)?;
    let call = call.ends_with_its_caller();
    let now = call.client.runtime().now();
    let notice = || SOLD_OUT_HERE.with(|known| known.notice(&sku, &call.client));
    if SOLD_OUT_HERE.with(|known| known.refuses(&sku, &order.order_id, now)) {
        notice();
        return Err(sold_out());
    }
    let _places = isolate::ask_to_order(&call, &sku).await?;
    let ledger = Ledger::of(&sku);
    let lock = call.client.lock(&ledger.lock_name());
    let lock = isolate::of_section(&call, lock).wait_timeout(WAIT).ttl(TTL);
    let placed = Placed { ledger, order: order.clone(), at_ms: Date::now().as_millis() };
    let outcome = ORDERS.with(GroupCommit::clone).submit(&lock, placed).await;
    let outcome = outcome.map_err(Problem::of_write)?;
    let code = outcome.as_ref().err().map(|problem| problem.code);
    if code == Some(SOLD_OUT) {
        notice();
    }
    if code != Some(NO_SUCH_SALE) {
        isolate::is_there(&sku);
    }
    let (sold, status) = outcome?;
    call::json(status, &receipt(&sku, &order, &sold))
}

/// A turn that has the lock takes two round trips. The ttl is for a Worker that died in one, with
/// the orders of many.
const TTL: Duration = Duration::from_secs(3);

/// A sold order as its buyer sees it: the same each time.
fn receipt(sku: &Id, order: &Order, sold: &Sold) -> Value {
    json!({
        "order_id": order.order_id, "sku": sku, "buyer": order.buyer,
        "quantity": sold.quantity, "remaining": sold.remaining, "turn": sold.turn,
    })
}
