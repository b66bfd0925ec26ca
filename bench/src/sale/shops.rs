//! What is compared: the same sale, each time sold in another way.

use std::array;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use testkit::sale::{self, ledger::RedisProbe};
use testkit::stack::{Bridge, LatencyProxy, Worker, WorkerConfig};
use testkit::{paths, programs, worker_build};

use super::crowd::{Seen, Visit};
use super::phase::Phase;
use super::setting::Setting;
use crate::work::{cpu_ns, redis_id};

/// How a sale is sold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Shop {
    /// Answers each order with a constant
    Constant,
    /// An order is a Lua script, and a request
    Script,
    /// The same script, with all orders of a moment in one request
    Gathered,
    /// A Durable Object
    Object,
    /// @upstash/lock, tried each 25 ms, which served it best
    Lock,
    /// @upstash/lock, tried three times by default
    LockDefault,
    /// Shared turns of the npm package
    Package,
    /// The project's Worker
    Edgelock,
}

impl Shop {
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Bundles the Workers that are not the project's own, and returns their folder.
pub(super) fn bundle() -> Result<PathBuf> {
    programs::xtask(&["build-npm"])?;
    let package = paths::npm_package().join("workerd.js");
    let folder = paths::target().join("bench/sale");
    let scripts = ["constant", "script", "gathered", "object", "lock", "package"];
    programs::run(
        Command::new(paths::npm_bin("esbuild"))
            .args(scripts.map(|script| format!("bench/scripts/sale/{script}.js")))
            .current_dir(paths::root())
            .args(["--bundle", "--format=esm", "--log-level=warning"])
            .args(["--platform=browser", "--conditions=workerd"])
            .arg("--external:cloudflare:workers")
            .args(["--loader:.wasm=copy", "--asset-names=package/[name]"])
            .arg(format!("--alias:edgelock={}", package.display()))
            .arg("--alias:@upstash/redis=@upstash/redis/cloudflare")
            .arg("--entry-names=[name]/index")
            .arg(format!("--outdir={}", folder.display())),
    )?;
    Ok(folder)
}

/// An open shop: Workers, and the stock at a distance.
pub(super) struct Open {
    // In this order, so that the Workers end before the servers that they use.
    workers: Vec<Worker>,
    way: LatencyProxy,
    /// What keeps the stock of a Durable Object.
    object: Option<Worker>,
    probe: RedisProbe,
    /// Whose CPU time counts: the Workers, the bridge or the Durable Object, and Redis.
    processes: [Vec<u32>; 3],
    bridge: Bridge,
    has_ledger: bool,
}

impl Open {
    /// Starts all that `shop` needs, with bundles from `folder`.
    pub(super) fn start(
        shop: Shop,
        folder: &Path,
        bridge: &Path,
        setting: &Setting,
    ) -> Result<Self> {
        let bridge = Bridge::options().binary(bridge).start()?;
        let [build, attempts, delay_ms] = match shop {
            Shop::LockDefault => ["lock", "3", "100"].map(str::to_owned),
            shop => [shop.name(), "200".to_owned(), "25".to_owned()],
        };
        let build = match shop {
            Shop::Edgelock => worker_build::deployed()?,
            _ => folder.join(build),
        };
        let object = (shop == Shop::Object)
            .then(|| Worker::start(&WorkerConfig::bare(&build).object("Sale")))
            .transpose()?;
        let far = object.as_ref().map_or_else(|| bridge.url().to_owned(), Worker::url);
        let way = LatencyProxy::to(&far, Duration::from_millis(setting.round_trip_ms))?;
        let config = WorkerConfig::new(build, &bridge)
            .bind("EDGELOCK_BRIDGE_URL", way.url())
            .bind("ATTEMPTS", attempts)
            .bind("DELAY_MS", delay_ms);
        let config = match shop {
            Shop::Object => config.object("Sale"),
            _ => config,
        };
        let start = |_| Worker::start(&config);
        let workers: Vec<_> = (0..setting.isolates).map(start).collect::<Result<_>>()?;
        Ok(Self {
            processes: [
                workers.iter().map(Worker::id).collect(),
                vec![object.as_ref().map_or_else(|| bridge.id(), Worker::id)],
                vec![redis_id(&bridge)?],
            ],
            workers,
            way,
            object,
            probe: RedisProbe::open(bridge.redis_socket())?,
            bridge,
            has_ledger: !matches!(shop, Shop::Object | Shop::Constant),
        })
    }

    /// Holds a sale of its own. Returns what the customers saw, and what was spent: requests that
    /// have left the Workers, commands of Redis, and nanoseconds of CPU of the Workers, the bridge
    /// and Redis.
    pub(super) async fn hold(
        &mut self,
        visit: &Visit,
        phase: Phase,
        seed: u64,
    ) -> Result<(Seen, [u64; 5])> {
        let (sku, units) = match phase {
            Phase::StockLasts => (visit.name.to_owned(), visit.orders),
            Phase::SoldOut => (format!("{}-sold-out", visit.name), 0),
        };
        self.stock(&sku, units).await?;
        let before = self.spent()?;
        let mut seen = visit.make(self.workers(), &sku, phase, seed).await?;
        let after = self.spent()?;
        if self.has_ledger {
            let ledger = self.probe.ledger(&sku, &seen.told)?;
            if !ledger.is_consistent() {
                eprintln!("{ledger}");
                seen.wrong += 1;
            }
        }
        let spent = array::from_fn(|at| after[at].saturating_sub(before[at]));
        Ok((seen, spent))
    }

    /// Puts so many units on sale, one to a buyer.
    async fn stock(&mut self, sku: &str, units: u64) -> Result<()> {
        let mut sale = sale::terms()?;
        (sale["stock"], sale["remaining"], sale["limit_per_buyer"]) =
            (units.into(), units.into(), 1.into());
        if let Some(object) = &self.object {
            let put = reqwest::Client::new().put(format!("{}/objects/{sku}", object.url()));
            let answer = put.body(sale.to_string()).send().await?;
            ensure!(answer.status().is_success(), "no sale: {}", answer.status());
            return Ok(());
        }
        let mut write = redis::cmd("HSET");
        write.arg(format!("sale:{{{sku}}}"));
        for (field, value) in sale.as_object().into_iter().flatten() {
            write.arg(field).arg(value.to_string());
        }
        Ok(write.exec(&mut self.bridge.redis().get_connection()?)?)
    }

    fn workers(&self) -> Vec<SocketAddr> {
        let address = |worker: &Worker| (Ipv4Addr::LOCALHOST, worker.port()).into();
        self.workers.iter().map(address).collect()
    }

    fn spent(&mut self) -> Result<[u64; 5]> {
        let mut spent = [self.way.requests(), self.probe.commands()?, 0, 0, 0];
        for (sum, ids) in spent[2..].iter_mut().zip(&self.processes) {
            for id in ids {
                *sum += cpu_ns(*id)?;
            }
        }
        Ok(spent)
    }
}
