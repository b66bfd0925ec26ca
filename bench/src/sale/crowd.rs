//! The customers of a sale.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::{sleep, sleep_until, timeout};

use super::phase::Phase;

/// How long a customer asks before it goes away.
const PATIENCE: Duration = Duration::from_secs(60);
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// The pause before asking again, if no answer said when.
const PAUSE: Duration = Duration::from_millis(100);

/// Who comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Crowd {
    /// So many, each with one order under way, and with the next one when that is answered.
    Customers(usize),
    /// So many orders a second on average, at random: a Poisson process.
    Arrivals(u32),
}

impl FromStr for Crowd {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let crowd = match text.strip_suffix("/s") {
            Some(per_second) => Self::Arrivals(per_second.parse()?),
            None => Self::Customers(text.parse()?),
        };
        ensure!(!matches!(crowd, Self::Customers(0) | Self::Arrivals(0)), "nobody comes");
        Ok(crowd)
    }
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Customers(1) => write!(f, "1 customer"),
            Self::Customers(count) => write!(f, "{count} customers"),
            Self::Arrivals(per_second) => write!(f, "{per_second} orders/s at random"),
        }
    }
}

/// What the crowd saw. The time of an order is from its first request to its last answer.
#[derive(Default)]
pub(super) struct Seen {
    /// Of the orders with the answer that the phase has for them, in milliseconds.
    pub(super) took_ms: Vec<f64>,
    pub(super) gave_up: u64,
    /// Answers that no order should get in this phase.
    pub(super) wrong: u64,
    /// Requests without an answer, because the connection broke or it took too long. They were sent
    /// again.
    pub(super) broken: u64,
    /// How often each order was told that it is newly sold, if it was told that it is sold.
    pub(super) told: BTreeMap<String, u64>,
    /// Orders answered before the window was over, and how long that took.
    pub(super) answered: u64,
    pub(super) took: Duration,
}

/// The outcome of an order.
#[derive(PartialEq, Eq)]
enum Answer {
    Sold,
    Refused,
    Later(Duration),
    Wrong,
}

/// A crowd, and what it wants: one unit with each order, each for another buyer.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub(super) name: &'static str,
    pub(super) crowd: Crowd,
    pub(super) orders: u64,
    /// After this time nobody begins another order.
    pub(super) window: Duration,
}

impl Visit {
    /// Sends orders of `sku` to these Workers. `seed` says when they arrive, if at random.
    pub(super) async fn make(
        self,
        workers: Vec<SocketAddr>,
        sku: &str,
        phase: Phase,
        seed: u64,
    ) -> Result<Seen> {
        let customers = Rc::new(Customers {
            visit: self,
            path: format!("/sales/{sku}/orders"),
            expected: match phase {
                Phase::StockLasts => Answer::Sold,
                Phase::SoldOut => Answer::Refused,
            },
            begun: Instant::now(),
            next: Cell::new(0),
            idle: workers.iter().map(|_| RefCell::default()).collect(),
            workers,
            seen: RefCell::default(),
        });
        // Idle connections are tasks too, and nobody waits for those.
        let tasks = LocalSet::new();
        tasks.run_until(customers.clone().come(seed)).await;
        let customers = Rc::into_inner(customers).context("every customer has left")?;
        Ok(customers.seen.into_inner())
    }
}

struct Customers {
    visit: Visit,
    workers: Vec<SocketAddr>,
    path: String,
    expected: Answer,
    begun: Instant,
    next: Cell<u64>,
    /// The connections to each Worker that carry nothing.
    idle: Vec<RefCell<Vec<SendRequest<Full<Bytes>>>>>,
    seen: RefCell<Seen>,
}

