//! `cargo xtask bench bill`: what each call costs in Redis commands, the `EVAL` itself among them,
//! beside the peers; what it takes of Redis, and what it leaves there.
//!
//! The cases are those of `bench/scripts/bill.js`, in Node. Redis counts (`INFO commandstats`), and
//! what the bridge asks for itself does not: `PING`, and the time around scripts that it does not
//! know yet. That nobody adds a command unseen, `tests/it/bill.rs` sees to.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::interrupt;
use testkit::programs::xtask;
use testkit::stack::{self, Bridge, LatencyProxy, NodeScript};

use crate::build;
use crate::host::{get, path};

const DISTANCE: Duration = Duration::from_millis(20);
/// How many wait while others take turns.
const CROWDS: [u64; 5] = [0, 16, 100, 1_000, 3_000];

/// Turns at one lock, of 8 that hold it for 20 ms each: the case, and how many commands a turn of
/// ours may take.
const CONTENDED: [(&str, &str, f64); 4] = [
    ("a turn among 8, at once", "of=edgelock", 18.0),
    ("a turn among 8, 20 ms away", "of=edgelock&far", 18.0),
    ("@upstash/lock: among 8, at once", "of=%40upstash%2Flock", 0.0),
    ("@upstash/lock: among 8, 20 ms away", "of=%40upstash%2Flock&far", 0.0),
];

pub(crate) fn run() -> Result<()> {
    xtask(&["setup"])?;
    eprintln!("building the npm package, its bundles and the bridge (profile `server`)");
    let bridge = Bridge::options().binary(stack::bridge_binary("server")?).start()?;
    let built = build::run(&["bill"])?;
    let far = LatencyProxy::to(bridge.url(), DISTANCE)?;
    let node = NodeScript::start(
        &built.node("bill"),
        [
            ("EDGELOCK_BRIDGE_URL", bridge.url()),
            ("FAR_URL", &*far.url()),
            ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token()),
            ("REDIS_ADDRESS", &bridge.redis_by_tcp()?.to_string()),
        ],
    )?;
    interrupt::or(measure(&node.url()))
}

async fn measure(url: &str) -> Result<()> {
    println!("{:42} requests commands  at most     Redis µs  bytes: a minute, longer", "a call");
    for case in cases(url).await? {
        let target = format!("cost?of={}", path(&case).replace('+', "%2B"));
        println!("{}", row(&case, &get(url, &target).await?, None)?);
    }
    for (case, target, most) in CONTENDED {
        let figures = get(url, &format!("contended?{target}")).await?;
        println!("{}", row(case, &figures, Some(most))?);
    }
    let figures = get(url, "poll").await?;
    println!("{}", row("a poll that changes nothing", &figures, Some(6.0))?);
    for waiters in CROWDS {
        let figures = get(url, &format!("crowd?of={waiters}")).await?;
        let case = format!("a turn past {waiters} who poll");
        println!("{}", row(&case, &figures, Some(0.0))?);
    }
    Ok(())
}

async fn cases(url: &str) -> Result<Vec<String>> {
    Ok(serde_json::from_value(get(url, "").await?)?)
}

/// A bound of 0 is none.
fn row(case: &str, figures: &Value, most: Option<f64>) -> Result<String> {
    let number = |name: &str| figures[name].as_f64();
    let [requests, commands, us] = ["requests", "commands", "us"].map(number);
    let (requests, commands) = (requests.context("requests")?, commands.context("commands")?);
    let most = most.or_else(|| number("most")).filter(|most| *most > 0.0);
    let bound = most.map_or_else(String::new, |most| {
        let verdict = if commands <= most { "met" } else { "MISSED" };
        format!("{most:2} {verdict}")
    });
    let bytes = |name: &str| number(name).map_or_else(String::new, |bytes| format!("{bytes:.0}"));
    let mut row = format!(
        "{case:42} {requests:8.2} {commands:8.2} {bound:>9} {:12.0} {:>8} {:>8} ",
        us.unwrap_or(f64::NAN),
        bytes("soon"),
        bytes("later"),
    );
    for (name, count) in figures["calls"].as_object().context("commands by name")? {
        let count = count.as_f64().unwrap_or(f64::NAN);
        let _ = write!(row, " {name}");
        if (count - 1.0).abs() > 0.005 {
            let _ = write!(row, "×{count:.2}");
        }
    }
    Ok(row)
}
