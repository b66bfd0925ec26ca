//! Counts under a lock, for JavaScript in a page, behind a bundler or in Node.
use std::time::Duration;

use edgelock::web::{Bridge, client};
use edgelock::{Command, Error};
use wasm_bindgen::prelude::*;

/// Adds one to what is counted under `name`, and returns the count.
#[wasm_bindgen]
pub async fn count(url: &str, credential: &str, name: &str) -> Result<f64, JsError> {
    Ok(count_one(url, credential, name).await? as f64)
}

async fn count_one(url: &str, credential: &str, name: &str) -> Result<i64, Error> {
    let client = client(Bridge::upstash(url, credential)?);
    let lock = client.lock(name).wait_timeout(Duration::from_secs(30));
    // What a script of Redis could do too, but here stands for your own decision.
    let counter = format!("{{{name}}}:count");
    let reads = [Command::new("GET").key(&counter)];
    let (lease, replies) = lock.acquire_and_read(&reads).await?;
    let next = replies[0].as_i64().unwrap_or(0) + 1;
    let write = Command::new("SET").key(&counter).arg(next);
    lease.commit(&[write.arg("EX").arg(3600)]).await?;
    Ok(next)
}
