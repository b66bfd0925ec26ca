//! A process that runs the cases of a benchmark in turn, and what they took.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::work::cpu_ns;

pub(crate) const ROUNDS: usize = 25;
pub(crate) const BATCH: usize = 100;
const WARM_UP_ROUNDS: usize = 4;

/// A process that runs batches of a case when it is asked.
pub(crate) struct Host {
    pub(crate) url: String,
    pub(crate) id: u32,
}

/// What one batch took, for each turn: microseconds to acquire, and to acquire and release;
/// requests and microseconds of CPU for both.
pub(crate) struct Sample {
    pub(crate) acquire_us: f64,
    pub(crate) turn_us: f64,
    pub(crate) requests: f64,
    pub(crate) cpu_us: f64,
}

impl Host {
    /// Measures so many rounds, with a batch of so many turns of each case.
    pub(crate) async fn measure(&self, count: usize, batch: usize) -> Result<Rounds> {
        let cases: Vec<String> = serde_json::from_value(self.get("").await?)?;
        let mut rounds = Vec::new();
        for round in 0..WARM_UP_ROUNDS + count {
            let mut samples = Vec::new();
            // The first case in a round may pay for the last one's garbage, so each is first at
            // times.
            for place in 0..cases.len() {
                let case = (round + place) % cases.len();
                samples.push((case, self.sample(&cases[case], batch).await?));
            }
            samples.sort_by_key(|(case, _)| *case);
            if round >= WARM_UP_ROUNDS {
                rounds.push(samples.into_iter().map(|(_, sample)| sample).collect());
            }
        }
        Ok(Rounds { cases, rounds })
    }

    async fn sample(&self, case: &str, size: usize) -> Result<Sample> {
        let before = cpu_ns(self.id)?;
        let batch = self.get(&format!("{}?{size}", path(case))).await?;
        let cpu = cpu_ns(self.id)?.saturating_sub(before);
        let number = |name: &str| batch[name].as_f64().context("a batch is numbers");
        let (acquire_ms, release_ms) = (number("acquire_ms")?, number("release_ms")?);
        let turns = size as f64;
        Ok(Sample {
            acquire_us: acquire_ms * 1_000.0 / turns,
            turn_us: (acquire_ms + release_ms) * 1_000.0 / turns,
            requests: number("requests")? / turns,
            cpu_us: cpu as f64 / 1_000.0 / turns,
        })
    }

    pub(crate) async fn get(&self, target: &str) -> Result<Value> {
        get(&self.url, target).await
    }
}

/// A case's name as a path.
pub(crate) fn path(case: &str) -> String {
    case.replace('@', "%40").replace('/', "%2F").replace(' ', "%20")
}

/// Asks the script, and returns its answer.
pub(crate) async fn get(url: &str, target: &str) -> Result<Value> {
    let response = reqwest::get(format!("{url}/{target}")).await?;
    let status = response.status();
    let text = response.text().await?;
    ensure!(status.is_success(), "{target}: {text}");
    Ok(serde_json::from_str(&text)?)
}

pub(crate) struct Rounds {
    pub(crate) cases: Vec<String>,
    rounds: Vec<Vec<Sample>>,
}

impl Rounds {
    pub(crate) fn table(&self, host: &str, base: &str) -> String {
        let mut table = format!(
            "{host:24} acquire p50 µs    ratio   CPU µs of acquire + release    ratio   to {base}\n"
        );
        for case in &self.cases {
            let (acquire, acquire_ratio) = self.column(case, base, |sample| sample.acquire_us);
            let (cpu, cpu_ratio) = self.column(case, base, |sample| sample.cpu_us);
            let _ = writeln!(
                table,
                "{case:24} {acquire:14.0} {acquire_ratio:8.3} {cpu:29.0} {cpu_ratio:8.3}"
            );
        }
        table
    }

    /// What a case takes, and its ratio to `base` in the same round.
    pub(crate) fn column(&self, case: &str, base: &str, value: fn(&Sample) -> f64) -> (f64, f64) {
        let index = |name: &str| self.cases.iter().position(|case| case == name).unwrap_or(0);
        let (case, base) = (index(case), index(base));
        let absolute = median(self.rounds.iter().map(|round| value(&round[case])));
        let ratios = self.rounds.iter().map(|round| value(&round[case]) / value(&round[base]));
        (absolute, median(ratios))
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
