//! `cargo xtask dev`: the programs of the demo, to try things out.

use std::future::pending;

use anyhow::Result;
use clap::Args;
use serde_json::Value;
use testkit::sale::load::Load;
use testkit::stack::{Bridge, Worker, WorkerConfig};
use testkit::{interrupt, sale};

use crate::setup::{self, Needs};

/// What stays the same from one start to the next, so that a `.dev.vars` stays true.
#[derive(Args)]
pub(crate) struct Options {
    /// The bridge's port; by default the system picks one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The bridge's credential; drawn by default
    #[arg(long)]
    credential: Option<String>,
    /// Whose pages may use the bridge from a browser; `*` for all
    #[arg(long)]
    allow_origin: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    setup::run(Needs::Stack)?;
    let parts = sale::Programs::build()?;
    interrupt::until(stack(&parts, options)).map(drop)
}

/// Runs until it is dropped.
async fn stack(parts: &sale::Programs, options: &Options) -> Result<()> {
    let mut bridge = Bridge::options().binary(&parts.bridge);
    bridge = bridge.listen(format!("127.0.0.1:{}", options.port));
    if let Some(credential) = &options.credential {
        bridge = bridge.credential(credential);
    }
    if let Some(origin) = &options.allow_origin {
        bridge = bridge.option(format!("--allow-origin={origin}"));
    }
    // The Workers end before the bridge that they talk to.
    let bridge = bridge.start()?;
    let config = WorkerConfig::new(&parts.worker, &bridge);
    let workers = [Worker::start(&config)?, Worker::start(&config)?];
    let load = Load::new(workers.each_ref().map(Worker::url))?;
    let sale = sale::terms()?;
    load.open("lamp", config.admin_token(), &sale).await?;
    let lottery = Worker::start(&WorkerConfig::new(&parts.lottery, &bridge))?;
    print(&bridge, &config, &workers, &lottery, &sale);
    pending().await
}

/// Prints credentials, too: they are usable on loopback only.
fn print(
    bridge: &Bridge,
    config: &WorkerConfig,
    workers: &[Worker; 2],
    lottery: &Worker,
    sale: &Value,
) {
    let [worker, other] = &workers.each_ref().map(Worker::url);
    println!("page     {}", sale::page(worker, "lamp"));
    println!("Worker   {worker}");
    println!("Worker   {other}");
    println!("bridge   {}", bridge.url());
    println!("\nFor a Worker of your own, or in .dev.vars for `npx wrangler dev`:");
    for name in ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL", "ADMIN_CREDENTIAL"] {
        println!("  {name}={}", config.binding(name));
    }
    println!("\nA look into Redis, and a stock for the examples of the pages:");
    let redis = format!("redis-cli -s {}", bridge.redis_socket().display());
    println!("  {redis} --scan");
    println!("  {redis} SET '{{lamp}}:stock' 3");
    println!("\nA sale of lamps is open, and of kettles is not yet:");
    let admin = config.admin_token();
    println!("  curl -X PUT {worker}/sales/kettle -H 'Authorization: Bearer {admin}' -d '{sale}'");
    println!(
        "  curl {other}/sales/lamp/orders -d '{{\"order_id\":\"o1\",\"buyer\":\"ann\",\"quantity\":1}}'"
    );
    println!("  curl {worker}/sales/lamp");
    println!("\nTomorrow's lottery, drawn at once, since you are the clock:");
    let (lottery, clock) = (lottery.url(), lottery.cron_url());
    println!(
        "  curl {lottery}/lottery/$(date -u -d tomorrow +%F)/entrants -d '{{\"entrant\":\"ann\"}}'"
    );
    println!("  curl \"{clock}?time=$(date -u -d 'tomorrow 12:00' +%s000)\"");
    println!("  curl {lottery}/lottery/$(date -u -d tomorrow +%F)");
    println!("\nCtrl-C ends it all.");
}
