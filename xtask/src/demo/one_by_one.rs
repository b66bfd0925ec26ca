//! A lock that each order takes for itself, by the lock service.
//!
//! A turn is an acquisition and a release. What an order reads and writes would be part of these
//! two requests, so this is the least that an order can cost.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

pub(super) const WINDOW: Duration = Duration::from_secs(10);
const WAIT_MS: u64 = 5_000;
/// The pause before asking again, if no answer said when.
const PAUSE: Duration = Duration::from_millis(100);

/// How many turns `customers` at once get in [`WINDOW`]. A customer that had a turn wants another.
pub(super) async fn turns(services: &[String; 2], token: &str, customers: usize) -> Result<u64> {
    let turns = Arc::new(AtomicU64::new(0));
    let mut crowd = JoinSet::new();
    for number in 0..customers {
        let customer = Customer {
            client: Client::new(),
            lock: format!("{}/locks/one-by-one", services[number % services.len()]),
            token: token.to_owned(),
        };
        let turns = turns.clone();
        crowd.spawn(async move { customer.come(&turns).await });
    }
    sleep(WINDOW).await;
    match crowd.try_join_next() {
        Some(ended) => match ended?? {},
        None => Ok(turns.load(Ordering::Relaxed)),
    }
}

struct Customer {
    client: Client,
    lock: String,
    token: String,
}

impl Customer {
    async fn come(&self, turns: &AtomicU64) -> Result<Infallible> {
        loop {
            let taken = self.ask("acquire", json!({ "wait_ms": WAIT_MS })).await?;
            match taken.status() {
                StatusCode::CREATED => {
                    let lease: Value = serde_json::from_str(&taken.text().await?)?;
                    self.ask("release", json!({ "token": lease["token"] }))
                        .await?;
                    turns.fetch_add(1, Ordering::Relaxed);
                }
                StatusCode::CONFLICT => {}
                StatusCode::SERVICE_UNAVAILABLE => sleep(PAUSE).await,
                status => bail!("the lock service says {status}"),
            }
        }
    }

    async fn ask(&self, what: &str, body: Value) -> reqwest::Result<Response> {
        let request = self.client.post(format!("{}/{what}", self.lock));
        let request = request.bearer_auth(&self.token).body(body.to_string());
        request.send().await
    }
}
