//! `cargo xtask dev`: the programs of the demo, to try things out.

use std::future::pending;

use anyhow::Result;
use serde_json::Value;
use xtask::setup::{self, Needs};
use xtask::stack::{Bridge, Worker, WorkerConfig};

use crate::demo::load::Load;
use crate::{demo, interrupt};

pub(crate) fn run() -> Result<()> {
    setup::run(Needs::Stack)?;
    let parts = demo::Parts::build()?;
    interrupt::until(stack(&parts)).map(drop)
}

/// Runs until it is dropped.
async fn stack(parts: &demo::Parts) -> Result<()> {
    // The Workers end before the bridge that they talk to.
    let bridge = Bridge::options().binary(&parts.bridge).start()?;
    let config = WorkerConfig::new(&bridge).built_in(&parts.worker);
    let workers = [Worker::start(&config)?, Worker::start(&config)?];
    let load = Load::new(workers.each_ref().map(Worker::url))?;
    let sale = demo::sale()?;
    load.open("lamp", config.admin_token(), &sale).await?;
    print(&bridge, &config, &workers, &sale);
    pending().await
}

/// Prints credentials, too: they are random, good for this run only, and usable on loopback only.
fn print(bridge: &Bridge, config: &WorkerConfig, workers: &[Worker; 2], sale: &Value) {
    let [worker, other] = &workers.each_ref().map(Worker::url);
    println!("page     {}", demo::page(worker, "lamp"));
    println!("Worker   {worker}");
    println!("Worker   {other}");
    println!("bridge   {}", bridge.url());
    println!("Redis    redis-cli -s {}", bridge.redis_socket().display());
    println!("\nFor a Worker of your own, or in .dev.vars for `npx wrangler dev`:");
    for name in [
        "EDGELOCK_BRIDGE_URL",
        "EDGELOCK_BRIDGE_CREDENTIAL",
        "ADMIN_CREDENTIAL",
        "LOCKS_CREDENTIAL",
    ] {
        println!("  {name}={}", config.binding(name));
    }
    println!("\nA sale of lamps is open, and of kettles is not yet:");
    let admin = config.admin_token();
    println!("  curl -X PUT {worker}/sales/kettle -H 'Authorization: Bearer {admin}' -d '{sale}'");
    println!(
        "  curl {other}/sales/lamp/orders -d '{{\"order_id\":\"o1\",\"buyer\":\"ann\",\"quantity\":1}}'"
    );
    println!("  curl {worker}/sales/lamp");
    println!("\nTomorrow's lottery, drawn at once, since you are the clock:");
    println!(
        "  curl {worker}/lottery/$(date -u -d tomorrow +%F)/entrants -d '{{\"entrant\":\"ann\"}}'"
    );
    let clock = workers[1].cron_url();
    println!("  curl \"{clock}?time=$(date -u -d 'tomorrow 12:00' +%s000)\"");
    println!("  curl {worker}/lottery/$(date -u -d tomorrow +%F)");
    println!("\nCtrl-C ends it all.");
}
