//! `cargo xtask bench sale`: one flash sale, sold with shared turns of a lock, and in the ways that
//! its users could choose instead.
//!
//! Each measurement starts processes of its own: two Workers in `workerd`, a bridge with its Redis,
//! and a [long way](super::delay) between them. The customers are in this process, each with one
//! order under way.

mod crowd;
mod shops;
mod targets;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;
use xtask::{setup, stack, worker_build};

use self::crowd::{Crowd, Seen};
use self::shops::{Open, Role, Shop};
use super::cpu_ns;
use crate::{interrupt, limits, process};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a crowd orders at most, so that a slow shop does not take all day.
const WINDOW: Duration = Duration::from_secs(20);
const WARM_UP: Crowd = Crowd {
    customers: 32,
    orders: 500,
    window: Duration::from_secs(4),
};

/// The peer with the delay that served it best, and with its default.
const PEERS: [Shop; 3] = [
    Shop::Lock {
        attempts: 1_000,
        delay_ms: 5,
    },
    Shop::Lock {
        attempts: 200,
        delay_ms: 25,
    },
    Shop::Lock {
        attempts: 3,
        delay_ms: 100,
    },
];

/// Which sales to hold.
#[derive(Args)]
pub(crate) struct Sales {
    /// How many customers come at once
    #[arg(long, value_delimiter = ',', default_values_t = [64, 512, 4_096])]
    customers: Vec<usize>,
    /// How many units there are
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000])]
    units: Vec<u64>,
    /// How many orders are sent, as far as 20 s last
    #[arg(long, default_value_t = 20_000)]
    orders: u64,
    /// How far the bridge is from the Workers, in milliseconds there and back
    #[arg(long, value_delimiter = ',', default_values_t = [20, 0, 100])]
    round_trips: Vec<u64>,
    /// Leaves out all shops but these: edgelock, script, gathered, object, lock
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// One sale, and its figures.
struct Cell {
    shop: Shop,
    round_trip_ms: u64,
    units: u64,
    customers: usize,
    figures: Figures,
}

struct Figures {
    seen: Seen,
    requests: u64,
    /// The CPU of the Workers, the bridge and Redis.
    cpu_ns: [u64; 3],
    /// The memory that the Workers have after the sale, in bytes.
    memory: u64,
}

const HEAD: &str = "\
shop                    ms  units customers  orders/s   sold p50     p99  refused p50   p99 (ms)  requests   CPU µs: Worker  bridge  Redis   MiB  gave up  oversold  twice  wrong  broken";

pub(crate) fn run(sales: &Sales) -> Result<()> {
    setup::run(setup::Needs::Everything)?;
    eprintln!("building the Worker, the others' and the bridge (profile `server`)");
    worker_build::deployed()?;
    let bench = Bench {
        bridge: stack::build_bridge("server")?,
        folder: shops::bundle()?,
    };
    limits::raise_descriptors()?;
    interrupt::or(async {
        let mut cells = Vec::new();
        println!("{HEAD}");
        for &round_trip_ms in &sales.round_trips {
            for &units in &sales.units {
                for &customers in &sales.customers {
                    for shop in sales.shops(round_trip_ms, customers) {
                        let crowd = Crowd {
                            customers,
                            orders: sales.orders,
                            window: WINDOW,
                        };
                        let cell = bench.hold(shop, round_trip_ms, units, &crowd).await?;
                        println!("{}", cell.row());
                        cells.push(cell);
                    }
                }
            }
        }
        for target in targets::all(&cells) {
            println!("{target}");
        }
        Ok(())
    })
}

impl Sales {
    /// The shops to compare at this distance. A lock that is asked for again and again is only
    /// measured where a figure needs it.
    fn shops(&self, round_trip_ms: u64, customers: usize) -> Vec<Shop> {
        let has_peers = round_trip_ms == 20 && customers <= 512;
        let peers = PEERS.into_iter().filter(|_| has_peers);
        [Shop::Edgelock, Shop::Script, Shop::Gathered, Shop::Object]
            .into_iter()
            .chain(peers)
            .filter(|shop| {
                let name = match shop {
                    Shop::Edgelock => "edgelock",
                    Shop::Lock { .. } => "lock",
                    Shop::Script => "script",
                    Shop::Gathered => "gathered",
                    Shop::Object => "object",
                };
                self.only.is_empty() || self.only.iter().any(|only| only == name)
            })
            .collect()
    }
}

