//! `cargo xtask picture`: the picture of a sale's page in the README, in headless Chromium.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use testkit::programs::run;
use testkit::sale::load::Load;
use testkit::stack::{Bridge, LatencyProxy, Worker, WorkerConfig};
use testkit::{interrupt, paths, sale};

use crate::setup::{self, Needs};

/// How far the bridge is from the Workers, there and back.
const ROUND_TRIP: Duration = Duration::from_millis(20);
const SKU: &str = "lamp";

pub(crate) fn take() -> Result<()> {
    setup::run(Needs::Everything)?;
    let parts = sale::Programs::build()?;
    interrupt::or(async {
        let bridge = Bridge::options().binary(&parts.bridge).start()?;
        let way = LatencyProxy::to(bridge.url(), ROUND_TRIP)?;
        let config =
            WorkerConfig::new(&parts.worker, &bridge).bind("EDGELOCK_BRIDGE_URL", way.url());
        let workers = [Worker::start(&config)?, Worker::start(&config)?];
        let addresses = workers.each_ref().map(Worker::url);
        let mut sale = sale::terms()?;
        sale["stock"] = json!(10_000);
        let load = Load::new(addresses.clone())?;
        load.open(SKU, config.admin_token(), &sale).await?;

        let unpacked = paths::target().join("chromium");
        fs::create_dir_all(&unpacked)?;
        let picture = paths::root().join("docs/page.png");
        let mut browser = Command::new("node");
        browser
            .arg(paths::root().join("xtask/src/picture/page.mjs"))
            .arg(&picture)
            .env("WORKERS", addresses.join(" "))
            .env("SKU", SKU)
            .env("TMPDIR", unpacked);
        tokio::task::spawn_blocking(move || run(&mut browser)).await??;
        println!("{}", picture.display());
        Ok(())
    })
}
