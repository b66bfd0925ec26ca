//! `cargo xtask bench bridges`: what a bridge takes to serve a request of a lock, ours beside
//! others.
//!
//! All bridges stand before one Redis, and are asked by turns, round by round: so a machine that is
//! busy for a while slows all of them. A bridge has the second core to itself; Redis and the
//! customers share the first. Where those two are the slower ones, as they may be on two cores,
//! what a bridge can serve shows in the requests that it serves for each second of its CPU time.

mod customers;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use redis::Client;
use xtask::paths;
use xtask::setup;
use xtask::stack::{self, Bridge, HumanWhoCodes, ServerlessRedis, Webdis};

use self::customers::{Customers, Served};
use super::target::{Bound, Target};
use super::{cpu_ns, median, redis_id};
use crate::interrupt;

const CUSTOMERS: usize = 16;
const WARM_UP: Duration = Duration::from_secs(1);

/// Takes a lock that is free, and gives back one that is the caller's.
const SCRIPT: &str = "\
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {1, ARGV[3]} end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {0, ARGV[3]}";

/// How long to measure, and what besides.
#[derive(Args)]
pub(crate) struct Bridges {
    /// How many rounds
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// How long each bridge is asked in a round, in milliseconds
    #[arg(long, default_value_t = 2_000)]
    window: u64,
    /// The program of SooditK's serverless-redis, which no registry has: to be built by hand
    #[arg(long)]
    serverless_redis: Option<PathBuf>,
    /// Leaves out all bridges but ours
    #[arg(long)]
    alone: bool,
}

/// A bridge, how it is asked, and how much better ours is to be.
struct Entrant {
    name: &'static str,
    address: String,
    process: u32,
    authorization: String,
    body: fn(sha: &str, customer: usize) -> String,
    target: Option<f64>,
    /// One for each round.
    samples: Vec<Sample>,
}

struct Sample {
    per_second: f64,
    /// In microseconds for each request: the bridge's, Redis' and that of the customers.
    cpu_us: [f64; 3],
}

pub(crate) fn run(options: &Bridges) -> Result<()> {
    if cfg!(debug_assertions) {
        return run_optimized();
    }
    setup::run(setup::Needs::Everything)?;
    eprintln!("building the bridge (profile `server`)");
    let binary = stack::build_bridge("server")?;
    let ours = Bridge::options().binary(binary).start()?;
    let webdis = Webdis::start(ours.redis_socket(), &["EVALSHA"])?;
    let node = HumanWhoCodes::start(ours.redis_socket())?;
    let serverless = (options.serverless_redis.as_ref())
        .map(|program| ServerlessRedis::start(program, ours.redis_socket()))
        .transpose()?;
    let bearer = |token: &str| format!("Bearer {token}");
    let entrant = |name, url: &str, process, authorization, body, target| Entrant {
        name,
        address: url.trim_start_matches("http://").to_owned(),
        process,
        authorization,
        body,
        target,
        samples: Vec::new(),
    };
    let (url, token) = (ours.url(), bearer(ours.token()));
    let mut entrants = vec![entrant(
        "edgelock-bridge",
        url,
        ours.id(),
        token,
        upstash,
        None,
    )];
    if !options.alone {
        let basic = STANDARD.encode(format!("{}:{}", webdis.user(), webdis.password()));
        let (url, basic) = (webdis.url(), format!("Basic {basic}"));
        entrants.push(entrant("webdis", &url, webdis.id(), basic, path, Some(1.5)));
        let (url, token, name) = (node.url(), bearer(node.token()), "@humanwhocodes (Node)");
        entrants.push(entrant(name, &url, node.id(), token, upstash, Some(1.2)));
    }
    if let Some(other) = &serverless {
        let (url, token, name) = (other.url(), bearer(other.token()), "serverless-redis");
        entrants.push(entrant(name, &url, other.id(), token, upstash, Some(1.2)));
    }
    let redis = redis_id(&ours)?;
    // Last, or those started later would be where we are.
    pin(redis, 0)?;
    pin(std::process::id(), 0)?;
    for entrant in &entrants {
        pin(entrant.process, 1)?;
    }
    interrupt::or(async {
        measure(&mut entrants, options, &ours.redis(), redis).await?;
        println!("{}", table(&entrants));
        for target in targets(&entrants) {
            println!("{target}");
        }
        Ok(())
    })
}

/// Customers that are compiled as development commands are would take more time than a bridge.
fn run_optimized() -> Result<()> {
    let mut again = paths::cargo();
    again
        .args([
            "run",
            "--quiet",
            "--package",
            "xtask",
            "--profile",
            "quick",
            "--",
        ])
        .args(std::env::args_os().skip(1));
    let status = again.status().context("cargo cannot be run")?;
    ensure!(status.success(), "the benchmark failed");
    Ok(())
}

