//! `cargo xtask bench contention`: what it costs to wait for a lock from some distance, and how
//! fast a lock changes hands.
//!
//! All waiters are in one process of Node, at some distance from the bridge. To change hands, a
//! lock needs a release on its way there, and word of it on its way back. So `1 / (hold + round
//! trip)` turns per second are the limit for one name. [`kinds`] has locks that several hold at
//! once.

mod figures;
mod kinds;
mod names;
mod targets;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use testkit::interrupt;
use testkit::programs::xtask;
use testkit::stack::{self, Bridge, LatencyProxy, NodeScript};

use crate::build;
use crate::host::{get, median};
use crate::work::{cpu_ns, redis_id};
use figures::Figures;

/// What to measure, and from where.
#[derive(Args)]
pub(crate) struct Contention {
    /// How far the bridge and Redis are, in milliseconds there and back
    #[arg(long, default_value_t = 20)]
    round_trip: u64,
    /// Only semaphores and read/write locks
    #[arg(long)]
    kinds: bool,
    /// How many contend for a semaphore or a read/write lock
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    contenders: u64,
}

/// The hold of `contention.js`.
const HOLD: Duration = Duration::from_millis(5);
const WAITERS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const MANY_NAMES: u64 = 64;

/// The number of waiters for which the peer is tuned, and the main targets are set.
const CROWD: u64 = 32;
const PEER_DELAYS_MS: [u64; 5] = [5, 10, 25, 50, 100];

const SHORTEST_WINDOW: Duration = Duration::from_secs(2);
/// If half the waiters have 7 turns and the others 8, Jain's index is 0.9956. So what is missing to
/// 0.99 is not due to where the window ends.
const TURNS_EACH: u64 = 8;

/// How a lock is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Push,
    Fair,
    Poll,
    Peer { delay_ms: u64 },
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Push => "edgelock push".to_owned(),
            Self::Fair => "edgelock push, fair".to_owned(),
            Self::Poll => "edgelock poll".to_owned(),
            Self::Peer { delay_ms } => format!("@upstash/lock, {delay_ms} ms"),
        }
    }

    fn query(self) -> String {
        match self {
            Self::Push => "kind=push".to_owned(),
            Self::Fair => "kind=fair".to_owned(),
            Self::Poll => "kind=poll".to_owned(),
            Self::Peer { delay_ms } => format!("kind=peer&delay={delay_ms}"),
        }
    }
}

/// The head of [`Cell::row`]. Waits are in milliseconds; their 99th percentile is also in rounds, a
/// round being one turn for every waiter. CPU is in milliseconds for a turn, and includes what Node
/// spends awake at the end of a hold.
const HEAD: &str = "\
                      names waiters turns/s of limit requests wait p50 wait p99  rounds   Jain  hold  Node bridge Redis";

/// One measurement: so many waiters and names, and one way of waiting.
struct Cell {
    kind: Kind,
    /// How long a hold and the change of hands take at least.
    turn: Duration,
    waiters: u64,
    names: u64,
    figures: Figures,
}

pub(crate) fn run(options: &Contention) -> Result<()> {
    xtask(&["setup"])?;
    eprintln!("building the npm package, its bundles and the bridge (profile `server`)");
    let binary = stack::build_bridge("server")?;
    let built = build::run(&["contention"])?;
    let script = built.node("contention");
    let bridge = Bridge::options().binary(&binary).start()?;
    let round_trip = Duration::from_millis(options.round_trip);
    let way = LatencyProxy::to(bridge.url(), round_trip)?;
    let by_tcp = LatencyProxy::to_address(bridge.redis_by_tcp()?, round_trip)?;
    let node = NodeScript::start(
        &script,
        [
            ("EDGELOCK_BRIDGE_URL", &*way.url()),
            ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token()),
            ("REDIS_ADDRESS", &by_tcp.address().to_string()),
        ],
    )?;
    let ids = [node.id(), bridge.id(), redis_id(&bridge)?];
    let field = Field {
        url: node.url(),
        ids,
        turn: HOLD + round_trip,
    };
    interrupt::or(async {
        let seen_ms = field.round_trip_ms().await?;
        println!(
            "hold {} ms, round trip {} ms as made, {seen_ms:.1} ms as a bare PING sees it; load {}",
            HOLD.as_millis(),
            round_trip.as_millis(),
            load()
        );
        if !options.kinds {
            locks(&field, &binary, &script).await?;
        }
        kinds::measure(&field, options.contenders).await?;
        println!("load {}", load());
        Ok(())
    })
}

