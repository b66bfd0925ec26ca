//! Sends orders as customers would: many at once, to any Worker, and again later when they are told
//! so.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;
use tokio::task::JoinSet;

use super::orders::Order;

const REQUEST_LIMIT: Duration = Duration::from_secs(15);
/// How long a customer goes on asking by default. The lock of a holder that was killed is free
/// again well before that.
const ORDER_LIMIT: Duration = Duration::from_secs(60);
/// The pause before asking again, if no answer said when.
const PAUSE: Duration = Duration::from_millis(100);

/// The customers of one sale.
#[derive(Clone)]
pub struct Load {
    client: Client,
    workers: [String; 2],
    patience: Duration,
}

/// What the customers saw.
#[derive(Default)]
pub struct Figures {
    /// How many final answers there were.
    pub answered: u64,
    /// Units in answers that said "sold".
    pub units: u64,
    /// For each order that is said to be sold: how often it was answered as newly sold.
    pub sold: BTreeMap<String, u64>,
    /// How many other answers there were, by kind.
    pub others: BTreeMap<String, u64>,
    /// Answers that no customer should get.
    pub wrong: Vec<String>,
    /// Of each honest order, the time from the first try to its final answer.
    pub latencies: Vec<Duration>,
    /// How often a customer was told to come back later.
    pub told_to_wait: u64,
    /// How often a connection ended without an answer.
    pub disconnected: u64,
}

struct Reply {
    status: StatusCode,
    retry_after: Option<Duration>,
    body: String,
}

/// The final answer to a request.
struct Word {
    status: StatusCode,
    body: String,
    told_to_wait: u64,
    disconnected: u64,
}

struct Answer {
    order: Order,
    word: Word,
    /// The time from the first try to the final answer.
    latency: Duration,
}

impl Load {
    /// Customers of these two Workers.
    pub fn new(workers: [String; 2]) -> Result<Self> {
        let client = Client::builder().timeout(REQUEST_LIMIT).build()?;
        Ok(Self { client, workers, patience: ORDER_LIMIT })
    }

    /// The same, with customers who go on asking for so long.
    pub fn patient_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Opens a sale.
    pub async fn open(&self, sku: &str, admin_token: &str, sale: &Value) -> Result<()> {
        let path = format!("/sales/{sku}");
        let put = |worker: &str| {
            let request = self.client.put(format!("{worker}{path}"));
            request.bearer_auth(admin_token).body(sale.to_string())
        };
        let Word { status, body, .. } = self.last_word(&path, 0, put).await?;
        // The sale is already open if the answer that said so was lost, or was "unknown".
        ensure!(
            [StatusCode::CREATED, StatusCode::OK].contains(&status),
            "the sale was not opened: {status} {body}"
        );
        Ok(())
    }

    /// Sends all orders, `at_once` at a time, to the Workers in turn. `watch` sees the figures
    /// after each answer.
    pub async fn send(
        &self,
        orders: Vec<Order>,
        at_once: usize,
        mut watch: impl FnMut(&Figures) -> Result<()>,
    ) -> Result<Figures> {
        let mut waiting: VecDeque<_> = orders.into_iter().enumerate().collect();
        let mut under_way = JoinSet::new();
        let mut figures = Figures::default();
        loop {
            while under_way.len() < at_once
                && let Some((turn, order)) = waiting.pop_front()
            {
                let load = self.clone();
                under_way.spawn(async move { load.order(order, turn).await });
            }
            let Some(answer) = under_way.join_next().await else {
                return Ok(figures);
            };
            figures.add(answer??);
            watch(&figures)?;
        }
    }

    /// One order until its final answer.
    async fn order(&self, order: Order, turn: usize) -> Result<Answer> {
        let start = Instant::now();
        let send = |worker: &str| {
            let request =
                self.client.request(order.method.clone(), format!("{worker}{}", order.path));
            request.body(order.body.clone())
        };
        let word = self.last_word(&order.path, turn, send).await?;
        Ok(Answer { latency: start.elapsed(), order, word })
    }

