//! `cargo xtask bench bill`: what each call costs in Redis commands, the `EVAL` itself among them,
//! beside the peers; what it takes of Redis, and what it leaves there.
//!
//! The cases are those of `bench/scripts/bill.js`, in Node. Redis counts (`INFO commandstats`), and
//! what the bridge asks for itself does not: `PING`, and the time around scripts that it does not
//! know yet. That nobody adds a command unseen, `tests/it/bill.rs` sees to.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::interrupt;

use crate::build;
use crate::host::{get, path};

/// Turns at one lock, of 8 that hold it for 20 ms each.
const CONTENDED: [(&str, &str); 2] =
    [("a turn among 8", "edgelock"), ("@upstash/lock: among 8", "%40upstash%2Flock")];

pub(crate) fn run() -> Result<()> {
    let bridge = build::bridge()?;
    let redis = bridge.redis_by_tcp()?.to_string();
    let [url, credential] = bridge.variables();
    let node = build::start("bill", &[url, credential, ("REDIS_ADDRESS", &redis)])?;
    interrupt::or(measure(&node.url()))
}

async fn measure(url: &str) -> Result<()> {
    println!("{:42} requests commands     Redis µs  bytes: a minute, longer", "a call");
    let cases: Vec<String> = serde_json::from_value(get(url, "").await?)?;
    for case in cases {
        let target = format!("cost?of={}", path(&case).replace('+', "%2B"));
        println!("{}", row(&case, &get(url, &target).await?)?);
    }
    for (case, of) in CONTENDED {
        println!("{}", row(case, &get(url, &format!("contended?of={of}")).await?)?);
    }
    println!("{}", row("a poll that changes nothing", &get(url, "poll").await?)?);
    Ok(())
}

fn row(case: &str, figures: &Value) -> Result<String> {
    let number = |name: &str| figures[name].as_f64();
    let [requests, commands, us] = ["requests", "commands", "us"].map(number);
    let (requests, commands) = (requests.context("requests")?, commands.context("commands")?);
    let bytes = |name: &str| number(name).map_or_else(String::new, |bytes| format!("{bytes:.0}"));
    let mut row = format!(
        "{case:42} {requests:8.2} {commands:8.2} {:12.0} {:>8} {:>8} ",
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
