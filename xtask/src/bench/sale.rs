//! `cargo xtask bench sale`: a flash sale with shared turns of a lock, and in the ways that its
//! users could choose instead.
//!
//! A sale has two [phases](Phase), which are held and printed apart. Each measurement starts
//! processes of its own: Workers in `workerd`, a bridge with its Redis, and a [long
//! way](super::delay) between them. The customers are in this process.

mod crowd;
mod shops;
mod table;
mod targets;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum as _};
use xtask::{setup, stack, worker_build};

use self::crowd::{Crowd, Visit};
use self::shops::{Open, Shop};
use self::table::{Sample, Table};
use crate::{interrupt, limits};

/// How long a crowd orders at most, so that a slow shop does not take all day.
const WINDOW: Duration = Duration::from_secs(20);
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

/// Who comes, and from how far.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Setting {
    crowd: Crowd,
    isolates: usize,
    round_trip_ms: u64,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (isolates, ms) = (self.isolates, self.round_trip_ms);
        let plural = if isolates == 1 { "" } else { "s" };
        write!(f, "{}, {isolates} isolate{plural}, {ms} ms", self.crowd)
    }
}

/// A part of a sale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There are as many units as orders: each is decided, and written.
    StockLasts,
    /// Nothing is left: each order is refused.
    SoldOut,
}

impl Phase {
    const fn name(self) -> &'static str {
        match self {
            Self::StockLasts => "while stock lasts",
            Self::SoldOut => "sold out",
        }
    }
}

pub(crate) fn run(sales: &Sales) -> Result<()> {
    setup::run(setup::Needs::Everything)?;
    eprintln!("building the Worker, the others' and the bridge (profile `server`)");
    worker_build::deployed()?;
    let bench = Bench {
        bridge: stack::build_bridge("server")?,
        folder: shops::bundle()?,
        orders: sales.orders,
        phases: &[Phase::StockLasts, Phase::SoldOut][..if sales.all_sold { 1 } else { 2 }],
    };
    limits::raise_descriptors()?;
    let seed = sales.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("orders arrive at random as with `--seed {seed}`");
    interrupt::or(async {
        let settings = sales.settings();
        for (place, setting) in settings.iter().enumerate() {
            eprintln!("{setting} ({} of {})", place + 1, settings.len());
            let tables = bench.phases.iter().map(|phase| (phase, Table::default()));
            let mut tables: Vec<_> = tables.collect();
            for round in 0..sales.rounds {
                for shop in sales.shops(setting) {
                    let samples = bench.hold(shop, setting, seed.wrapping_add(round)).await?;
                    for ((phase, table), sample) in tables.iter_mut().zip(samples) {
                        let (per_second, name) = (sample.per_second, phase.name());
                        eprintln!("  {:12} {per_second:6.0} orders/s {name}", shop.name());
                        table.add(shop, sample);
                    }
                }
            }
            for (phase, table) in &tables {
                let title = format!("{setting}, {}", phase.name());
                println!("\n{title}\n{table}");
                targets::print(&title, table);
            }
        }
        Ok(())
    })
}

impl Sales {
    fn settings(&self) -> Vec<Setting> {
        let mut places = vec![(2, 20)];
        if self.full {
            places.extend([(1, 20), (8, 20), (2, 0), (2, 100)]);
        }
        let mut settings = Vec::new();
        for &crowd in &self.customers {
            // Alone, a customer of one isolate finds each time what was left there.
            let alone = (crowd == Crowd::Customers(1) && !self.full).then_some((1, 20));
            for &(isolates, round_trip_ms) in alone.iter().chain(&places) {
                settings.push(Setting {
                    crowd,
                    isolates,
                    round_trip_ms,
                });
            }
        }
        settings
    }

    /// The shops to compare; by default those that tell something here.
    fn shops(&self, setting: &Setting) -> impl Iterator<Item = Shop> {
        let (crowd, is_near) = (setting.crowd, setting.round_trip_ms == 20);
        Shop::value_variants().iter().copied().filter(move |shop| {
            if !self.only.is_empty() {
                return self.only.contains(shop);
            }
            match shop {
                Shop::Edgelock | Shop::Script => true,
                Shop::Gathered => crowd != Crowd::Customers(1),
                Shop::Object | Shop::Constant => matches!(crowd, Crowd::Customers(2..)),
                Shop::Lock | Shop::LockDefault => {
                    self.full && is_near && matches!(crowd, Crowd::Customers(2..=512))
                }
            }
        })
    }
}

/// What has been built, and what is held with it.
struct Bench {
    bridge: PathBuf,
    folder: PathBuf,
    orders: u64,
    phases: &'static [Phase],
}

impl Bench {
    /// Opens a shop, and returns the figures of each phase.
    async fn hold(&self, shop: Shop, setting: &Setting, seed: u64) -> Result<Vec<Sample>> {
        let mut open = Open::start(shop, &self.folder, &self.bridge, setting)?;
        let visit = Visit {
            name: "sale",
            crowd: setting.crowd,
            orders: self.orders,
            window: WINDOW,
        };
        let mut samples = Vec::new();
        for &phase in self.phases {
            open.hold(&WARM_UP, phase, seed).await?;
            let (seen, spent) = open.hold(&visit, phase, seed).await?;
            // Peers may lose orders with their locks. We may not.
            ensure!(
                seen.wrong == 0 || shop != Shop::Edgelock,
                "{} orders went wrong",
                seen.wrong
            );
            samples.push(Sample::of(seen, spent, setting.round_trip_ms));
        }
        Ok(samples)
    }
}
