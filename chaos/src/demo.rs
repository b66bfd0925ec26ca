//! `cargo xtask demo`: two flash sales over two Workers that are far from their bridge, what
//! Redis's ledger says afterwards, and how much slower it would be if each order took the lock for
//! itself.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use testkit::programs::xtask;
use testkit::sale::{
    self, STOCK,
    ledger::RedisProbe,
    load::{Figures, Load, percentile},
    orders,
};
use testkit::stack::{Bridge, LatencyProxy, Worker, WorkerConfig};
use testkit::{interrupt, limits};
use tokio::time::timeout;

const ORDERS: usize = 10_000;
const AT_ONCE: usize = 512;
const QUIET_ORDERS: usize = 20;
/// For how long each order takes the lock for itself.
const WINDOW: Duration = Duration::from_secs(10);

/// How the sales are held.
#[derive(Args)]
pub(crate) struct Sales {
    /// How far the bridge is from the Workers, in milliseconds there and back
    #[arg(long, value_name = "MS", default_value_t = 20)]
    round_trip: u64,
}

pub(crate) fn run(sales: &Sales) -> Result<()> {
    xtask(&["setup", "--stack"])?;
    let programs = sale::Programs::build()?;
    limits::raise_descriptors()?;
    let round_trip = Duration::from_millis(sales.round_trip);
    interrupt::or(async { Demo::start(&programs, round_trip)?.run().await })
}

struct Demo {
    // In this order, so that the Workers end before the bridge that they use.
    workers: [Worker; 2],
    config: WorkerConfig,
    round_trip: Duration,
    _bridge: Bridge,
    probe: RedisProbe,
}

impl Demo {
    fn start(programs: &sale::Programs, round_trip: Duration) -> Result<Self> {
        eprintln!("starting Redis, the bridge and Workers in workerd");
        let bridge = Bridge::options().binary(&programs.bridge).start()?;
        let way = LatencyProxy::to(bridge.url(), round_trip)?;
        let config =
            WorkerConfig::new(&programs.worker, &bridge).bind("EDGELOCK_BRIDGE_URL", way.url());
        let workers = [Worker::start(&config)?, Worker::start(&config)?];
        let probe = RedisProbe::open(bridge.redis_socket())?;
        Ok(Self { workers, config, round_trip, _bridge: bridge, probe })
    }

    async fn run(mut self) -> Result<()> {
        let quiet = self.quiet_sale().await?;
        println!("An order that nobody competes with: {quiet:.2} bridge requests");

        println!(
            "\n{ORDERS} orders for {STOCK} units, {AT_ONCE} at once over two Workers, {} ms from the bridge and back",
            self.round_trip.as_millis()
        );
        let first = self.sale("lamp", None).await?;

        println!(
            "\nThe same, with kill -9 of one Worker and of all connections to Redis while units are being sold"
        );
        let second = self.sale("kettle", Some(Violence::amid(ORDERS as u64))).await?;

        self.one_by_one().await?;
        ensure!(first && second, "the ledger is wrong");
        println!("\nBoth ledgers are right.");
        Ok(())
    }

    /// Requests to the bridge for an order, if nobody else wants the lock.
    async fn quiet_sale(&mut self) -> Result<f64> {
        let load = self.open("quiet").await?;
        let before = self.probe.scripts()?;
        let figures = load.send(orders::fresh("quiet", QUIET_ORDERS), 1, |_| Ok(())).await?;
        ensure!(
            figures.sold.len() == QUIET_ORDERS,
            "orders without competition failed: {:?}",
            figures.others
        );
        Ok((self.probe.scripts()? - before) as f64 / QUIET_ORDERS as f64)
    }

    /// Runs a sale and prints its figures. Returns whether its ledger is right.
    async fn sale(&mut self, sku: &str, mut violence: Option<Violence>) -> Result<bool> {
        let load = self.open(sku).await?;
        println!("  page                  {}", sale::page(&self.workers[0].url(), sku));
        let before = self.probe.scripts()?;
        let style =
            ProgressStyle::with_template("  {bar:40} {pos}/{len} orders  {elapsed}  {msg}")?;
        let bar = ProgressBar::new(ORDERS as u64).with_style(style);
        let start = Instant::now();
        let mut sold_out = None;
        let figures = load.send(orders::mixed(sku, ORDERS), AT_ONCE, |figures| {
            if figures.others.contains_key("sold_out") {
                sold_out.get_or_insert_with(|| (figures.latencies.len(), start.elapsed()));
            }
            bar.set_position(figures.answered);
            bar.set_message(format!("{} units sold", figures.units));
            match &mut violence {
                Some(violence) => violence.go_on(figures, &mut self.workers[1], &mut self.probe),
                None => Ok(()),
            }
        });
        let figures = figures.await?;
        let took = start.elapsed();
        bar.finish_and_clear();
        if let Some(violence) = violence {
            violence.report()?;
        }
        let requests = self.probe.scripts()? - before;
        let ledger = self.probe.ledger(sku, &figures.sold)?;
        println!("{ledger}");
        if let Some((count, lasted)) = sold_out {
            let (before, after) = figures.latencies.split_at(count);
            print_speed("while stock lasted", before, lasted);
            print_speed("sold out", after, took - lasted);
        }
        print_figures(&figures, took);
        print_requests(requests, figures.answered as f64);
        if !figures.wrong.is_empty() {
            self.print_errors();
        }
        Ok(ledger.is_right() && figures.wrong.is_empty())
    }

