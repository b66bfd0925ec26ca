//! How many requests a section sends that reads and writes under a lock.

use anyhow::{Context, Result, ensure};
use testkit::sale::ledger::RedisProbe;
use testkit::sale::load::Load;
use testkit::sale::{orders, terms};
use testkit::stack::{Bridge, Worker, WorkerConfig};
use testkit::worker_build;

const SECTIONS: usize = 20;

/// The requests of edgelock: an order of the Worker is such a section. Redis counts them, since
/// each request is a script.
pub(super) async fn requests(bridge: &Bridge) -> Result<f64> {
    let config = WorkerConfig::new(worker_build::deployed()?, bridge);
    let worker = Worker::start(&config)?;
    let load = Load::new([worker.url(), worker.url()])?;
    load.open("bench", config.admin_token(), &terms()?).await?;
    let mut probe = RedisProbe::open(bridge.redis_socket())?;
    let before = probe.scripts()?;
    let figures = load.send(orders::fresh("bench", SECTIONS), 1, |_| Ok(())).await?;
    ensure!(figures.sold.len() == SECTIONS, "orders failed: {:?}", figures.others);
    let scripts = probe.scripts()?.checked_sub(before).context("scripts are only ever added")?;
    Ok(scripts as f64 / SECTIONS as f64)
}
