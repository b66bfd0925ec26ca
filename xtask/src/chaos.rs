//! `cargo xtask chaos`: sales while everything under it is killed, stopped, cut off and filled up,
//! and what its ledger says afterwards.

mod havoc;
mod way;

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use xtask::setup::{self, Needs};
use xtask::stack::{Bridge, RedisServer, Worker, WorkerConfig};

use self::havoc::{Course, Parts};
use self::way::Way;
use crate::demo::ledger::{Books, Ledger};
use crate::demo::load::{Figures, Load};
use crate::demo::{self, orders};
use crate::{interrupt, limits};

/// In one sale.
const ORDERS: u64 = 2_000;
const AT_ONCE: usize = 512;

/// So many sales are held, at most, until each fault has come.
const SPARE: u64 = 20;

/// How long a customer goes on asking. Nothing is away for so long.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How long the last requests may take to leave nothing behind.
const QUIET: Duration = Duration::from_secs(20);

/// So many more descriptors than before may be open: connections that a part keeps for later.
const KEPT: usize = 32;

#[derive(Args)]
pub(crate) struct Chaos {
    /// How many orders, at least: sales of 2,000 are held until each fault has come
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    orders: u64,
    /// Draws the faults; drawn by default, and printed
    #[arg(long)]
    seed: Option<u64>,
}

/// Whether the ledger is right.
pub(crate) fn run(chaos: &Chaos) -> Result<bool> {
    setup::run(Needs::Stack)?;
    let built = demo::Parts::build()?;
    limits::raise_descriptors()?;
    let seed = chaos.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    println!(
        "faults drawn from seed {seed}; the same again: cargo xtask chaos --orders {} --seed {seed}",
        chaos.orders
    );
    interrupt::or(async { Sale::start(&built).await?.hold(chaos.orders, seed).await })
}

struct Sale {
    parts: Parts,
    load: Load,
    admin_token: String,
}

impl Sale {
    async fn start(built: &demo::Parts) -> Result<Self> {
        let redis = RedisServer::durable();
        let bridge = Bridge::options().binary(&built.bridge).redis(redis.url());
        let bridge = bridge.start()?;
        let way = Way::to(bridge.address()?).await?;
        let config = WorkerConfig::new(&bridge)
            .built_in(&built.worker)
            .bind("EDGELOCK_BRIDGE_URL", way.url());
        let workers = [Worker::start(&config)?, Worker::start(&config)?];
        let load = Load::new(workers.each_ref().map(Worker::url))?;
        Ok(Self {
            load: load.patient_for(PATIENCE),
            admin_token: config.admin_token().to_owned(),
            parts: Parts {
                workers,
                bridge,
                redis,
                weather: way.weather(),
            },
        })
    }

    async fn hold(self, orders: u64, seed: u64) -> Result<bool> {
        let Self {
            mut parts,
            load,
            admin_token,
        } = self;
        let skus = skus(orders);
        for sku in &skus {
            load.open(sku, &admin_token, &sale()?).await?;
        }
        let (before, url) = (Use::of(&parts)?, parts.redis.url());
        let course = Arc::new(Course::default());
        let faults = {
            let course = course.clone();
            thread::spawn(move || {
                let told = parts.suffer(seed, &course);
                (parts, told)
            })
        };
        let held = hold_all(&load, &skus, orders, &course).await;
        course.end();
        let (parts, told) = tokio::task::spawn_blocking(move || faults.join())
            .await?
            .map_err(|_| anyhow!("the thread of the faults panicked"))?;
        let (told, (sales, took)) = (told?, held?);

        println!("  faults                {told}");
        let (mut ledger, mut figures) = (Ledger::default(), Figures::default());
        let mut books = Books::at(&url)?;
        for (sku, of_sale) in sales {
            ledger.add(&books.ledger(&sku, &of_sale.sold)?);
            figures.add_all(of_sale);
        }
        println!("{ledger}");
        demo::print_figures(&figures, took);
        let is_left_clean = before.left_over(&parts).await?;
        ensure!(
            told.is_whole(),
            "the sales were over before all had gone wrong: send more orders"
        );
        Ok(ledger.is_consistent() && figures.wrong.is_empty() && is_left_clean)
    }
}

/// Enough for so many orders, and some more, for as long as something has not gone wrong yet.
fn skus(orders: u64) -> Vec<String> {
    let count = orders.div_ceil(ORDERS) + SPARE;
    (0..count).map(|number| format!("lamp-{number}")).collect()
}

/// A few more units are asked for than there are, and each buyer may have them all.
fn sale() -> Result<Value> {
    let mut sale = demo::sale()?;
    sale["stock"] = json!(ORDERS * 9 / 10);
    sale["limit_per_buyer"] = json!(ORDERS);
    Ok(sale)
}

/// One sale after the other, until so many orders are answered and all has gone wrong. What the
/// customers of each saw, and how long all took.
async fn hold_all(
    load: &Load,
    skus: &[String],
    orders: u64,
    course: &Course,
) -> Result<(Vec<(String, Figures)>, Duration)> {
    let style = ProgressStyle::with_template("  {bar:40} {pos}/{len} orders  {elapsed}  {msg}")?;
    let bar = ProgressBar::new(orders).with_style(style);
    let (begun, mut sales, mut answered) = (Instant::now(), Vec::new(), 0);
    for sku in skus {
        if answered >= orders && course.is_whole() {
            break;
        }
        let crowd = orders::mixed(sku, usize::try_from(ORDERS)?);
        let figures = load.send(crowd, AT_ONCE, |figures| {
            bar.set_position(answered + figures.answered);
            ensure!(!course.is_over(), "the faults ended before the sales");
            Ok(())
        });
        let figures = figures.await?;
        answered += figures.answered;
        sales.push((sku.clone(), figures));
    }
    bar.finish_and_clear();
    Ok((sales, begun.elapsed()))
}

/// What the bridge and Redis have open, and the memory of all.
struct Use {
    descriptors: [usize; 2],
}

impl Use {
    fn of(parts: &Parts) -> Result<Self> {
        let ids = [parts.bridge.id(), parts.redis.id()];
        let [bridge, redis] = ids.map(descriptors);
        Ok(Self {
            descriptors: [bridge?, redis?],
        })
    }

    /// Prints what is open and in memory once all is quiet; whether that is little more than
    /// before.
    async fn left_over(&self, parts: &Parts) -> Result<bool> {
        let until = Instant::now() + QUIET;
        loop {
            let now = Self::of(parts)?.descriptors;
            let pairs = now.iter().zip(&self.descriptors);
            let is_quiet = pairs.clone().all(|(now, before)| *now <= before + KEPT);
            if is_quiet || Instant::now() > until {
                println!(
                    "  descriptors           bridge {}, Redis {}; before the sale {} and {}",
                    now[0], now[1], self.descriptors[0], self.descriptors[1]
                );
                let [one, two] = parts.workers.each_ref().map(Worker::id);
                let memory = [parts.bridge.id(), parts.redis.id(), one, two].map(memory);
                let [bridge, redis, one, two] = memory;
                println!(
                    "  memory in MB          bridge {}, Redis {}, Workers {} and {}",
                    bridge?, redis?, one?, two?
                );
                return Ok(is_quiet);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

fn descriptors(id: u32) -> Result<usize> {
    let folder = format!("/proc/{id}/fd");
    Ok(fs::read_dir(&folder).context(folder)?.count())
}

/// In megabytes.
fn memory(id: u32) -> Result<u64> {
    let file = format!("/proc/{id}/status");
    let status = fs::read_to_string(&file)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.context(file)?.trim().parse::<u64>()? / 1024)
}
