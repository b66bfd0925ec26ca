//! `cargo xtask chaos`: sales while everything under them is killed, stopped, cut off and filled
//! up, fails over or moves. Then it checks the ledger.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::{Args, ValueEnum as _};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use testkit::programs::xtask;
use testkit::sale::ledger::{Ledger, RedisProbe};
use testkit::sale::load::{Figures, Load};
use testkit::sale::{self, orders};
use testkit::stack::{LatencyProxy, Worker, WorkerConfig};
use testkit::{interrupt, limits};

use crate::demo;
use crate::fault_plan::{Course, Parts};
use crate::store::{Over, Store};

/// How many orders a sale has, and how many customers come at once.
const ORDERS: u64 = 1_000;
const AT_ONCE: usize = 512;

/// The most sales that are held in addition until each fault has happened.
const SPARE: u64 = 20;

/// How long a customer goes on asking. Nothing is away for that long.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How long the last requests may take until nothing of them is left.
const QUIET: Duration = Duration::from_secs(20);

/// How many more descriptors than before may be open: connections that a program keeps for later.
const KEPT: usize = 32;

#[derive(Args)]
pub(crate) struct Chaos {
    /// How many orders, at least: sales of 1,000 are held until each fault has come
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    orders: u64,
    /// What the sales are stored in, and so what goes wrong with it
    #[arg(long, value_enum, default_value_t = Over::One)]
    over: Over,
    /// How many replicas must have an order before its buyer is told; 0 shows what a fail-over
    /// forgets then
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    replicas: u32,
    /// Draws the faults; drawn by default, and printed
    #[arg(long)]
    seed: Option<u64>,
}

/// Whether the ledger is right.
pub(crate) fn run(chaos: &Chaos) -> Result<bool> {
    xtask(&["setup", "--stack"])?;
    let built = sale::Programs::build()?;
    limits::raise_descriptors()?;
    let seed = chaos.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    let name = chaos.over.to_possible_value().context("none is hidden")?;
    println!(
        "faults drawn from seed {seed}; the same again: cargo xtask chaos --over {} --orders {} --seed {seed}",
        name.get_name(),
        chaos.orders
    );
    interrupt::or(async {
        let sale = Sale::start(&built, chaos)?;
        sale.hold(chaos.orders, seed).await
    })
}

struct Sale {
    parts: Parts,
    load: Load,
    admin_token: String,
}

impl Sale {
    fn start(built: &sale::Programs, chaos: &Chaos) -> Result<Self> {
        let store = Store::start(chaos.over)?;
        let bridge = store.bridge().binary(&built.bridge).start()?;
        let proxy = LatencyProxy::open(bridge.address()?, Duration::ZERO)?;
        let mut config =
            WorkerConfig::new(&built.worker, &bridge).bind("EDGELOCK_BRIDGE_URL", proxy.url());
        if chaos.over == Over::Pair && chaos.replicas > 0 {
            config = config.bind("WAIT_FOR_REPLICAS", chaos.replicas.to_string());
        }
        let workers = [Worker::start(&config)?, Worker::start(&config)?];
        let load = Load::new(workers.each_ref().map(Worker::url))?;
        Ok(Self {
            load: load.patient_for(PATIENCE),
            admin_token: config.admin_token().to_owned(),
            parts: Parts { workers, bridge, store, network: proxy.network().clone() },
        })
    }

    async fn hold(self, orders: u64, seed: u64) -> Result<bool> {
        let Self { mut parts, load, admin_token } = self;
        let skus = skus(orders);
        for sku in &skus {
            load.open(sku, &admin_token, &sale()?).await?;
        }
        let before = Use::of(&parts)?;
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
        let (mut parts, told) = tokio::task::spawn_blocking(move || faults.join())
            .await?
            .map_err(|_| anyhow!("the thread of the faults panicked"))?;
        let (told, (sales, took)) = (told?, held?);

        println!("  faults                {told}");
        let (mut ledger, mut figures) = (Ledger::default(), Figures::default());
        for (sku, of_sale) in sales {
            let mut probe = RedisProbe::at(&parts.store.server(&sku).url())?;
            ledger.add(&probe.ledger(&sku, &of_sale.sold)?);
            figures.add_all(of_sale);
        }
        println!("{ledger}");
        demo::print_figures(&figures, took);
        let is_left_clean = before.left_over(&parts).await?;
        ensure!(
            course.is_whole(),
            "the sales were over before all had gone wrong: send more orders"
        );
        Ok(ledger.is_consistent() && figures.wrong.is_empty() && is_left_clean)
    }
}

