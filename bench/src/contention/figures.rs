//! The figures of one measurement.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::sale::load::percentile;

pub(super) struct Figures {
    pub(super) per_second: f64,
    pub(super) requests: f64,
    pub(super) wait_p50_ms: f64,
    pub(super) wait_p99_ms: f64,
    /// How evenly turns are distributed, by Jain's index.
    pub(super) jain: f64,
    /// The fewest and the most turns that one customer had.
    pub(super) turns: [f64; 2],
    pub(super) held_ms: f64,
    /// CPU for a turn: of Node, the bridge and Redis.
    pub(super) cpu_ms: [f64; 3],
}

impl Figures {
    /// Computes them from what contention.js counted in its window, and from the CPU of all turns,
    /// including those outside the window.
    pub(super) fn new(counted: &Value, window: Duration, cpu_ns: [u64; 3]) -> Result<Self> {
        let turns = numbers(counted, "turns")?;
        let mut waits = numbers(counted, "waits_ms")?;
        waits.sort_by(f64::total_cmp);
        let sum: f64 = turns.iter().sum();
        let all_turns = number(counted, "all_turns")?;
        ensure!(sum > 0.0 && !waits.is_empty(), "no turn was taken");
        Ok(Self {
            per_second: sum / window.as_secs_f64(),
            requests: number(counted, "requests")? / sum,
            wait_p50_ms: percentile(&waits, 0.5),
            wait_p99_ms: percentile(&waits, 0.99),
            jain: jain(&turns),
            turns: [
                turns.iter().copied().fold(f64::INFINITY, f64::min),
                turns.iter().copied().fold(0.0, f64::max),
            ],
            held_ms: number(counted, "held_ms")? / all_turns,
            cpu_ms: cpu_ns.map(|ns| ns as f64 / 1e6 / all_turns),
        })
    }

    /// The CPU of those who serve a turn.
    pub(super) const fn server_cpu_ms(&self) -> f64 {
        let [_, bridge, redis] = self.cpu_ms;
        bridge + redis
    }
}

fn number(counted: &Value, name: &str) -> Result<f64> {
    counted[name].as_f64().context("a count is a number")
}

fn numbers(counted: &Value, name: &str) -> Result<Vec<f64>> {
    let counts = counted[name].as_array().context("counts are a list")?;
    Ok(counts.iter().filter_map(Value::as_f64).collect())
}

/// Jain's fairness index: 1 if all have the same, one over their number if one has everything.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_least_for_a_monopoly() {
        assert_eq!(jain(&[3.0, 3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[3.0, 0.0, 0.0, 0.0]), 0.25);
        // This is as fair as a window can be that ends within a round.
        assert!(jain(&[7.0, 8.0].repeat(16)) > 0.995);
    }
}
