//! A flash sale: the programs that hold it, its terms, and its page.

pub mod ledger;
pub mod load;
pub mod orders;

use std::panic;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};

use crate::{stack, worker_build};

/// More than one turn can sell, so that faults meet a sale that is not over.
pub const STOCK: u64 = 1_000;
const LIMIT_PER_BUYER: u64 = 2;

/// The programs that are compiled to hold sales.
pub struct Programs {
    /// The executable of the bridge.
    pub bridge: PathBuf,
    /// The folder of the Worker that sells.
    pub worker: PathBuf,
    /// The folder of the Worker that draws lots.
    pub lottery: PathBuf,
}

impl Programs {
    /// Builds all at once, unless they are built already.
    pub fn build() -> Result<Self> {
        eprintln!("building the Workers and the bridge (the first time takes a minute or two)");
        thread::scope(|scope| {
            let bridge = scope.spawn(|| stack::bridge_binary("dev"));
            let [worker, lottery] = [worker_build::SALE, "lottery"].map(worker_build::of_folder);
            let bridge = bridge.join().unwrap_or_else(|panic| panic::resume_unwind(panic))?;
            Ok(Self { bridge, worker: worker?, lottery: lottery? })
        })
    }
}

/// The address of a Worker's page about a sale.
pub fn page(worker: &str, sku: &str) -> String {
    format!("{worker}/?sku={sku}")
}

/// A sale of one day, as an operator opens it.
pub fn terms() -> Result<Value> {
    let end = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_secs(24 * 60 * 60);
    let end = u64::try_from(end.as_millis())?;
    Ok(json!({ "stock": STOCK, "limit_per_buyer": LIMIT_PER_BUYER, "ends_at_ms": end }))
}