/// Names for so many orders, and some more for as long as a fault has not happened yet.
fn skus(orders: u64) -> Vec<String> {
    let count = orders.div_ceil(ORDERS) + SPARE;
    (0..count).map(|number| format!("lamp-{number}")).collect()
}

/// A sale with a few units fewer than are asked for, all of which one buyer may have.
fn sale() -> Result<Value> {
    let mut sale = sale::terms()?;
    sale["stock"] = json!(ORDERS * 9 / 10);
    sale["limit_per_buyer"] = json!(ORDERS);
    Ok(sale)
}

/// Holds one sale after another, until so many orders are answered and every fault has happened.
/// Returns what the customers of each saw, and how long all took.
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
        course.begin(sku);
        let crowd = orders::mixed(sku, usize::try_from(ORDERS)?);
        let figures = load.send(crowd, AT_ONCE, |figures| {
            bar.set_position(answered + figures.answered);
            ensure!(!course.is_over(), "the faults ended before the sales");
            Ok(())
        });
        let figures = figures.await?;
        answered += figures.answered;
        sales.push((sku.clone(), figures));
        let (faults, took) = (course.faults(), begun.elapsed().as_secs());
        bar.suspend(|| println!("  {answered} orders, {faults} faults, {took} s"));
    }
    bar.finish_and_clear();
    Ok((sales, begun.elapsed()))
}

/// What the programs have open, and in memory.
struct Use {
    /// Open descriptors of the bridge and of each Redis.
    descriptors: Vec<usize>,
    /// Megabytes of memory of each Worker.
    memory: Vec<u64>,
}

impl Use {
    fn of(parts: &Parts) -> Result<Self> {
        let mut ids = vec![parts.bridge.id()];
        ids.extend(parts.store.ids());
        let descriptors = ids.iter().copied().map(descriptors).collect::<Result<_>>()?;
        ids.extend(parts.workers.each_ref().map(Worker::id));
        let memory = ids.into_iter().map(|id| Ok(memory(id)? >> 20));
        let memory = memory.collect::<Result<_>>()?;
        Ok(Self { descriptors, memory })
    }

    /// Prints what is open and in memory once all is quiet. Returns whether little more is open
    /// than before.
    async fn left_over(&self, parts: &Parts) -> Result<bool> {
        let until = Instant::now() + QUIET;
        loop {
            let now = Self::of(parts)?;
            let mut pairs = now.descriptors.iter().zip(&self.descriptors);
            let is_quiet = pairs.all(|(now, before)| *now <= before + KEPT);
            if is_quiet || Instant::now() > until {
                println!("  of the bridge, of Redis, and of the Workers, before and after");
                let (before, after) = (&self.descriptors, &now.descriptors);
                println!("  descriptors           {before:?} {after:?}");
                println!("  memory in MB          {:?} {:?}", self.memory, now.memory);
                return Ok(is_quiet);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// How many descriptors a process has open, as Linux says.
fn descriptors(id: u32) -> Result<usize> {
    let folder = format!("/proc/{id}/fd");
    Ok(fs::read_dir(&folder).context(folder)?.count())
}

/// Its resident memory, in bytes.
fn memory(id: u32) -> Result<u64> {
    let file = format!("/proc/{id}/status");
    let status = fs::read_to_string(&file).with_context(|| file.clone())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.context(file)?.trim().parse::<u64>()? << 10)
}
