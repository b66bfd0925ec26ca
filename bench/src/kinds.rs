//! `cargo xtask bench kinds`: what a turn of each kind of lock costs if nobody waits, beside the
//! peers of that kind.
//!
//! The cases are those of `bench/scripts/kinds.js`, in Node: a kind, and its peers as `kind /
//! peer`. All take turns, as in [`crate::lock`]. Peers that do not use HTTP reach the Redis behind
//! the bridge by TCP: their requests are commands, and their time includes neither bridge nor HTTP.
//! Both may have the same distance to go.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use testkit::interrupt;
use testkit::stack::LatencyProxy;

use crate::build;
use crate::host::{BATCH, Host, ROUNDS, Rounds, Sample};
use crate::target::{Bound, Target};

/// What kinds without a peer are compared with.
const LOCK: &str = "lock";
/// Stands between a kind and its peer.
const BESIDE: &str = " / ";

/// How long to measure.
#[derive(Args)]
pub(crate) struct Kinds {
    /// How many rounds; a figure is their median
    #[arg(long, default_value_t = ROUNDS as u64, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// How many turns of each case a round has
    #[arg(long, default_value_t = BATCH as u64, value_parser = clap::value_parser!(u64).range(1..))]
    turns: u64,
    /// How far the bridge and Redis are, in milliseconds there and back; far away, rather make few
    /// turns
    #[arg(long, default_value_t = 0)]
    round_trip: u64,
}

pub(crate) fn run(options: &Kinds) -> Result<()> {
    let bridge = build::bridge()?;
    let (mut url, mut redis) = (bridge.url().to_owned(), bridge.redis_by_tcp()?);
    if options.round_trip > 0 {
        let round_trip = Duration::from_millis(options.round_trip);
        url = LatencyProxy::to(&url, round_trip)?.url();
        redis = LatencyProxy::to_address(redis, round_trip)?.address();
    }
    let node = build::start(
        "kinds",
        &[
            ("EDGELOCK_BRIDGE_URL", &*url),
            ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token()),
            ("REDIS_ADDRESS", &redis.to_string()),
        ],
    )?;
    let host = Host { url: node.url(), id: node.id() };
    let (rounds, turns) = (options.rounds.try_into()?, options.turns.try_into()?);
    interrupt::or(async {
        let measured = host.measure(rounds, turns).await?;
        println!("{}", table(&measured));
        println!("{}", target(&measured));
        Ok(())
    })
}

fn requests(sample: &Sample) -> f64 {
    sample.requests
}

fn turn_us(sample: &Sample) -> f64 {
    sample.turn_us
}

/// For each case, what a turn takes. For a kind, its ratio to the plain lock. For a peer, the ratio
/// of the kind to it.
fn table(rounds: &Rounds) -> String {
    let mut table = format!(
        "{:30} {:>8} {:>11} {:>8} {:>19}\n",
        "a turn without waiters", "requests", "turn p50 µs", "× lock", "edgelock × the peer"
    );
    for case in &rounds.cases {
        let (count, _) = rounds.column(case, case, requests);
        let (took, to_lock) = rounds.column(case, LOCK, turn_us);
        let _ = match case.split_once(BESIDE) {
            None => writeln!(table, "{case:30} {count:8.2} {took:11.0} {to_lock:8.3}"),
            Some((kind, peer)) => {
                let (_, ratio) = rounds.column(kind, case, turn_us);
                writeln!(table, "  {peer:28} {count:8.2} {took:11.0} {:8} {ratio:19.3}", "")
            }
        };
    }
    table
}

/// The target: no kind sends more requests than its peers.
fn target(rounds: &Rounds) -> Target {
    let ratios = rounds.cases.iter().filter_map(|case| {
        let (kind, _) = case.split_once(BESIDE)?;
        Some(rounds.column(kind, case, requests).1)
    });
    Target {
        who: "each kind with peers",
        what: "requests, most, to the peer's",
        figure: ratios.fold(f64::NAN, f64::max),
        bound: Bound::AtMost(1.0),
    }
}