async fn measure(
    entrants: &mut [Entrant],
    options: &Bridges,
    client: &Client,
    redis: u32,
) -> Result<()> {
    let mut connection = client.get_connection()?;
    let sha: String = redis::cmd("SCRIPT")
        .arg("LOAD")
        .arg(SCRIPT)
        .query(&mut connection)?;
    let window = Duration::from_millis(options.window);
    let count = entrants.len();
    for round in 0..=options.rounds {
        for place in 0..count {
            let entrant = &mut entrants[(round + place) % count];
            let customers = Customers::of(entrant, &sha).await?;
            if round == 0 {
                customers.ask_for(WARM_UP).await?;
                continue;
            }
            let ids = [entrant.process, redis, std::process::id()];
            let before = ids.map(cpu_ns);
            let served = customers.ask_for(window).await?;
            let after = ids.map(cpu_ns);
            let mut cpu_ns = [0; 3];
            for (spent, (before, after)) in cpu_ns.iter_mut().zip(before.into_iter().zip(after)) {
                *spent = after?.saturating_sub(before?);
            }
            let sample = Sample::of(&served, cpu_ns);
            eprintln!("{:21} {sample}", entrant.name);
            entrant.samples.push(sample);
        }
    }
    Ok(())
}

/// `["EVALSHA",…]`
fn upstash(sha: &str, customer: usize) -> String {
    format!(
        r#"["EVALSHA","{sha}","1","lock:{customer}","token-{customer}","30000","{}"]"#,
        customers::NONCE
    )
}

/// As webdis wants it.
fn path(sha: &str, customer: usize) -> String {
    format!(
        "EVALSHA/{sha}/1/lock%3A{customer}/token-{customer}/30000/{}",
        customers::NONCE
    )
}

/// Keeps all threads of a process on one core.
fn pin(process: u32, core: usize) -> Result<()> {
    let pinned = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid"])
        .args([core.to_string(), process.to_string()])
        .output()
        .context("processes are kept on a core by `taskset`, of util-linux")?;
    let said = String::from_utf8_lossy(&pinned.stderr).into_owned();
    ensure!(pinned.status.success(), "two cores are needed: {said}");
    Ok(())
}

impl Sample {
    fn of(served: &Served, cpu_ns: [u64; 3]) -> Self {
        let requests = served.requests as f64;
        Self {
            per_second: requests / served.took.as_secs_f64(),
            cpu_us: cpu_ns.map(|ns| ns as f64 / 1_000.0 / requests),
        }
    }

    /// What the bridge serves for a second of its CPU time.
    fn per_cpu_second(&self) -> f64 {
        1_000_000.0 / self.cpu_us[0]
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([bridge, redis, customers], per_cpu) = (self.cpu_us, self.per_cpu_second());
        let per_second = self.per_second;
        write!(
            f,
            "{per_second:10.0} {per_cpu:17.0} {bridge:13.1} {redis:6.1} {customers:9.1}"
        )
    }
}

fn table(entrants: &[Entrant]) -> String {
    let mut table = format!(
        "{CUSTOMERS} connections, EVALSHA     requests/s  /s of bridge's CPU  µs CPU: bridge  Redis customers\n"
    );
    for entrant in entrants {
        let median_of = |value: &dyn Fn(&Sample) -> f64| median(entrant.samples.iter().map(value));
        let sample = Sample {
            per_second: median_of(&|sample| sample.per_second),
            cpu_us: [0, 1, 2].map(|of| median_of(&move |sample| sample.cpu_us[of])),
        };
        table += &format!("{:25} {sample}\n", entrant.name);
    }
    table
}

/// Each figure is the median over the rounds of ours to theirs in the same round.
fn targets(entrants: &[Entrant]) -> Vec<Target> {
    let Some((ours, others)) = entrants.split_first() else {
        return Vec::new();
    };
    let ratio = |theirs: &Entrant, value: fn(&Sample) -> f64| {
        let rounds = ours.samples.iter().zip(&theirs.samples);
        median(rounds.map(|(ours, theirs)| value(ours) / value(theirs)))
    };
    let mut targets = Vec::new();
    for other in others {
        let bound = other.target.map_or(Bound::AtLeast(1.0), Bound::AtLeast);
        let target = |what, value| Target {
            who: other.name,
            what,
            figure: ratio(other, value),
            bound,
        };
        targets.push(target("requests/s, ours to theirs", |s| s.per_second));
        targets.push(target("per second of CPU", Sample::per_cpu_second));
    }
    targets
}
