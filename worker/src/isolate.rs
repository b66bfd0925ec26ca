//! What all requests to one isolate share.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::time::Duration;

use edgelock::web::{Host, Lock};
use edgelock::{GroupCommit, Runtime};
use shared::body::Id;
use shared::call::Call;
use shared::gate::{Gate, Most, Place};
use shared::problem::Problem;
use shared::section;

use crate::sold_out::SoldOut;
use crate::turn::Orders;

/// How many orders of one sku may wait in one isolate. Others get a 503 at once: each one that
/// waits takes memory, and more of them are not served sooner.
const MOST_WAITING: usize = 4_096;

/// How long a request waits for what others of its kind do.
const PATIENCE: Duration = Duration::from_secs(1);

const fn most(of_a_name: usize, in_all: usize) -> Most {
    Most { of_a_name, in_all }
}

const ANY: usize = usize::MAX;

thread_local! {
    pub static ORDERS: GroupCommit<Orders> =
        GroupCommit::new(Orders).peek(Orders::peek).max_waiting(MOST_WAITING);
    pub static SOLD_OUT: SoldOut = SoldOut::default();
    static KNOWN: RefCell<Known> = RefCell::default();
    static LABEL_HERE: OnceCell<String> = const { OnceCell::new() };

    /// Whoever reads without a turn. As many wait as are inside, so nobody takes more than twice
    /// the time.
    static ASKS: Gate = Gate::new(most(ANY, 128), most(ANY, 128));
    /// Orders of sales that are there. [`ORDERS`] bounds those of one sale.
    static ORDERING: Gate = Gate::new(most(ANY, 8_192), most(ANY, 0));
    /// Carts, by the sales whose locks they take. Another one gets in line before one is done.
    pub static CARTS: Gate = Gate::new(most(2, 32), most(128, 512));
    /// Sales that are opened, by the name of their lock. That is rare, and costs as much as many
    /// orders.
    pub static OPENINGS: Gate = Gate::new(most(2, 4), most(128, 512));
}

/// Lets a request read something.
///
/// # Errors
/// 503 `crowded`.
pub async fn ask(call: &Call) -> Result<Place, Problem> {
    call.enter(&ASKS.with(Gate::clone), Vec::new(), PATIENCE).await
}

/// Lets an order in. Anybody may order from sales that are not there, each time from another one,
/// and orders of different sales share no request. So those of a sale that nobody has seen have one
/// place among the requests that read.
///
/// # Errors
/// 503 `crowded`.
pub async fn ask_to_order(call: &Call, sku: &Id) -> Result<(Place, Option<Rc<Place>>), Problem> {
    let place = call.enter(&ORDERING.with(Gate::clone), Vec::new(), Duration::ZERO).await?;
    let found = KNOWN.with_borrow(|known| known.find(sku));
    let shared = match found {
        Found::There => None,
        Found::Asked(shared) => Some(shared),
        Found::Nothing => {
            let place = Rc::new(ask(call).await?);
            KNOWN.with_borrow_mut(|known| known.asks(sku, &place));
            Some(place)
        }
    };
    Ok((place, shared))
}

/// Remembers that there is a sale.
pub fn is_there(sku: &Id) {
    KNOWN.with_borrow_mut(|known| known.add(sku));
}

/// The lock of a section of ours.
pub fn of_section(call: &Call, lock: Lock) -> Lock {
    LABEL_HERE.with(|label| {
        let label = label.get_or_init(|| label_of(call.client.runtime()));
        call.replicated(lock.ttl(section::TTL).label(label))
    })
}

/// How the label of each isolate begins.
pub const LABEL: &str = "isolate ";

/// What this isolate calls itself as the holder of a lock. It is drawn at random, and no secret.
/// Without random bytes there is no token and so no lock either.
fn label_of(host: &Host) -> String {
    let mut bytes = [0; 2];
    let is_drawn = host.random(&mut bytes).is_ok();
    if is_drawn { format!("{LABEL}{:04x}", u16::from_be_bytes(bytes)) } else { String::new() }
}

/// Only whoever opens sales makes them more. Beyond so many, sales count as not seen.
const MOST_SALES: usize = 10_000;

/// Which sales are there, as far as this isolate has seen.
#[derive(Default)]
struct Known {
    there: BTreeSet<Id>,
    /// Those that nobody has seen yet, and the place that the orders of each share.
    asked: BTreeMap<Id, Weak<Place>>,
}

enum Found {
    There,
    Asked(Rc<Place>),
    Nothing,
}

impl Known {
    fn find(&self, sku: &Id) -> Found {
        if self.there.contains(sku) {
            return Found::There;
        }
        let place = self.asked.get(sku).and_then(Weak::upgrade);
        place.map_or(Found::Nothing, Found::Asked)
    }

    /// Shares `place` with all who ask for this sale while it is in use.
    fn asks(&mut self, sku: &Id, place: &Rc<Place>) {
        self.asked.retain(|_, place| place.strong_count() > 0);
        self.asked.insert(sku.clone(), Rc::downgrade(place));
    }

    fn add(&mut self, sku: &Id) {
        if self.there.len() < MOST_SALES && !self.there.contains(sku) {
            self.there.insert(sku.clone());
        }
    }
}