impl Customers {
    async fn come(self: Rc<Self>, seed: u64) {
        let mut orders = JoinSet::new();
        match self.visit.crowd {
            Crowd::Customers(count) => {
                for number in 0..count {
                    orders.spawn_local(self.clone().again_and_again(number, count));
                }
            }
            Crowd::Arrivals(per_second) => {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut due = self.begun;
                while let Some(id) = self.next() {
                    let pause = -(1.0 - random.f64()).ln() / f64::from(per_second);
                    due += Duration::from_secs_f64(pause);
                    let worker = random.usize(..self.workers.len());
                    sleep_until(due.into()).await;
                    let customers = self.clone();
                    // An order that is sent late waits from when it was due.
                    orders.spawn_local(async move { customers.order(id, worker, due).await });
                }
            }
        }
        orders.join_all().await;
    }

    /// One of `count` customers, who share the Workers. One alone goes to each in turn.
    async fn again_and_again(self: Rc<Self>, number: usize, count: usize) {
        for turn in (number..).step_by(count) {
            let Some(id) = self.next() else { return };
            self.order(id, turn % self.workers.len(), Instant::now()).await;
        }
    }

    /// The number of the next order, if there is one.
    fn next(&self) -> Option<u64> {
        let id = self.next.get();
        let is_left = id < self.visit.orders && self.begun.elapsed() < self.visit.window;
        is_left.then(|| self.next.replace(id + 1))
    }

    /// One order until its final answer. It is [`Answer::Later`] if the customer gives up first.
    async fn order(&self, id: u64, worker: usize, since: Instant) {
        let id = format!("order-{id}");
        let answer = loop {
            let asked = timeout(REQUEST_LIMIT, self.ask(&id, worker)).await;
            let answer = asked.ok().and_then(Result::ok).unwrap_or_else(|| {
                self.seen.borrow_mut().broken += 1;
                Answer::Later(PAUSE)
            });
            match answer {
                Answer::Later(pause) if since.elapsed() + pause < PATIENCE => sleep(pause).await,
                answer => break answer,
            }
        };
        let mut seen = self.seen.borrow_mut();
        match answer {
            Answer::Later(_) => seen.gave_up += 1,
            answer if answer == self.expected => {
                seen.took_ms.push(since.elapsed().as_secs_f64() * 1_000.0);
            }
            _ => seen.wrong += 1,
        }
        let elapsed = self.begun.elapsed();
        if elapsed <= self.visit.window || seen.answered == 0 {
            seen.answered += 1;
            seen.took = elapsed;
        }
    }

    async fn ask(&self, id: &str, worker: usize) -> Result<Answer> {
        let idle = self.idle[worker].borrow_mut().pop();
        let mut connection = match idle.filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => connect(self.workers[worker]).await?,
        };
        let body = format!(r#"{{"order_id":"{id}","buyer":"buyer-{id}","quantity":1}}"#);
        let request = Request::post(&self.path)
            .header("host", "sale.example")
            .header("content-type", "application/json")
            .body(Full::from(body))?;
        connection.ready().await?;
        let response = connection.send_request(request).await?;
        let status = response.status();
        let pause = response
            .headers()
            .get("retry-after")
            .and_then(|seconds| seconds.to_str().ok()?.parse().ok())
            .map_or(PAUSE, Duration::from_secs);
        response.into_body().collect().await?;
        self.idle[worker].borrow_mut().push(connection);
        Ok(match status {
            // It is an old order if the answer to its first request was lost.
            StatusCode::CREATED | StatusCode::OK => {
                let told = &mut self.seen.borrow_mut().told;
                *told.entry(id.to_owned()).or_default() += u64::from(status == StatusCode::CREATED);
                Answer::Sold
            }
            StatusCode::CONFLICT | StatusCode::GONE => Answer::Refused,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::INTERNAL_SERVER_ERROR => {
                Answer::Later(pause)
            }
            _ => Answer::Wrong,
        })
    }
}

async fn connect(worker: SocketAddr) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(worker).await?;
    stream.set_nodelay(true)?;
    let (connection, carried) = http1::handshake(TokioIo::new(stream)).await?;
    spawn_local(async move {
        // Its user notices by an error.
        let _ = carried.await;
    });
    Ok(connection)
}