    /// Prints how many orders the same crowd would get through if each took the lock for itself.
    async fn one_by_one(&mut self) -> Result<()> {
        println!(
            "\nThe same crowd, with a lock that each order takes for itself: each is a cart of one item, for {} s",
            WINDOW.as_secs()
        );
        let mut sale = sale::terms()?;
        sale["stock"] = json!(1_000_000);
        let load = Load::new(self.workers.each_ref().map(Worker::url))?;
        load.open("chair", self.config.admin_token(), &sale).await?;
        let before = self.probe.scripts()?;
        let mut placed = 0;
        let sent = load.send(orders::carts("chair", ORDERS), AT_ONCE, |figures| {
            ensure!(figures.wrong.is_empty(), "{:?}", figures.wrong);
            placed = figures.units;
            Ok(())
        });
        if let Ok(sent) = timeout(WINDOW, sent).await {
            sent?;
        }
        let requests = self.probe.scripts()? - before;
        let per_second = placed as f64 / WINDOW.as_secs_f64();
        println!(
            "  orders per second     {per_second:>8.0}, so {ORDERS} would take {:.0} s",
            ORDERS as f64 / per_second
        );
        print_requests(requests, placed as f64);
        Ok(())
    }

    /// Prints errors from the Workers' logs, which may say why an answer was wrong.
    fn print_errors(&self) {
        for worker in &self.workers {
            let log = worker.log();
            for line in log.lines().filter(|line| line.contains("rror")).take(5) {
                println!("  {line}");
            }
        }
    }

    async fn open(&self, sku: &str) -> Result<Load> {
        let load = Load::new(self.workers.each_ref().map(Worker::url))?;
        load.open(sku, self.config.admin_token(), &sale::terms()?).await?;
        Ok(load)
    }
}

/// Faults in the middle of a sale. Each happens once, when so many units are sold.
#[derive(Default)]
struct Violence {
    /// How many orders the sale has.
    orders: u64,
    killed: bool,
    cut: u64,
    restarted: bool,
}

impl Violence {
    fn amid(orders: u64) -> Self {
        Self { orders, ..Self::default() }
    }

    fn go_on(
        &mut self,
        figures: &Figures,
        worker: &mut Worker,
        probe: &mut RedisProbe,
    ) -> Result<()> {
        if figures.units >= STOCK / 4 && !self.killed {
            worker.kill();
            self.killed = true;
        }
        if figures.units >= STOCK / 2 && self.cut == 0 {
            self.cut = probe.cut_connections()?;
        }
        if figures.answered >= self.orders / 2 && !self.restarted {
            worker.restart()?;
            self.restarted = true;
        }
        Ok(())
    }

    fn report(&self) -> Result<()> {
        ensure!(
            self.killed && self.cut > 0 && self.restarted,
            "the sale was over before anything went wrong in it"
        );
        println!("  a Worker was killed and came back; connections to Redis cut: {}", self.cut);
        Ok(())
    }
}

/// Prints what the customers saw.
pub(crate) fn print_figures(figures: &Figures, took: Duration) {
    print_speed("in all", &figures.latencies, took);
    println!(
        "  told to come back     {:>8} times, disconnected {} times",
        figures.told_to_wait, figures.disconnected
    );
    let sold: u64 = figures.sold.values().sum();
    println!("  answers               {sold:>8} sold");
    for (answer, count) in &figures.others {
        println!("                        {count:>8} {answer}");
    }
    for wrong in figures.wrong.iter().take(5) {
        println!("  WRONG: {wrong}");
    }
}

/// Prints how fast orders were answered, from the first try to the last word.
fn print_speed(when: &str, latencies: &[Duration], took: Duration) {
    let mut sorted: Vec<_> = latencies.iter().map(Duration::as_secs_f64).collect();
    sorted.sort_by(f64::total_cmp);
    let [p50, p99] = [0.5, 0.99].map(|part| 1_000.0 * percentile(&sorted, part));
    let per_second = sorted.len() as f64 / took.as_secs_f64();
    println!("  {when:20}  {per_second:>8.0} orders per second, p50 {p50:.1} ms, p99 {p99:.1} ms");
}

fn print_requests(requests: u64, orders: f64) {
    println!("  bridge requests       {:>8.3} per order", requests as f64 / orders);
}
