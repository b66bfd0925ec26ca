//! The customers of the benchmark. Each has a connection of its own, asks for one thing after
//! another, and costs little CPU.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::entrant::{CUSTOMERS, Entrant, Served};

/// Each answer ends with it, which shows that the script ran.
pub(super) const NONCE: &str = "0123456789abcdef";

/// All answers are smaller.
const LARGEST: usize = 4096;

pub(super) struct Customers(Vec<Customer>);

struct Customer {
    stream: TcpStream,
    /// The same each time.
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Customers {
    pub(super) async fn of(entrant: &Entrant, sha: &str) -> Result<Self> {
        let mut customers = Vec::new();
        for number in 0..CUSTOMERS {
            let stream = TcpStream::connect(&entrant.address).await?;
            stream.set_nodelay(true)?;
            let body = (entrant.body)(sha, number);
            let request = format!(
                "POST / HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                entrant.address,
                entrant.authorization,
                body.len()
            );
            customers.push(Customer {
                stream,
                request: request.into_bytes(),
                answer: Vec::with_capacity(LARGEST),
            });
        }
        Ok(Self(customers))
    }

    pub(super) async fn ask_for(self, window: Duration) -> Result<Served> {
        let begun = Instant::now();
        let mut under_way = JoinSet::new();
        for mut customer in self.0 {
            under_way.spawn(async move {
                let mut requests = 0;
                while begun.elapsed() < window {
                    customer.ask().await?;
                    requests += 1;
                }
                anyhow::Ok(requests)
            });
        }
        let mut requests = 0;
        while let Some(served) = under_way.join_next().await {
            requests += served??;
        }
        let took = begun.elapsed();
        Ok(Served { requests, took })
    }
}

impl Customer {
    async fn ask(&mut self) -> Result<()> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the bridge closed a connection");
            if let Some(body) = body(&self.answer)? {
                return check(body);
            }
            ensure!(self.answer.len() < LARGEST, "too long an answer");
        }
    }
}

/// The body of an answer that is complete.
fn body(answer: &[u8]) -> Result<Option<&[u8]>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(begin) = head.parse(answer)? else {
        return Ok(None);
    };
    let length = (head.headers.iter())
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .context("the answer does not say how long it is")?;
    let length: usize = str::from_utf8(length.value)?.parse()?;
    if head.code != Some(200) {
        bail!("{}", String::from_utf8_lossy(answer));
    }
    Ok(answer.get(begin..begin + length))
}

fn check(body: &[u8]) -> Result<()> {
    let ends_well = (body.trim_ascii_end().windows(NONCE.len()))
        .rev()
        .take(8)
        .any(|end| end == NONCE.as_bytes());
    ensure!(ends_well, "{}", String::from_utf8_lossy(body));
    Ok(())
}
