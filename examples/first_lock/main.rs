//! A first lock, natively: takes one unit from a stock that many could want at once.
//! docs/guide.md shows it, and says how to run it.

use std::env;
use std::error::Error;
use std::time::Duration;

use edgelock::{Bridge, Command, native};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bridge = Bridge::upstash(
        &env::var("EDGELOCK_BRIDGE_URL")?,
        &env::var("EDGELOCK_BRIDGE_CREDENTIAL")?,
    )?;
    let client = native::client(bridge);
    let lock = client
        .lock("sku:44")
        .ttl(Duration::from_secs(10))
        .wait(Duration::from_secs(3));

    // One request takes the lock and reads, and one writes and releases.
    // If the lease is lost in between, the write does not happen.
    let (lease, replies) = lock
        .acquire_and_read(&[Command::new("GET").key("{sku:44}:stock")])
        .await?;
    let stock = replies[0].as_i64().unwrap_or(5);
    if stock == 0 {
        lease.release().await?;
        println!("sold out");
    } else {
        lease
            .commit(&[Command::new("SET")
                .key("{sku:44}:stock")
                .arg(stock - 1)
                .arg("EX")
                .arg(3600)])
            .await?;
        println!("sold one, {} left, fence {}", stock - 1, lease.fence());
    }
    Ok(())
}
