//! A first lock, natively: takes one unit from a stock that many could want at once.
//!
//! Run `cargo xtask dev` in another terminal, then, with the address and the credential that it prints:
//! `BRIDGE_URL=… BRIDGE_TOKEN=… cargo run --example first_lock`

mod native;

use std::env;
use std::error::Error;
use std::time::Duration;

use edgelock::{Bridge, Client, Command};
use native::{Http, Tokio};
use tokio::task::LocalSet;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // A place for background work: the client abandons there what it had to give up.
    LocalSet::new().block_on(&runtime, sell_one())
}

async fn sell_one() -> Result<(), Box<dyn Error>> {
    let bridge = Bridge::upstash(&env::var("BRIDGE_URL")?, &env::var("BRIDGE_TOKEN")?)?;
    let client = Client::new(bridge, Http::default(), Tokio::default());
    let lock = client
        .lock("sku:42")?
        .ttl(Duration::from_secs(10))?
        .wait(Duration::from_secs(3));

    // One request takes the lock and reads; one writes and gives it back. If the lease were lost meanwhile, the write would
    // not happen.
    let (lease, replies) = lock
        .acquire_and_read(&[Command::new("GET").key("{sku:42}:stock")])
        .await?;
    let stock = replies[0].int().unwrap_or(5);
    if stock == 0 {
        lease.release().await?;
        println!("sold out");
    } else {
        lease
            .commit(&[Command::new("SET")
                .key("{sku:42}:stock")
                .arg(stock - 1)
                .arg("EX")
                .arg(3600)])
            .await?;
        println!("sold one, {} left, fence {}", stock - 1, lease.fence());
    }
    Ok(())
}
