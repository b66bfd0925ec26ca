//! A crowd that asks and hangs up, at each route: whoever is honest keeps at least half of what it
//! has alone, in the same run, and nothing of the crowd stays behind.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use xtask::beside::{is_alone, must_keep_half};

use super::many;
use crate::lottery::Lottery;
use crate::support::caller::{Caller, HangUp};
use crate::support::{Stack, far, now_ms, until};

/// For how long each caller of a crowd stays.
const STAYS: Duration = Duration::from_millis(30);
/// For how long the honest are counted, alone and beside the crowd; `cargo xtask attack` counts for
/// longer.
pub(crate) const COUNTED: Duration = Duration::from_secs(2);

/// A request of the crowd, by its number: method, path, and body.
pub(crate) type Asked = fn(u64) -> (&'static str, String, String);

/// Every route. `DAY` is that of tomorrow's lottery.
const ROUTES: [(&str, Asked); 14] = [
    ("the page", |_| ("GET", "/".to_owned(), String::new())),
    ("a sale", |_| ("GET", "/sales/lamp".to_owned(), String::new())),
    ("any sale", |n| ("GET", format!("/sales/s{n}"), String::new())),
    ("a sale's lock", |_| ("GET", "/sales/lamp/lock".to_owned(), String::new())),
    ("any sale's lock", |n| ("GET", format!("/sales/s{n}/lock"), String::new())),
    ("an order", |n| ("POST", "/sales/lamp/orders".to_owned(), order(n, 1))),
    // Of what is sold out, or of more than a buyer may have.
    ("an order in vain", |n| match n % 2 {
        0 => ("POST", "/sales/gone/orders".to_owned(), order(n, 1)),
        _ => ("POST", "/sales/lamp/orders".to_owned(), order(n, 2)),
    }),
    ("an order of any sale", |n| ("POST", format!("/sales/s{n}/orders"), order(n, 1))),
    ("a cart", |n| ("POST", "/orders".to_owned(), cart(n, ["lamp", "kettle"]))),
    ("a cart of any sale", |n| ("POST", "/orders".to_owned(), cart(n, ["lamp", &format!("s{n}")]))),
    ("an entry", |n| ("POST", "/lottery/DAY/entrants".to_owned(), entry(n))),
    ("entries of one", |_| ("POST", "/lottery/DAY/entrants".to_owned(), entry(0))),
    ("a lottery", |_| ("GET", "/lottery/DAY".to_owned(), String::new())),
    ("a sale that is opened", |n| ("PUT", format!("/sales/new{n}"), terms())),
];

fn order(n: u64, quantity: u64) -> String {
    json!({"order_id": format!("a{n}"), "buyer": format!("a{n}"), "quantity": quantity}).to_string()
}

fn cart(n: u64, skus: [&str; 2]) -> String {
    let items = skus.map(|sku| json!({"sku": sku}));
    json!({"order_id": format!("c{n}"), "buyer": format!("c{n}"), "items": items}).to_string()
}

fn entry(n: u64) -> String {
    json!({"entrant": format!("a{n}")}).to_string()
}

fn terms() -> String {
    let ends_at_ms = now_ms() + 3_600_000;
    json!({"stock": 1, "limit_per_buyer": 1, "ends_at_ms": ends_at_ms}).to_string()
}

#[tokio::test]
async fn beside_a_crowd_that_hangs_up_the_honest_keep_half_of_what_they_have_alone() {
    let mut stack = Stack::without_workers();
    let url = far::start(&stack.bridge).await;
    stack.config = stack.config.clone().bind("EDGELOCK_BRIDGE_URL", url);
    let (here, there) = (stack.start_worker(), stack.start_worker());
    for sku in ["lamp", "kettle", "other"] {
        here.open(sku, 1_000_000, 1).await.answers(201);
    }
    here.open("gone", 1, 1).await.answers(201);
    here.order("gone", "first", "first", 1).await.answers(201);
    let day = Lottery::tomorrow().id;
    let lottery = stack.start_lottery();
    let open_files = files_of(&stack);
    for (route, asked) in ROUTES {
        let alone = served(&here, &there).await;
        let is_of_lottery = asked(0).1.starts_with("/lottery");
        let at = if is_of_lottery { &lottery } else { &here };
        let crowd = crowd(at, asked, &day);
        let beside = served(&here, &there).await;
        let asked = crowd.leaves().await;
        println!("beside {asked} of {route}: {beside:?} orders of {alone:?}");
        for (beside, alone) in beside.into_iter().zip(alone) {
            must_keep_half(beside, alone);
        }
        nothing_stays(&stack, route, open_files).await;
    }
}

/// How many orders of a sale that the crowd asks for, and of another sale at the other Worker, get
/// an answer that is no refusal.
async fn served(here: &Caller, there: &Caller) -> [usize; 2] {
    static CUSTOMERS: AtomicU64 = AtomicU64::new(0);
    let end = Instant::now() + many(1) * COUNTED;
    let buys = async |shop: &Caller, sku| {
        let mut placed = 0;
        while Instant::now() < end {
            let customer = format!("h{}", CUSTOMERS.fetch_add(1, Ordering::Relaxed));
            placed += usize::from(shop.is_placed(sku, &customer).await);
        }
        placed
    };
    tokio::join!(buys(here, "lamp"), buys(there, "other")).into()
}

/// How many connections a crowd has: where other tests take the machine too, a half of those with
/// which `cargo xtask attack` brings a Worker to its limit.
fn connections() -> u32 {
    if is_alone() { 20 } else { 10 }
}

pub(crate) struct Crowd {
    callers: JoinSet<()>,
    asked: Arc<AtomicU64>,
}

/// Callers who each ask, and hang up whether they have an answer or not, again and again.
pub(crate) fn crowd(shop: &Caller, asks: Asked, day: &str) -> Crowd {
    let (mut callers, asked) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
    for _ in 0..connections() {
        let (shop, day, asked) = (shop.clone(), day.to_owned(), asked.clone());
        callers.spawn(async move {
            loop {
                let n = asked.fetch_add(1, Ordering::Relaxed);
                let (method, path, body) = asks(n);
                let bearer = match path.starts_with("/locks/") {
                    true => shop.locks_token(),
                    false => shop.admin_token(),
                };
                let path = path.replace("DAY", &day);
                let asking = shop.to_hang_up(HangUp::Reset, method, &path, bearer, &body).await;
                tokio::time::sleep(STAYS).await;
                drop(asking);
            }
        });
    }
    Crowd { callers, asked }
}

impl Crowd {
    /// Returns how often it asked.
    pub(crate) async fn leaves(mut self) -> u64 {
        self.callers.shutdown().await;
        self.asked.load(Ordering::Relaxed)
    }
}

pub(crate) fn files_of(stack: &Stack) -> usize {
    let of = |process| fs::read_dir(format!("/proc/{process}/fd")).expect("its files").count();
    stack.workers.iter().map(|worker| of(worker.id())).sum()
}

/// Nobody of it waits in Redis, and the Workers keep few connections for it.
pub(crate) async fn nothing_stays(stack: &Stack, route: &str, before: usize) {
    until(("no waiter is left", route), || {
        let mut redis = stack.redis();
        let records: Vec<String> = redis.run("KEYS *:fence");
        let mut locks = records.iter().filter_map(|key| key.strip_suffix(":fence"));
        let is_left = locks.any(|lock| redis.waiters_for(lock) > 0);
        async move { !is_left }
    })
    .await;
    // A host keeps connections to its bridge open for a while.
    until(("the connections are closed", route), || {
        let open = files_of(stack);
        async move { open < before + 200 }
    })
    .await;
}
