//! Orders that each take the lock for itself: each comes as a cart of one item, and carts share no
//! turns.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::{Client, Response, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// How many orders of `sku` are placed in [`WINDOW`] by so many customers at once. A customer whose
/// order is placed has another.
pub(super) async fn placed(workers: [String; 2], sku: &str, customers: usize) -> Result<u64> {
    let placed = Arc::new(AtomicU64::new(0));
    let client = Client::new();
    let mut crowd = JoinSet::new();
    for number in 0..customers {
        let customer = Customer {
            client: client.clone(),
            url: format!("{}/orders", workers[number % workers.len()]),
            number,
            sku: sku.to_owned(),
        };
        let placed = placed.clone();
        crowd.spawn(async move { customer.come(&placed).await });
    }
    sleep(WINDOW).await;
    match crowd.try_join_next() {
        Some(ended) => match ended?? {},
        None => Ok(placed.load(Ordering::Relaxed)),
    }
}

struct Customer {
    client: Client,
    url: String,
    number: usize,
    sku: String,
}

impl Customer {
    async fn come(&self, placed: &AtomicU64) -> Result<Infallible> {
        let mut order = 0;
        loop {
            let answer = self.order(order).await?;
            match answer.status() {
                StatusCode::CREATED => {
                    placed.fetch_add(1, Ordering::Relaxed);
                    order += 1;
                }
                StatusCode::SERVICE_UNAVAILABLE => sleep(pause(&answer)?).await,
                status => bail!("{status} for {}", answer.text().await?),
            }
        }
    }

    async fn order(&self, order: usize) -> reqwest::Result<Response> {
        let id = format!("{}-{order}", self.number);
        let cart = json!({ "order_id": id, "buyer": id, "items": [{ "sku": self.sku }] });
        let request = self.client.post(&self.url).body(cart.to_string());
        request.send().await
    }
}

/// For how long the customer is told to stay away.
fn pause(answer: &Response) -> Result<Duration> {
    let seconds = answer.headers().get("retry-after");
    let seconds = seconds.context("a 503 without Retry-After")?.to_str()?;
    Ok(Duration::from_secs(seconds.parse()?))
}
