//! `cargo xtask bench`: what a lock costs on top of the request that carries it, in Node and in
//! `workerd`.
//!
//! All cases take turns with one bridge, round by round. Each figure is the median, over all
//! rounds, of the ratio to the bare POST of the same round. So a machine that is busy for a while
//! slows all cases alike.

pub(crate) mod bill;
pub(crate) mod bridges;
pub(crate) mod contention;
pub(crate) mod js;
pub(crate) mod kinds;
pub(crate) mod sale;

mod build;
mod section;
mod target;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::interrupt;
use testkit::stack::{self, Bridge, NodeScript, Worker, WorkerConfig};

use crate::setup;

const ROUNDS: usize = 25;
const BATCH: usize = 100;
const WARM_UP_ROUNDS: usize = 4;
const BASE: &str = "bare POST";

pub(crate) fn run() -> Result<()> {
    setup::run(setup::Needs::Everything)?;
    eprintln!(
        "building the npm package, its bundles, the Worker and the bridge (profile `server`)"
    );
    let bridge = Bridge::options()
        .binary(stack::bridge_binary("server")?)
        .start()?;
    let built = build::run(&["node", "workerd"])?;
    println!("{}", build::worker_sizes()?);
    let variables = [
        ("EDGELOCK_BRIDGE_URL", bridge.url()),
        ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token()),
    ];
    let node = NodeScript::start(&built.node("node"), variables)?;
    let config = variables.iter().fold(
        WorkerConfig::bare(built.workerd()),
        |config, (name, value)| config.bind(*name, *value),
    );
    let workerd = Worker::start(&config)?;
    interrupt::or(async {
        let ours = section::requests(&bridge).await?;
        let hosts = [
            ("Node", node.url(), node.id()),
            ("workerd", workerd.url(), workerd.id()),
        ];
        let hosts = hosts.map(|(name, url, id)| Host { name, url, id });
        let theirs = hosts[0].get("section").await?;
        println!(
            "requests of a section that reads and writes: edgelock {ours}, @upstash/lock {theirs}\n"
        );
        for host in hosts {
            println!(
                "{}",
                host.measure(ROUNDS, BATCH).await?.table(host.name, BASE)
            );
        }
        Ok(())
    })
}

/// A process that runs batches of a case when it is asked.
struct Host {
    name: &'static str,
    url: String,
    id: u32,
}

/// What one batch took, for each turn: microseconds to acquire, and to acquire and release;
/// requests and microseconds of CPU for both.
struct Sample {
    acquire_us: f64,
    turn_us: f64,
    requests: f64,
    cpu_us: f64,
}

impl Host {
    /// Measures so many rounds, with a batch of so many turns of each case.
    async fn measure(&self, count: usize, batch: usize) -> Result<Rounds> {
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

    async fn get(&self, target: &str) -> Result<Value> {
        get(&self.url, target).await
    }
}

/// A case's name as a path.
fn path(case: &str) -> String {
    case.replace('@', "%40")
        .replace('/', "%2F")
        .replace(' ', "%20")
}

/// Asks the script, and returns its answer.
async fn get(url: &str, target: &str) -> Result<Value> {
    let response = reqwest::get(format!("{url}/{target}")).await?;
    let status = response.status();
    let text = response.text().await?;
    ensure!(status.is_success(), "{target}: {text}");
    Ok(serde_json::from_str(&text)?)
}

/// How long all threads of a process have run so far, in nanoseconds, as Linux's scheduler counts.
fn cpu_ns(id: u32) -> Result<u64> {
    let tasks = Path::new("/proc").join(id.to_string()).join("task");
    let mut sum = 0;
    for task in
        fs::read_dir(tasks).context("CPU time is read from /proc, so the benchmark needs Linux")?
    {
        // A thread may have ended since the folder was listed.
        let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += stat
            .split(' ')
            .next()
            .and_then(|ns| ns.parse::<u64>().ok())
            .unwrap_or(0);
    }
    Ok(sum)
}

/// The process of the Redis that `bridge` spawned.
fn redis_id(bridge: &Bridge) -> Result<u32> {
    let about: String = redis::cmd("INFO")
        .arg("server")
        .query(&mut bridge.redis().get_connection()?)?;
    let id = about
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"));
    Ok(id.context("Redis says its process id")?.trim().parse()?)
}

struct Rounds {
    cases: Vec<String>,
    rounds: Vec<Vec<Sample>>,
}

impl Rounds {
    fn table(&self, host: &str, base: &str) -> String {
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
    fn column(&self, case: &str, base: &str, value: fn(&Sample) -> f64) -> (f64, f64) {
        let index = |name: &str| self.cases.iter().position(|case| case == name).unwrap_or(0);
        let (case, base) = (index(case), index(base));
        let absolute = median(self.rounds.iter().map(|round| value(&round[case])));
        let ratios = self
            .rounds
            .iter()
            .map(|round| value(&round[case]) / value(&round[base]));
        (absolute, median(ratios))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
