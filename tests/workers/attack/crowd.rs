//! A crowd that asks and hangs up, at each route: whoever is honest keeps at least half of what it
//! has alone, in the same run, and nothing of the crowd stays behind.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testkit::beside::{is_alone, must_keep_half};
use testkit::stack::LatencyProxy;
use tokio::task::JoinSet;

use super::many;
use crate::lottery::Lottery;
use crate::support::caller::{Caller, HangUp};
use crate::support::{BRIDGE_URL, Stack, now_ms, until};

/// For how long the honest are counted, alone and beside the crowd; `cargo xtask attack` counts for
/// longer.
pub(crate) const COUNTED: Duration = Duration::from_secs(2);

/// The requests of a crowd, one after the other: method, path, and body. `{n}` is a request's
/// number, `{day}` the day of tomorrow's lottery, and `{end}` an hour from now.
pub(crate) type Requests = &'static [&'static str];

/// Every route.
const ROUTES: [Requests; 15] = [
    &["GET /"],
    &["GET /sales/lamp"],
    &["GET /sales/s{n}"],
    &["GET /sales/lamp/lock"],
    &["GET /sales/s{n}/lock"],
    &[r#"POST /sales/lamp/orders {"order_id":"a{n}","buyer":"a{n}","quantity":1}"#],
    // In vain: of what is sold out, or of more than a buyer may have.
    &[
        r#"POST /sales/gone/orders {"order_id":"a{n}","buyer":"a{n}","quantity":1}"#,
        r#"POST /sales/lamp/orders {"order_id":"a{n}","buyer":"a{n}","quantity":2}"#,
    ],
    // Once more what was sold; and more for the same buyers.
    &[
        r#"POST /sales/lamp/orders {"order_id":"a{n}","buyer":"a{n}","quantity":1}"#,
        r#"POST /sales/lamp/orders {"order_id":"b{n}","buyer":"a{n}","quantity":1}"#,
    ],
    &[r#"POST /sales/s{n}/orders {"order_id":"a{n}","buyer":"a{n}","quantity":1}"#],
    &[
        r#"POST /orders {"order_id":"c{n}","buyer":"c{n}","items":[{"sku":"lamp"},{"sku":"kettle"}]}"#,
    ],
    &[r#"POST /orders {"order_id":"c{n}","buyer":"c{n}","items":[{"sku":"lamp"},{"sku":"s{n}"}]}"#],
    &[r#"POST /lottery/{day}/entrants {"entrant":"a{n}"}"#],
    &[r#"POST /lottery/{day}/entrants {"entrant":"a0"}"#],
    &["GET /lottery/{day}"],
    &[r#"PUT /sales/new{n} {"stock":1,"limit_per_buyer":1,"ends_at_ms":{end}}"#],
];

#[tokio::test]
async fn beside_a_crowd_that_hangs_up_the_honest_keep_half_of_what_they_have_alone() {
    let mut stack = Stack::selling(&["lamp", "kettle", "other"], 1_000_000, 1).await;
    let far = far(&stack);
    let config = stack.config.clone().bind(BRIDGE_URL, &far);
    let (here, there) = (stack.start_with(config.clone()), stack.start_with(config));
    here.open("gone", 1, 1).await.answers(201);
    here.order("gone", "first", "first", 1).await.answers(201);
    let lottery = stack.start_lottery(&far);
    let at = |requests: Requests| match requests[0].contains("/lottery") {
        true => lottery.clone(),
        false => here.clone(),
    };
    must_hold(&stack, &ROUTES, 10, at, async || served(&here, &there).await).await;
}

/// The address of a way to the bridge that takes 10 ms, and as much back.
pub(crate) fn far(stack: &Stack) -> String {
    let bridge = stack.bridge.address().expect("an address");
    LatencyProxy::open(bridge, Duration::from_millis(10)).expect("a port").url()
}

/// How many orders of a sale that the crowd asks for, and of another sale at the other Worker, get
/// an answer that is no refusal.
async fn served(here: &Caller, there: &Caller) -> [usize; 2] {
    static CUSTOMERS: AtomicUsize = AtomicUsize::new(0);
    let end = Instant::now() + many(1) * COUNTED;
    let buys = async |shop: &Caller, sku| {
        let mut placed = 0;
        while Instant::now() < end {
            let id = format!("h{}", CUSTOMERS.fetch_add(1, Ordering::Relaxed));
            let status = shop.order(sku, &id, &id, 1).await.status;
            assert!([200, 201, 503].contains(&status), "{status}");
            placed += usize::from(status != 503);
        }
        placed
    };
    tokio::join!(buys(here, "lamp"), buys(there, "other")).into()
}

/// Whoever is `served` keeps half of it beside each of these crowds, of which nothing stays. A
/// crowd has so many connections, or fewer where other tests take the machine too.
pub(crate) async fn must_hold(
    stack: &Stack,
    crowds: &[Requests],
    connections: usize,
    at: impl Fn(Requests) -> Caller,
    served: impl AsyncFn() -> [usize; 2],
) {
    let files = files_of(stack);
    let connections = if is_alone() { connections } else { connections.min(4) };
    let mut kept = Vec::new();
    for &requests in crowds {
        let (alone, asked) = (served().await, Arc::new(AtomicUsize::new(0)));
        let asking = (0..connections).map(|_| asks(at(requests), requests, asked.clone()));
        let mut crowd: JoinSet<()> = asking.collect();
        let beside = served().await;
        crowd.shutdown().await;
        println!("beside {asked:?} of {requests:?}: {beside:?} of {alone:?}");
        kept.extend(beside.into_iter().zip(alone));
        until(("no waiter is left", requests), async || {
            let mut redis = stack.redis();
            let records: Vec<String> = redis.run("KEYS *:fence");
            let mut locks = records.iter().filter_map(|key| key.strip_suffix(":fence"));
            !locks.any(|lock| redis.waiters_for(lock) > 0)
        })
        .await;
        // A host keeps connections to its bridge open for a while.
        until(("all is closed", requests), async || files_of(stack) < files + 200).await;
    }
    for (beside, alone) in kept {
        must_keep_half(beside, alone);
    }
}

/// Asks, and hangs up whether there is an answer or not, again and again.
async fn asks(at: Caller, requests: Requests, asked: Arc<AtomicUsize>) {
    let [day, end] = [Lottery::tomorrow().id, (now_ms() + 3_600_000).to_string()];
    loop {
        let n = asked.fetch_add(1, Ordering::Relaxed);
        let request = requests[n % requests.len()].replace("{n}", &n.to_string());
        let request = request.replace("{day}", &day).replace("{end}", &end);
        let asking = at.to_hang_up(HangUp::Reset, &request).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        drop(asking);
    }
}

fn files_of(stack: &Stack) -> usize {
    let of = |process| fs::read_dir(format!("/proc/{process}/fd")).expect("its files").count();
    stack.workers.iter().map(|worker| of(worker.id())).sum()
}
