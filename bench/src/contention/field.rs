//! Waiters in one process of Node, and what each way of waiting came to.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::figures::Figures;
use crate::host::{get, median};
use crate::work::cpu_ns;

/// The hold of `contention.js`.
pub(super) const HOLD: Duration = Duration::from_millis(5);
pub(super) const WAITERS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
pub(super) const MANY_NAMES: u64 = 64;

/// The number of waiters for which the peer is tuned, and the main targets are set.
pub(super) const CROWD: u64 = 32;
pub(super) const PEER_DELAYS_MS: [u64; 5] = [5, 10, 25, 50, 100];

pub(super) const SHORTEST_WINDOW: Duration = Duration::from_secs(2);
/// If half the waiters have 7 turns and the others 8, Jain's index is 0.9956. So what is missing to
/// 0.99 is not due to where the window ends.
pub(super) const TURNS_EACH: u64 = 8;

/// How a lock is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) const HEAD: &str = "\
                      names waiters turns/s of limit requests wait p50 wait p99  rounds   Jain  hold  Node bridge Redis";

/// One measurement: so many waiters and names, and one way of waiting.
pub(super) struct Cell {
    pub(super) kind: Kind,
    /// How long a hold and the change of hands take at least.
    pub(super) turn: Duration,
    pub(super) waiters: u64,
    pub(super) names: u64,
    pub(super) figures: Figures,
}

/// The processes whose CPU time counts: Node, the bridge and Redis.
pub(super) struct Field {
    pub(super) url: String,
    pub(super) ids: [u32; 3],
    /// A hold, and to change hands.
    pub(super) turn: Duration,
}

impl Field {
    pub(super) async fn round_trip_ms(&self) -> Result<f64> {
        let answer = get(&self.url, "ping?count=50").await?;
        let round_trips = answer["round_trips_ms"].as_array();
        let round_trips = round_trips.context("pings")?.iter();
        Ok(median(round_trips.filter_map(Value::as_f64)))
    }

    pub(super) async fn measure(&self) -> Result<Vec<Cell>> {
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

    pub(super) async fn contend(&self, kind: Kind, waiters: u64, names: u64) -> Result<Cell> {
        let round = self.turn * u32::try_from(waiters.div_ceil(names))?;
        let query = format!("{}&names={names}", kind.query());
        let figures = self.figures(&query, waiters, round, TURNS_EACH).await?;
        let cell = Cell { kind, turn: self.turn, waiters, names, figures };
        eprintln!("{}", cell.row());
        Ok(cell)
    }

    /// Measures so many waiters with `turns` each, if one turn for all of them takes a `round`.
    pub(super) async fn figures(
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
    pub(super) fn share(&self) -> f64 {
        let limit = self.waiters.min(self.names) as f64 / self.turn.as_secs_f64();
        self.figures.per_second / limit
    }

    /// The 99th percentile of the waits, as a multiple of a turn for every waiter.
    pub(super) fn rounds_waited(&self) -> f64 {
        let round = self.turn * u32::try_from(self.waiters).unwrap_or(u32::MAX);
        self.figures.wait_p99_ms / 1_000.0 / round.as_secs_f64()
    }

    pub(super) fn row(&self) -> String {
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