/// Measures locks that one client holds at a time, and compares with the targets.
async fn locks(field: &Field, binary: &Path, script: &Path) -> Result<()> {
    let limit = 1.0 / field.turn.as_secs_f64();
    println!("limit on one name: {limit:.1} turns per second\n");
    let cells = field.measure().await?;
    println!("{HEAD}");
    for cell in &cells {
        println!("{}", cell.row());
    }
    let ratio = names::ratio(binary, script).await?;
    println!("\n{ratio}\n");
    for target in targets::all(&cells, &ratio) {
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

/// The processes whose CPU time counts: Node, the bridge and Redis.
struct Field {
    url: String,
    ids: [u32; 3],
    /// A hold, and to change hands.
    turn: Duration,
}

impl Field {
    async fn round_trip_ms(&self) -> Result<f64> {
        let answer = get(&self.url, "ping?count=50").await?;
        let round_trips = answer["round_trips_ms"].as_array();
        let round_trips = round_trips.context("pings")?.iter();
        Ok(median(round_trips.filter_map(Value::as_f64)))
    }

    async fn measure(&self) -> Result<Vec<Cell>> {
        let fixed = [Kind::Push, Kind::Fair, Kind::Poll];
        for kind in fixed.into_iter().chain([Kind::Peer { delay_ms: 5 }]) {
            eprintln!("warming up {}", kind.name());
            // With many turns a second: an engine compiles only what it has often seen.
            self.contend(kind, 64, 16).await?;
        }
        let mut cells = Vec::new();
        for delay_ms in PEER_DELAYS_MS {
            cells.push(self.contend(Kind::Peer { delay_ms }, CROWD, 1).await?);
        }
        let best = cells
            .iter()
            .max_by(|a, b| a.figures.per_second.total_cmp(&b.figures.per_second))
            .map(|cell| cell.kind);
        for names in [1, MANY_NAMES] {
            for kind in fixed.into_iter().chain(best) {
                for waiters in WAITERS {
                    let swept = |cell: &Cell| {
                        cell.kind == kind && (cell.waiters, cell.names) == (waiters, names)
                    };
                    if !cells.iter().any(swept) {
                        cells.push(self.contend(kind, waiters, names).await?);
                    }
                }
            }
        }
        Ok(cells)
    }

    async fn contend(&self, kind: Kind, waiters: u64, names: u64) -> Result<Cell> {
        let round = self.turn * u32::try_from(waiters.div_ceil(names))?;
        let query = format!("{}&names={names}", kind.query());
        let figures = self.figures(&query, waiters, round, TURNS_EACH).await?;
        let cell = Cell {
            kind,
            turn: self.turn,
            waiters,
            names,
            figures,
        };
        eprintln!("{}", cell.row());
        Ok(cell)
    }

    /// Measures so many waiters with `turns` each, if one turn for all of them takes a `round`.
    async fn figures(
        &self,
        query: &str,
        waiters: u64,
        round: Duration,
        turns: u64,
    ) -> Result<Figures> {
        let window = SHORTEST_WINDOW.max(round * u32::try_from(turns)?);
        let ramp = Duration::from_millis(500) + round;
        let target = format!(
            "contend?{query}&waiters={waiters}&rampMs={}&windowMs={}",
            ramp.as_millis(),
            window.as_millis()
        );
        let before = self.cpu_ns()?;
        let counted = get(&self.url, &target).await?;
        let after = self.cpu_ns()?;
        let cpu_ns = [0, 1, 2].map(|process| after[process].saturating_sub(before[process]));
        Figures::new(&counted, window, cpu_ns)
    }

    fn cpu_ns(&self) -> Result<[u64; 3]> {
        let [node, bridge, redis] = self.ids;
        Ok([cpu_ns(node)?, cpu_ns(bridge)?, cpu_ns(redis)?])
    }
}

impl Cell {
    /// How far the turns were from the limit of those names that somebody waits for.
    fn share(&self) -> f64 {
        let limit = self.waiters.min(self.names) as f64 / self.turn.as_secs_f64();
        self.figures.per_second / limit
    }

    /// The 99th percentile of the waits, as a multiple of a turn for every waiter.
    fn rounds_waited(&self) -> f64 {
        let round = self.turn * u32::try_from(self.waiters).unwrap_or(u32::MAX);
        self.figures.wait_p99_ms / 1_000.0 / round.as_secs_f64()
    }

    fn row(&self) -> String {
        let Figures {
            per_second,
            requests,
            wait_p50_ms: p50,
            wait_p99_ms: p99,
            jain,
            held_ms,
            cpu_ms: [node, bridge, redis],
            ..
        } = &self.figures;
        let (kind, names, waiters) = (self.kind.name(), self.names, self.waiters);
        let (share, rounds) = (self.share(), self.rounds_waited());
        format!(
            "{kind:21} {names:5} {waiters:7} {per_second:7.1} {share:8.3} {requests:8.2} {p50:8.0} {p99:8.0} {rounds:7.2} {jain:6.3} {held_ms:5.2} {node:5.2} {bridge:6.2} {redis:5.2}"
        )
    }
}
