//! A first lock, natively: takes one unit from a stock that many could want at once.
//! docs/guide.md shows it, and says how to run it.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use edgelock::{Bridge, Command, Error, native};

#[tokio::main]
async fn main() -> ExitCode {
    match sell_one().await {
        Ok(message) => println!("{message}"),
        Err(error) => {
            eprintln!("{error}\n{}", error.advice());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn sell_one() -> Result<String, Error> {
    let set = |name| env::var(name).unwrap_or_default();
    let bridge = Bridge::upstash(&set("EDGELOCK_BRIDGE_URL"), &set("EDGELOCK_BRIDGE_CREDENTIAL"))?;
    let client = native::client(bridge);
    let lock =
        client.lock("sku:44").ttl(Duration::from_secs(10)).wait_timeout(Duration::from_secs(3));

    // One request takes the lock and reads, and one writes and releases.
    // If the lease is lost in between, the write does not happen.
    let (lease, replies) =
        lock.acquire_and_read(&[Command::new("GET").key("{sku:44}:stock")]).await?;
    let stock = replies[0].as_i64().unwrap_or(5);
    if stock == 0 {
        lease.release().await?;
        return Ok("sold out".to_owned());
    }
    lease
        .commit(&[Command::new("SET").key("{sku:44}:stock").arg(stock - 1).arg("EX").arg(3600)])
        .await?;
    Ok(format!("sold one, {} left, fence {}", stock - 1, lease.fence()))
}
