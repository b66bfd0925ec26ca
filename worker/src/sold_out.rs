//! Sold-out sales that an isolate remembers, so that later orders are refused without a request.
//!
//! That is safe since a sold-out sale does not change. Its terms never do, nothing is ever given
//! back, and stock and orders are written at once. So all its orders are on record when nothing is
//! left. An order that is on record is never refused from memory.
//!
//! A sale is forgotten at its end. Otherwise it is looked up again before the memory is 5 s old:
//! somebody may take a sale out of Redis by hand, and a fail-over may lose the last sold items.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use edgelock::{Client, Error, Instant, Runtime, Transport};
use shared::body::Id;
use shared::reply::whole;

use crate::ledger::{Ledger, SoldOutNow};

const KEPT: Duration = Duration::from_secs(5);
/// After this time one order looks it up again, so that the others need not when it would be
/// forgotten.
const RENEWED: Duration = Duration::from_millis(2_500);
/// While one order looks it up, the others read Redis themselves. After this time another order
/// tries.
const ASKED: Duration = Duration::from_secs(1);
/// They are read in one answer. A sale with more is read each time.
const MOST_ORDERS: u64 = 5_000;
const MOST_SALES: usize = 16;

/// What all requests to one isolate know.
#[derive(Clone, Default)]
pub struct SoldOut(Arc<Mutex<BTreeMap<Id, Known>>>);

struct Known {
    until: Instant,
    /// When an order is to look it up again.
    ask_at: Instant,
    /// The orders on record; `None` while they are being read.
    orders: Option<BTreeSet<String>>,
}

impl SoldOut {
    /// Whether this order, or the cart that has it, is surely too late.
    pub fn refuses(&self, sku: &Id, order_id: &Id, now: Instant) -> bool {
        let known = self.known();
        let orders = known
            .get(sku)
            .filter(|known| now < known.until)
            .and_then(|known| known.orders.as_ref());
        orders.is_some_and(|orders| !orders.contains(order_id.as_str()))
    }

    /// Call this after an order of this sale was told that nothing is left. If it is time, it reads
    /// in the background what is needed to tell others the same.
    pub fn notice<T: Transport, R: Runtime>(&self, sku: &Id, client: &Client<T, R>) {
        let now = client.runtime().now();
        if !self.begin(sku, now) {
            return;
        }
        let (memory, sku, asking) = (self.clone(), sku.clone(), client.clone());
        client.runtime().spawn(Box::pin(async move {
            // If it fails, the memory stays valid for its time, and orders are looked up as before.
            if let Ok(found) = find_out(&sku, &asking).await {
                memory.remember(sku, found, now);
            }
        }));
    }

    /// Whether it must be looked up, and nobody does so yet.
    pub fn begin(&self, sku: &Id, now: Instant) -> bool {
        let mut known = self.known();
        known.retain(|_, known| now < known.until);
        if let Some(known) = known.get_mut(sku) {
            let is_due = known.ask_at <= now;
            if is_due {
                known.ask_at = now + ASKED;
            }
            return is_due;
        }
        if known.len() >= MOST_SALES {
            return false;
        }
        known.insert(sku.clone(), Known::nothing(now));
        true
    }

    /// No change is left half done under this mutex.
    fn known(&self) -> MutexGuard<'_, BTreeMap<Id, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what a request that left at `asked_at` found.
    pub fn remember(&self, sku: Id, found: Option<SoldOutNow>, asked_at: Instant) {
        let known = found.map_or_else(
            || Known::nothing(asked_at),
            |found| Known {
                until: asked_at + KEPT.min(found.ends_in),
                ask_at: asked_at + RENEWED,
                orders: Some(found.orders),
            },
        );
        self.known().insert(sku, known);
    }
}

impl Known {
    fn nothing(now: Instant) -> Self {
        Self { until: now + ASKED, ask_at: now + ASKED, orders: None }
    }
}

/// The orders of a sold-out sale, unless there are too many.
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
