//! What is compared: the same sale, each time sold in another way.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use xtask::stack::{Bridge, LongWay, Worker, WorkerConfig};
use xtask::worker_build;
use xtask::{paths, programs};

use super::super::redis_id;

/// How a sale is sold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shop {
    /// The project's Worker.
    Edgelock,
    /// `@upstash/lock`, tried again so often.
    Lock { attempts: u32, delay_ms: u64 },
    /// An order is a Lua script, and a request.
    Script,
    /// The same script, with all orders of the moment in one request.
    Gathered,
    /// A Durable Object.
    Object,
}

impl Shop {
    pub(super) fn name(self) -> String {
        match self {
            Self::Edgelock => "edgelock".to_owned(),
            Self::Lock { delay_ms, .. } => format!("@upstash/lock, {delay_ms} ms"),
            Self::Script => "one script".to_owned(),
            Self::Gathered => "gathered script".to_owned(),
            Self::Object => "Durable Object".to_owned(),
        }
    }

    const fn script(self) -> Option<&'static str> {
        match self {
            Self::Edgelock => None,
            Self::Lock { .. } => Some("lock"),
            Self::Script => Some("script"),
            Self::Gathered => Some("gathered"),
            Self::Object => Some("object"),
        }
    }
}

/// Bundles the Workers that are not the project's own, and returns their folder.
pub(super) fn bundle() -> Result<PathBuf> {
    let folder = paths::target().join("bench/sale");
    for script in ["lock", "script", "gathered", "object"] {
        let out = folder.join(script).join("index.js");
        programs::run(
            Command::new(paths::npm_bin("esbuild"))
                .arg(format!("xtask/bench/sale/{script}.js"))
                .current_dir(paths::root())
                .args(["--bundle", "--format=esm", "--log-level=warning"])
                .args(["--platform=browser", "--conditions=workerd"])
                .arg("--external:cloudflare:workers")
                .arg("--alias:@upstash/redis=@upstash/redis/cloudflare")
                .arg(format!("--outfile={}", out.display())),
        )?;
    }
    Ok(folder)
}

/// An open shop: two Workers, and the stock at a distance.
pub(super) struct Open {
    // In this order, so that the Workers end before the servers that they use.
    workers: [Worker; 2],
    way: LongWay,
    stock: Stock,
}

/// Where the stock is kept.
enum Stock {
    Redis(Box<Bridge>),
    Object(Box<Worker>),
}

impl Open {
    /// Starts all that `shop` needs, at a distance of `round_trip`, with bundles from `folder`.
    pub(super) fn start(
        shop: Shop,
        folder: &Path,
        bridge: &Path,
        round_trip: Duration,
    ) -> Result<Self> {
        let bare = |script| WorkerConfig::bare(folder.join(script));
        if shop == Shop::Object {
            let object = Worker::start(&bare("object").object("Sale"))?;
            let way = LongWay::to(&object.url(), round_trip)?;
            let config = bare("object").bind("OBJECT_URL", way.url());
            return Ok(Self {
                workers: [Worker::start(&config)?, Worker::start(&config)?],
                way,
                stock: Stock::Object(Box::new(object)),
            });
        }
        let bridge = Bridge::options().binary(bridge).start()?;
        let way = LongWay::to(bridge.url(), round_trip)?;
        let config = match shop.script() {
            Some(script) => bare(script),
            None => WorkerConfig::new(worker_build::deployed()?, &bridge),
        };
        let config = config
            .bind("EDGELOCK_BRIDGE_URL", way.url())
            .bind("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token());
        let config = match shop {
            Shop::Lock { attempts, delay_ms } => config
                .bind("ATTEMPTS", attempts.to_string())
                .bind("DELAY_MS", delay_ms.to_string()),
            _ => config,
        };
        Ok(Self {
            workers: [Worker::start(&config)?, Worker::start(&config)?],
            way,
            stock: Stock::Redis(Box::new(bridge)),
        })
    }

    /// Puts `units` of `sku` on sale, for a day and one to a buyer.
    pub(super) async fn stock(&self, sku: &str, units: u64, ends_at_ms: u64) -> Result<()> {
        match &self.stock {
            Stock::Redis(bridge) => {
                let terms = [
                    ("stock", units),
                    ("remaining", units),
                    ("limit_per_buyer", 1),
                    ("ends_at_ms", ends_at_ms),
                ];
                let mut redis = bridge.redis().get_connection()?;
                redis::cmd("HSET")
                    .arg(format!("sale:{{{sku}}}"))
                    .arg(&terms)
                    .exec(&mut redis)?;
            }
            Stock::Object(object) => {
                let sale =
                    json!({ "stock": units, "limit_per_buyer": 1, "ends_at_ms": ends_at_ms });
                let put = reqwest::Client::new().put(format!("{}/objects/{sku}", object.url()));
                let answer = put.body(sale.to_string()).send().await?;
                ensure!(answer.status().is_success(), "no sale: {}", answer.status());
            }
        }
        Ok(())
    }

    pub(super) fn workers(&self) -> Result<Vec<SocketAddr>> {
        let address = |worker: &Worker| {
            let url = worker.url();
            let address = url.strip_prefix("http://").context("an address")?;
            Ok(address.parse()?)
        };
        self.workers.iter().map(address).collect()
    }

    /// How many requests have left the Workers.
    pub(super) fn requests(&self) -> u64 {
        self.way.requests()
    }

    /// The processes whose CPU time counts: the Workers, and what keeps the stock.
    pub(super) fn processes(&self) -> Result<Vec<(Role, u32)>> {
        let mut processes: Vec<_> = self
            .workers
            .iter()
            .map(|worker| (Role::Worker, worker.id()))
            .collect();
        match &self.stock {
            Stock::Redis(bridge) => processes.extend([
                (Role::Bridge, bridge.id()),
                (Role::Redis, redis_id(bridge)?),
            ]),
            Stock::Object(object) => processes.push((Role::Bridge, object.id())),
        }
        Ok(processes)
    }
}

/// What a process does in a sale. The process of a Durable Object counts as the bridge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Worker,
    Bridge,
    Redis,
}
