//! The customers of a sale: so many at once, each with one order under way, and with the next one
//! when that is answered.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

/// How long a customer asks before it goes away.
const PATIENCE: Duration = Duration::from_secs(60);
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// The pause before asking again, if no answer said when.
const PAUSE: Duration = Duration::from_millis(100);

/// A crowd, and what it wants.
pub(super) struct Crowd {
    pub(super) customers: usize,
    pub(super) orders: u64,
    /// After this time nobody begins another order.
    pub(super) window: Duration,
}

/// What the crowd saw. The time of an order is from its first request to its last answer.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) sold: Vec<Duration>,
    pub(super) refused: Vec<Duration>,
    pub(super) gave_up: u64,
    /// Answers that no order should get.
    pub(super) wrong: u64,
    /// Requests without an answer, because the connection broke or it took too long. They were sent
    /// again.
    pub(super) broken: u64,
    /// Orders that were told twice that they are newly sold.
    pub(super) twice: u64,
    pub(super) units: u64,
    /// Orders answered before the window was over, and how long that took.
    pub(super) answered: u64,
    pub(super) took: Duration,
    ids: HashSet<u64>,
}

/// The outcome of an order.
enum Answer {
    Sold,
    Refused,
    Later(Duration),
    Wrong,
}

impl Crowd {
    /// Sends orders for one unit each of `sku`, each by another buyer, to these Workers in turn.
    pub(super) async fn come(&self, workers: &[SocketAddr], sku: &str) -> Result<Seen> {
        let seen = Rc::new(RefCell::new(Seen::default()));
        let next = Rc::new(Cell::new(0));
        let begun = Instant::now();
        let customers = LocalSet::new();
        for number in 0..self.customers {
            let customer = Customer {
                worker: workers[number % workers.len()],
                path: format!("/sales/{sku}/orders"),
                connection: None,
                broken: 0,
            };
            let (seen, next) = (seen.clone(), next.clone());
            let (orders, window) = (self.orders, self.window);
            customers.spawn_local(async move {
                let mut customer = customer;
                while next.get() < orders && begun.elapsed() < window {
                    let id = next.replace(next.get() + 1);
                    let answer = customer.order(id).await;
                    seen.borrow_mut().add(id, answer, begun, window);
                }
                seen.borrow_mut().broken += customer.broken;
            });
        }
        customers.await;
        Rc::into_inner(seen)
            .map(RefCell::into_inner)
            .context("every customer has left")
    }
}

impl Seen {
    fn add(
        &mut self,
        id: u64,
        (answer, took): (Answer, Duration),
        begun: Instant,
        window: Duration,
    ) {
        match answer {
            Answer::Sold => {
                self.units += 1;
                self.sold.push(took);
                self.twice += u64::from(!self.ids.insert(id));
            }
            Answer::Refused => self.refused.push(took),
            Answer::Later(_) => self.gave_up += 1,
            Answer::Wrong => self.wrong += 1,
        }
        let elapsed = begun.elapsed();
        if elapsed <= window || self.answered == 0 {
            self.answered += 1;
            self.took = elapsed;
        }
    }
}

/// One customer, with a connection of its own.
struct Customer {
    worker: SocketAddr,
    path: String,
    connection: Option<SendRequest<Full<Bytes>>>,
    broken: u64,
}

impl Customer {
    /// One order until its final answer. It is [`Answer::Later`] if the customer gives up first.
    async fn order(&mut self, id: u64) -> (Answer, Duration) {
        let begun = Instant::now();
        loop {
            let asked = timeout(REQUEST_LIMIT, self.ask(id)).await;
            let answer = match asked {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => {
                    self.connection = None;
                    self.broken += 1;
                    Answer::Later(PAUSE)
                }
            };
            match answer {
                Answer::Later(pause) if begun.elapsed() + pause < PATIENCE => sleep(pause).await,
                answer => return (answer, begun.elapsed()),
            }
        }
    }

    async fn ask(&mut self, id: u64) -> Result<Answer> {
        let connection = match &mut self.connection {
            Some(connection) if !connection.is_closed() => connection,
            none => none.insert(connect(self.worker).await?),
        };
        let body = format!(r#"{{"order_id":"order-{id}","buyer":"buyer-{id}","quantity":1}}"#);
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
        Ok(match status {
            StatusCode::CREATED => Answer::Sold,
            StatusCode::CONFLICT | StatusCode::GONE | StatusCode::OK => Answer::Refused,
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
    tokio::task::spawn_local(async move {
        // Its user notices by an error.
        let _ = carried.await;
    });
    Ok(connection)
}