    /// The final answer to `request`, if it comes while the customer is patient. Each try sends the
    /// same request, to either Worker, so it is executed once.
    async fn last_word(
        &self,
        path: &str,
        mut turn: usize,
        request: impl Fn(&str) -> RequestBuilder,
    ) -> Result<Word> {
        let start = Instant::now();
        let (mut told_to_wait, mut disconnected) = (0, 0);
        loop {
            let worker = &self.workers[turn % self.workers.len()];
            let pause = match ask(request(worker)).await {
                Ok(Reply { status, retry_after, .. })
                    if status == StatusCode::SERVICE_UNAVAILABLE =>
                {
                    told_to_wait += 1;
                    retry_after.context("a 503 without Retry-After")?
                }
                // Redis is full, for example. Nothing was sold, and nobody knows when it will be.
                Ok(Reply { status: StatusCode::BAD_GATEWAY, .. }) => {
                    told_to_wait += 1;
                    PAUSE
                }
                Ok(Reply { status, body, .. }) => {
                    return Ok(Word { status, body, told_to_wait, disconnected });
                }
                // The Worker has gone, so the other one gets the same request.
                Err(_) => {
                    disconnected += 1;
                    turn += 1;
                    PAUSE
                }
            };
            let patience = self.patience;
            ensure!(
                start.elapsed() + pause <= patience,
                "{path} had no answer within {} s",
                patience.as_secs()
            );
            tokio::time::sleep(pause).await;
        }
    }
}

async fn ask(request: RequestBuilder) -> reqwest::Result<Reply> {
    let reply = request.send().await?;
    let retry_after = reply.headers().get("retry-after");
    let seconds = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    Ok(Reply {
        status: reply.status(),
        retry_after: seconds.map(Duration::from_secs),
        body: reply.text().await?,
    })
}

impl Figures {
    /// Adds the figures of another sale.
    pub fn add_all(&mut self, other: Self) {
        self.answered += other.answered;
        self.units += other.units;
        self.sold.extend(other.sold);
        for (answer, count) in other.others {
            *self.others.entry(answer).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self.latencies.extend(other.latencies);
        self.told_to_wait += other.told_to_wait;
        self.disconnected += other.disconnected;
    }

    fn add(&mut self, answer: Answer) {
        self.answered += 1;
        let Answer { order, word, latency } = answer;
        self.told_to_wait += word.told_to_wait;
        self.disconnected += word.disconnected;
        let (status, code) = (word.status, code(&word.body));
        match (order.honest, status.as_u16()) {
            (Some(honest), 201) => {
                self.units += honest.quantity;
                *self.sold.entry(honest.id).or_default() += 1;
                self.latencies.push(latency);
            }
            (Some(honest), 200) => {
                self.sold.entry(honest.id).or_default();
                let again = "same order again".to_owned();
                *self.others.entry(again).or_default() += 1;
                self.latencies.push(latency);
            }
            (Some(_), 409) => {
                *self.others.entry(code).or_default() += 1;
                self.latencies.push(latency);
            }
            (None, 400..=499) if status != StatusCode::CONFLICT => {
                *self.others.entry("bad input".to_owned()).or_default() += 1;
            }
            _ => self
                .wrong
                .push(format!("{} {} {} -> {status} {code}", order.method, order.path, order.body)),
        }
    }
}

/// The `code` of an error, or an empty string.
fn code(body: &str) -> String {
    let problem: Value = serde_json::from_str(body).unwrap_or_default();
    problem["code"].as_str().unwrap_or_default().to_owned()
}

/// The smallest value that at least this `part` of all do not exceed.
pub fn percentile(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    let value = sorted.get(rank.saturating_sub(1));
    value.copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.5), 50.0);
        assert_eq!(percentile(&values, 0.99), 99.0);
        assert_eq!(percentile(&values[..1], 0.99), 1.0);
    }
}
