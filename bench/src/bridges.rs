//! `cargo xtask bench bridges`: how many requests of a lock a bridge can serve, ours and others.
//!
//! All bridges stand before one Redis, and take turns, round by round. So a machine that is busy
//! for a while slows all of them alike. A bridge has the second core to itself. Redis and the
//! customers share the first. They may be slower than the bridge, on two cores. What the bridge can
//! serve then shows in the requests that it serves in one second of its CPU time.
//!
//! When other programs want the cores too, a bridge that sleeps for a moment must wait until they
//! give its core back. A bridge that is too slow to sleep need not. So the faster one loses more,
//! and only its CPU time says how fast it is, unless `--first` gives the measured programs
//! precedence.

mod cores;
mod customers;
mod entrant;
mod report;

use std::time::Duration;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use redis::Client;
use testkit::programs::{self, xtask};
use testkit::stack::{self, Bridge, HumanWhoCodes, Webdis};
use testkit::{interrupt, paths};

use self::cores::{OF_BRIDGES, SHARED, Ticks};
use self::customers::Customers;
use self::entrant::{Entrant, Sample};
use crate::work::{cpu_ns, redis_id};

const WARM_UP: Duration = Duration::from_secs(1);

/// Takes a lock that is free, and gives back one that the caller has.
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
    /// Runs what is measured ahead of all other programs of this machine, as an administrator may
    #[arg(long)]
    first: bool,
}

pub(crate) fn run(options: &Bridges) -> Result<()> {
    if cfg!(debug_assertions) {
        return run_optimized();
    }
    xtask(&["setup"])?;
    eprintln!("building the bridge (profile `server`)");
    let binary = stack::build_bridge("server")?;
    let ours = Bridge::options().binary(binary).start()?;
    let webdis = Webdis::start(ours.redis_socket(), &["EVALSHA"])?;
    let node = HumanWhoCodes::start(ours.redis_socket())?;
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
    let basic = STANDARD.encode(format!("{}:{}", webdis.user(), webdis.password()));
    let mut entrants = [
        entrant("edgelock-bridge", ours.url(), ours.id(), bearer(ours.token()), upstash, 1.0),
        entrant("webdis", &webdis.url(), webdis.id(), format!("Basic {basic}"), path, 1.5),
        entrant(
            "@humanwhocodes (Node)",
            &node.url(),
            node.id(),
            bearer(node.token()),
            upstash,
            1.2,
        ),
    ];
    let redis = redis_id(&ours)?;
    // This comes last: threads that are started later would run on our core.
    let bridges = entrants.iter().map(|bridge| (bridge.process, OF_BRIDGES));
    for (process, core) in bridges.chain([(redis, SHARED), (std::process::id(), SHARED)]) {
        cores::pin(process, core)?;
        if options.first {
            cores::put_first(process)?;
        }
    }
    interrupt::or(async {
        measure(&mut entrants, options, &ours.redis(), redis).await?;
        println!("{}", report::table(&entrants));
        for (target, [least, most]) in report::targets(&entrants) {
            println!("{target}  ({least:.2} to {most:.2})");
        }
        Ok(())
    })
}

/// Customers that are compiled like development commands would take more time than a bridge.
fn run_optimized() -> Result<()> {
    let again = ["run", "--quiet", "--package", "bench", "--profile", "quick", "--"];
    programs::run(paths::cargo().args(again).args(std::env::args_os().skip(1)))
}

async fn measure(
    entrants: &mut [Entrant],
    options: &Bridges,
    client: &Client,
    redis: u32,
) -> Result<()> {
    let mut connection = client.get_connection()?;
    let sha: String = redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query(&mut connection)?;
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
            let (before, ticks) = (ids.map(cpu_ns), Ticks::now()?);
            let served = customers.ask_for(window).await?;
            let (after, busy) = (ids.map(cpu_ns), Ticks::now()?.busy_since(&ticks));
            let mut cpu_ns = [0; 3];
            for (spent, (before, after)) in cpu_ns.iter_mut().zip(before.into_iter().zip(after)) {
                *spent = after?.saturating_sub(before?);
            }
            let sample = Sample::of(&served, cpu_ns, busy);
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

/// The same for webdis.
fn path(sha: &str, customer: usize) -> String {
    format!("EVALSHA/{sha}/1/lock%3A{customer}/token-{customer}/30000/{}", customers::NONCE)
}
