//! What a turn costs if Redis knows one lock, and if it knows a million.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use testkit::stack::{Bridge, NodeScript};

use crate::host::{get, median};
use crate::work::{cpu_ns, redis_id};

const CROWD: u64 = 1_000_000;
const ROUNDS: usize = 15;
const TURNS: u64 = 300;

/// Creates names that once had a holder.
const CREATE: &str = "
    for i = ARGV[1], ARGV[2] - 1 do
        redis.call('SET', '{lock-' .. string.format('%.0f', i) .. '}:fence', '1700000000000000', 'PX', 604800000)
    end";
const CREATED_AT_ONCE: u64 = 10_000;

/// Medians over all rounds: of a turn with one name and with a million, and of the ratio in the
/// same round.
pub(super) struct Ratio {
    latency_us: [f64; 2],
    cpu_us: [f64; 2],
    pub(super) latency: f64,
    pub(super) cpu: f64,
}

/// What a turn took in one round.
struct Sample {
    latency_us: f64,
    cpu_us: f64,
}

/// Measures with two Redis, each with a bridge and a process of Node of its own, and no delay.
pub(super) async fn ratio(binary: &Path, script: &Path) -> Result<Ratio> {
    eprintln!("making {CROWD} names");
    let one = Names::start(binary, script, 1)?;
    let many = Names::start(binary, script, CROWD)?;
    for names in [&one, &many] {
        names.sample().await?;
    }
    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        eprintln!("names: round {round} of {ROUNDS}");
        rounds.push([one.sample().await?, many.sample().await?]);
    }
    let absolute = |value: fn(&Sample) -> f64| {
        [0, 1].map(|place| median(rounds.iter().map(|round| value(&round[place]))))
    };
    let relative = |value: fn(&Sample) -> f64| {
        median(rounds.iter().map(|[one, many]| value(many) / value(one)))
    };
    Ok(Ratio {
        latency_us: absolute(|sample| sample.latency_us),
        cpu_us: absolute(|sample| sample.cpu_us),
        latency: relative(|sample| sample.latency_us),
        cpu: relative(|sample| sample.cpu_us),
    })
}

struct Names {
    count: u64,
    node: NodeScript,
    bridge: Bridge,
    redis: u32,
}

impl Names {
    fn start(binary: &Path, script: &Path, count: u64) -> Result<Self> {
        let bridge = Bridge::options().binary(binary).start()?;
        let mut redis = bridge.redis().get_connection()?;
        let mut created = 0;
        while created < count {
            let next = count.min(created + CREATED_AT_ONCE);
            let mut create = redis::cmd("EVAL");
            create.arg(CREATE).arg(0).arg(created).arg(next);
            create.exec(&mut redis)?;
            created = next;
        }
        let variables =
            [("EDGELOCK_BRIDGE_URL", bridge.url()), ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token())];
        Ok(Self {
            count,
            node: NodeScript::start(script, variables)?,
            redis: redis_id(&bridge)?,
            bridge,
        })
    }

    async fn sample(&self) -> Result<Sample> {
        let before = self.cpu_ns()?;
        let target = format!("roam?names={}&turns={TURNS}", self.count);
        let answer = get(&self.node.url(), &target).await?;
        let cpu = self.cpu_ns()?.saturating_sub(before);
        let took_ms = answer["took_ms"].as_f64().context("turns take time")?;
        Ok(Sample {
            latency_us: took_ms * 1_000.0 / TURNS as f64,
            cpu_us: cpu as f64 / 1_000.0 / TURNS as f64,
        })
    }

    fn cpu_ns(&self) -> Result<u64> {
        Ok(cpu_ns(self.bridge.id())? + cpu_ns(self.redis)?)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |what, [one, many]: [f64; 2], ratio| {
            format!("{what:30} {one:8.0} {many:12.0} {ratio:8.3}")
        };
        writeln!(f, "a turn without delay or waiters   1 name {CROWD:>6} names  × one")?;
        writeln!(f, "{}", row("latency, µs", self.latency_us, self.latency))?;
        write!(f, "{}", row("CPU of bridge and Redis, µs", self.cpu_us, self.cpu))
    }
}
