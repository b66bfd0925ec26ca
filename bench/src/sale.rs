//! `cargo xtask bench sale`: a flash sale with shared turns of a lock, and in the ways that its
//! users could choose instead.
//!
//! A sale has two [phases](Phase), which are held and printed apart. Each measurement starts
//! processes of its own: Workers in `workerd`, a bridge with its Redis, and a [proxy that
//! delays](testkit::stack::LatencyProxy) between them. The customers are in this process.

mod crowd;
mod phase;
mod setting;
mod shops;
mod table;
mod targets;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum as _};
use testkit::programs::xtask;
use testkit::{interrupt, limits, stack, worker_build};

use self::crowd::{Crowd, Visit};
use self::phase::Phase;
use self::setting::Setting;
use self::shops::{Open, Shop};
use self::table::{Sample, Table};

/// How long a crowd orders at most, so that a slow shop does not take all day.
const WINDOW: Duration = Duration::from_secs(20);
/// Isolates, and a round trip in milliseconds.
const USUAL: (usize, u64) = (2, 20);
const WARM_UP: Visit = Visit {
    name: "warm-up",
    crowd: Crowd::Customers(32),
    orders: 500,
    window: Duration::from_secs(4),
};

/// Which sales to hold.
#[derive(Args)]
pub(crate) struct Sales {
    /// Only while stock lasts: there are as many units as orders
    #[arg(long)]
    all_sold: bool,
    /// Also 0 and 100 ms, one and eight isolates, and @upstash/lock
    #[arg(long)]
    full: bool,
    /// How many order at once, each again when it is answered; or, as `500/s`, how many orders a
    /// second arrive at random, whether or not others are answered
    #[arg(long, value_delimiter = ',', default_values = ["1", "64", "512", "4096", "500/s", "2000/s"])]
    customers: Vec<Crowd>,
    /// How many orders a phase has, as far as 20 s last
    #[arg(long, default_value_t = 20_000)]
    orders: u64,
    /// How many rounds; a figure is their median
    #[arg(long, default_value_t = 1)]
    rounds: u64,
    /// When orders arrive at random; drawn by default, and printed
    #[arg(long)]
    seed: Option<u64>,
    /// Only these shops
    #[arg(long, value_delimiter = ',')]
    only: Vec<Shop>,
}

pub(crate) fn run(sales: &Sales) -> Result<()> {
    xtask(&["setup"])?;
    eprintln!("building the Worker, the others' and the bridge (profile `server`)");
    worker_build::deployed()?;
    let bench = Bench {
        bridge: stack::build_bridge("server")?,
        folder: shops::bundle()?,
        sales,
        seed: sales.seed.unwrap_or_else(|| fastrand::u64(..)),
    };
    limits::raise_descriptors()?;
    println!("orders arrive at random as with `--seed {}`", bench.seed);
    interrupt::or(async {
        let settings = sales.settings();
        for (place, setting) in settings.iter().enumerate() {
            eprintln!("{setting} ({} of {})", place + 1, settings.len());
            for (phase, table) in bench.compare(setting).await? {
                let title = format!("{setting}, {phase}");
                println!("\n{title}\n{table}");
                targets::print(&title, &table);
            }
        }
        Ok(())
    })
}

impl Sales {
    fn phases(&self) -> &[Phase] {
        let phases = &[Phase::StockLasts, Phase::SoldOut];
        if self.all_sold { &phases[..1] } else { phases }
    }

    fn settings(&self) -> Vec<Setting> {
        let mut places = vec![USUAL];
        if self.full {
            places.extend([(1, 20), (8, 20), (2, 0), (2, 100)]);
        }
        let mut settings = Vec::new();
        for &crowd in &self.customers {
            // Alone, a customer of one isolate finds each time what was left there.
            let alone = (crowd == Crowd::Customers(1) && !self.full).then_some((1, 20));
            for &(isolates, round_trip_ms) in alone.iter().chain(&places) {
                settings.push(Setting { crowd, isolates, round_trip_ms });
            }
        }
        settings
    }

    /// The shops to compare; by default those that tell something here.
    fn shops(&self, setting: &Setting) -> impl Iterator<Item = Shop> {
        let crowd = setting.crowd;
        let is_usual = (setting.isolates, setting.round_trip_ms) == USUAL;
        Shop::value_variants().iter().copied().filter(move |shop| {
            if !self.only.is_empty() {
                return self.only.contains(shop);
            }
            match shop {
                Shop::Edgelock | Shop::Package | Shop::Script => true,
                Shop::Gathered => crowd != Crowd::Customers(1),
                Shop::Object | Shop::Constant => matches!(crowd, Crowd::Customers(2..)),
                Shop::Lock | Shop::LockDefault => {
                    self.full && is_usual && matches!(crowd, Crowd::Customers(2..=512))
                }
            }
        })
    }
}

/// What has been built, and what is held with it.
struct Bench<'s> {
    bridge: PathBuf,
    folder: PathBuf,
    sales: &'s Sales,
    seed: u64,
}

impl Bench<'_> {
    /// Opens all shops one after another, and returns a table for each phase.
    async fn compare(&self, setting: &Setting) -> Result<Vec<(Phase, Table)>> {
        let sale =
            Visit { name: "sale", crowd: setting.crowd, orders: self.sales.orders, window: WINDOW };
        let tables = self.sales.phases().iter();
        let mut tables: Vec<_> = tables.map(|phase| (*phase, Table::default())).collect();
        for round in 0..self.sales.rounds {
            let seed = self.seed.wrapping_add(round);
            for shop in self.sales.shops(setting) {
                let mut open = Open::start(shop, &self.folder, &self.bridge, setting)?;
                for (phase, table) in &mut tables {
                    open.hold(&WARM_UP, *phase, seed).await?;
                    let (seen, spent) = open.hold(&sale, *phase, seed).await?;
                    // Peers may lose orders with their locks. We may not.
                    let is_ours = matches!(shop, Shop::Edgelock | Shop::Package);
                    ensure!(!is_ours || seen.wrong == 0, "{} orders went wrong", seen.wrong);
                    let sample = Sample::of(seen, spent, setting.round_trip_ms);
                    let (name, per_second) = (shop.name(), sample.per_second);
                    eprintln!("  {name:12} {per_second:6.0} orders/s {phase}");
                    table.add(shop, sample);
                }
            }
        }
        Ok(tables)
    }
}
