//! `cargo xtask bench contention`: what it costs to wait for a lock from some distance, and how
//! fast a lock changes hands.
//!
//! All waiters are in one process of Node, at some distance from the bridge. To change hands, a
//! lock needs a release on its way there, and word of it on its way back. So `1 / (hold + round
//! trip)` turns per second are the limit for one name. [`kinds`] has locks that several hold at
//! once.

mod field;
mod figures;
mod kinds;
mod targets;

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use testkit::interrupt;
use testkit::stack::LatencyProxy;

use self::field::{Field, HEAD, HOLD};
use crate::build;
use crate::work::redis_id;

/// What to measure, and from where.
#[derive(Args)]
pub(crate) struct Contention {
    /// How far the bridge and Redis are, in milliseconds there and back
    #[arg(long, default_value_t = 20)]
    round_trip: u64,
    /// Only semaphores and read/write locks
    #[arg(long)]
    kinds: bool,
}

pub(crate) fn run(options: &Contention) -> Result<()> {
    let bridge = build::bridge()?;
    let round_trip = Duration::from_millis(options.round_trip);
    let way = LatencyProxy::to(bridge.url(), round_trip)?;
    let by_tcp = LatencyProxy::to_address(bridge.redis_by_tcp()?, round_trip)?;
    let node = build::start(
        "contention",
        &[
            ("EDGELOCK_BRIDGE_URL", &way.url()),
            ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token()),
            ("REDIS_ADDRESS", &by_tcp.address().to_string()),
        ],
    )?;
    let ids = [node.id(), bridge.id(), redis_id(&bridge)?];
    let field = Field { url: node.url(), ids, turn: HOLD + round_trip };
    interrupt::or(async {
        let seen_ms = field.round_trip_ms().await?;
        println!(
            "hold {} ms, round trip {} ms as made, {seen_ms:.1} ms as a bare PING sees it; load {}",
            HOLD.as_millis(),
            round_trip.as_millis(),
            load()
        );
        if !options.kinds {
            locks(&field).await?;
        }
        kinds::measure(&field).await?;
        println!("load {}", load());
        Ok(())
    })
}

/// Measures locks that one client holds at a time, and compares with the targets.
async fn locks(field: &Field) -> Result<()> {
    let limit = 1.0 / field.turn.as_secs_f64();
    println!("limit on one name: {limit:.1} turns per second\n");
    let cells = field.measure().await?;
    println!("{HEAD}");
    for cell in &cells {
        println!("{}", cell.row());
    }
    println!();
    for target in targets::all(&cells) {
        println!("{target}");
    }
    println!();
    Ok(())
}

/// How busy the machine was in the last minute.
fn load() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    averages.split(' ').next().unwrap_or_default().to_owned()
}