/// What has been built.
struct Bench {
    bridge: PathBuf,
    folder: PathBuf,
}

impl Bench {
    async fn hold(
        &self,
        shop: Shop,
        round_trip_ms: u64,
        units: u64,
        crowd: &Crowd,
    ) -> Result<Cell> {
        let round_trip = Duration::from_millis(round_trip_ms);
        let open = Open::start(shop, &self.folder, &self.bridge, round_trip)?;
        let ends_at = SystemTime::now().duration_since(UNIX_EPOCH)? + DAY;
        let ends_at_ms = u64::try_from(ends_at.as_millis())?;
        let workers = open.workers()?;
        open.stock("warm-up", WARM_UP.orders / 2, ends_at_ms)
            .await?;
        WARM_UP.come(&workers, "warm-up").await?;

        open.stock("sale", units, ends_at_ms).await?;
        let (requests, cpu) = (open.requests(), cpu(&open)?);
        let seen = crowd.come(&workers, "sale").await?;
        let after = cpu_of_roles(&open, &cpu)?;
        Ok(Cell {
            shop,
            round_trip_ms,
            units,
            customers: crowd.customers,
            figures: Figures {
                requests: open.requests() - requests,
                cpu_ns: after,
                memory: memory(&open)?,
                seen,
            },
        })
    }
}

impl Cell {
    fn per_second(&self) -> f64 {
        let Seen { answered, took, .. } = &self.figures.seen;
        *answered as f64 / took.as_secs_f64()
    }

    fn requests_per_order(&self) -> f64 {
        self.figures.requests as f64 / self.orders()
    }

    /// Microseconds of CPU for an order: of the Workers, the bridge and Redis.
    fn cpu_us_per_order(&self) -> [f64; 3] {
        let orders = self.orders();
        self.figures.cpu_ns.map(|ns| ns as f64 / 1_000.0 / orders)
    }

    fn orders(&self) -> f64 {
        let Seen {
            sold,
            refused,
            gave_up,
            ..
        } = &self.figures.seen;
        (sold.len() + refused.len()) as f64 + *gave_up as f64
    }

    fn oversold(&self) -> u64 {
        self.figures.seen.units.saturating_sub(self.units)
    }

    fn row(&self) -> String {
        let Seen {
            sold,
            refused,
            gave_up,
            wrong,
            twice,
            broken,
            ..
        } = &self.figures.seen;
        let [sold_p50, sold_p99] = [0.5, 0.99].map(|share| percentile_ms(sold, share));
        let [no_p50, no_p99] = [0.5, 0.99].map(|share| percentile_ms(refused, share));
        let [worker, bridge, redis] = self.cpu_us_per_order();
        format!(
            "{:22} {:4} {:6} {:9} {:9.0} {sold_p50:10.0} {sold_p99:7.0} {no_p50:12.0} {no_p99:10.0} {:9.3} {worker:16.0} {bridge:7.0} {redis:6.0} {:5} {gave_up:8} {:9} {twice:6} {wrong:6} {broken:7}",
            self.shop.name(),
            self.round_trip_ms,
            self.units,
            self.customers,
            self.per_second(),
            self.requests_per_order(),
            self.figures.memory >> 20,
            self.oversold(),
        )
    }
}

/// The smallest time that at least this share does not exceed.
fn percentile_ms(times: &[Duration], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
}

/// How long each process has run so far.
fn cpu(open: &Open) -> Result<Vec<(Role, u64)>> {
    let processes = open.processes()?.into_iter();
    processes
        .map(|(role, id)| Ok((role, cpu_ns(id)?)))
        .collect()
}

/// How long the processes have run since `before`, by role.
fn cpu_of_roles(open: &Open, before: &[(Role, u64)]) -> Result<[u64; 3]> {
    let mut sums = [0; 3];
    for ((role, after), (_, before)) in cpu(open)?.into_iter().zip(before) {
        sums[role as usize] += after.saturating_sub(*before);
    }
    Ok(sums)
}

/// The resident memory of both Workers.
fn memory(open: &Open) -> Result<u64> {
    let mut sum = 0;
    for (role, id) in open.processes()? {
        if role == Role::Worker {
            sum += process::memory(id)?;
        }
    }
    Ok(sum)
}
