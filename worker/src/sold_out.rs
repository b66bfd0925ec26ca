//! Sales of which nothing is left, as an isolate remembers them: who comes too late is told so without a request.
//!
//! That is safe since a sold-out sale stays as it is: its terms never change, nothing is ever given back, and stock and orders are
//! written at once, so that all its orders are on record when nothing is left. Whose order is on record is not told from memory.
//! What is remembered is forgotten at the sale's end, and after a while all the same: somebody may take a sale out of Redis by
//! hand, and a fail-over may lose what was sold last.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Client, Error, Moment, Runtime, Transport};

use crate::input::{Id, Order};
use crate::ledger::{Ledger, SoldOutNow};
use crate::reply::whole;

const KEPT: Duration = Duration::from_secs(5);
/// While one order finds out, and before another does, the others look by themselves.
const ASKED: Duration = Duration::from_secs(1);
/// They are read in one answer. A sale with more is looked at each time.
const MOST_ORDERS: u64 = 5_000;
const MOST_SALES: usize = 16;

/// What all requests to one isolate know.
#[derive(Clone, Default)]
pub(crate) struct SoldOut(Rc<RefCell<BTreeMap<Id, Known>>>);

struct Known {
    until: Moment,
    /// The orders on record; `None` while they are asked for.
    orders: Option<BTreeSet<String>>,
}

impl SoldOut {
    /// Whether `order` comes too late for sure.
    pub(crate) fn refuses(&self, sku: &Id, order: &Order, now: Moment) -> bool {
        let known = self.0.borrow();
        let orders = known
            .get(sku)
            .filter(|known| now < known.until)
            .and_then(|known| known.orders.as_ref());
        orders.is_some_and(|orders| !orders.contains(order.order_id.as_str()))
    }

    /// An order of this sale was told that nothing is left. Finds out in the background what must be known to tell it others.
    pub(crate) fn notice<T: Transport, R: Runtime>(&self, sku: &Id, client: &Client<T, R>) {
        let now = client.runtime().now();
        if !self.begin(sku, now) {
            return;
        }
        let (memory, sku, asking) = (self.clone(), sku.clone(), client.clone());
        client.runtime().spawn(Box::pin(async move {
            // Whatever went wrong, orders are looked at as before.
            if let Ok(Some(found)) = find_out(&sku, &asking).await {
                let lasts = KEPT.min(found.ends_in);
                let known = Known {
                    until: now + lasts,
                    orders: Some(found.orders),
                };
                memory.0.borrow_mut().insert(sku, known);
            }
        }));
    }

    /// Whether it is to be found out, and nobody does so.
    fn begin(&self, sku: &Id, now: Moment) -> bool {
        let mut known = self.0.borrow_mut();
        known.retain(|_, known| now < known.until);
        if known.len() >= MOST_SALES || known.contains_key(sku) {
            return false;
        }
        let asked = Known {
            until: now + ASKED,
            orders: None,
        };
        known.insert(sku.clone(), asked);
        true
    }
}

/// The orders of a sale of which nothing is left, if it is not too large.
async fn find_out<T: Transport, R: Runtime>(
    sku: &Id,
    client: &Client<T, R>,
) -> Result<Option<SoldOutNow>, Error> {
    let ledger = Ledger::of(sku);
    let count = client.read(&[ledger.count_orders()]).await?;
    let orders = count.first().and_then(whole);
    if orders.is_none_or(|orders| orders > MOST_ORDERS) {
        return Ok(None);
    }
    let replies = client.read(&ledger.read_sold_out()).await?;
    Ok(SoldOutNow::parse(&replies))
}
