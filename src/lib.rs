//! Distributed locks for code that runs at the edge.
//!
//! Workers have no TCP, a few milliseconds of CPU and a limited number of requests. edgelock talks
//! to Redis through an HTTP bridge, and runs each operation of a lock as one script in one request.
//!
//! A [`Client`] makes [`Lock`]s; acquiring a lock gives a [`Lease`]. A section that reads and
//! writes under a lock costs two requests, and its write cannot land after the lease was lost:
//!
//! ```
//! use edgelock::{Command, Error};
//! # type Lock = edgelock::Lock<bridge::Shop, bridge::Still>;
//!
//! /// `Lock` is `edgelock::web::Lock` on the edge, and `edgelock::native::Lock` elsewhere.
//! async fn sell_one(lock: &Lock) -> Result<Option<i64>, Error> {
//!     let read = Command::new("GET").key("{sku:42}:stock");
//!     let (lease, replies) = lock.acquire_and_read(&[read]).await?;
//!     let Some(stock) = replies[0].as_i64().filter(|stock| *stock > 0) else {
//!         lease.release().await?;
//!         return Ok(None);
//!     };
//!     let write = Command::new("SET").key("{sku:42}:stock").arg(stock - 1);
//!     lease.commit(&[write]).await?;
//!     Ok(Some(stock - 1))
//! }
//! # mod bridge {
//! #     use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
//! #     use std::time::Duration;
//! #     use edgelock::*;
//! #     /// A bridge with a stock of one, and nobody else who wants it.
//! #     pub struct Shop { pub stock: AtomicI64 }
//! #     impl Transport for Shop {
//! #         async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
//! #             let words: Vec<&str> = request.body.split("\",\"").collect();
//! #             let nonce = words[3 + words[2].parse::<usize>().unwrap()];
//! #             let body = if request.body.contains("WAITER") {
//! #                 let stock = self.stock.load(Relaxed);
//! #                 format!(r#"{{"result":[1,"{nonce}",7,"$1\r\n{stock}\r\n"]}}"#)
//! #             } else {
//! #                 self.stock.store(0, Relaxed);
//! #                 format!(r#"{{"result":[1,"{nonce}","{}"]}}"#, if words.contains(&"SET") { r"+OK\r\n" } else { "" })
//! #             };
//! #             Ok(Response::new(200, body))
//! #         }
//! #     }
//! #     pub struct Still;
//! #     impl Runtime for Still {
//! #         fn now(&self) -> Instant { Instant::from_origin(Duration::ZERO) }
//! #         async fn sleep(&self, _: Duration) { std::future::pending().await }
//! #         fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> { bytes.fill(7); Ok(()) }
//! #         fn spawn(&self, _: Task) {}
//! #     }
//! # }
//! # let shop = bridge::Shop { stock: 1.into() };
//! # let address = edgelock::Bridge::upstash("https://bridge.example", "credential")?;
//! # let client = edgelock::Client::new(address, shop, bridge::Still);
//! # let run = |lock: &Lock| {
//! #     let mut sold = std::pin::pin!(sell_one(lock));
//! #     match sold.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
//! #         std::task::Poll::Ready(sold) => sold,
//! #         std::task::Poll::Pending => panic!("this bridge answers at once"),
//! #     }
//! # };
//!
//! let lock = client.lock("sku:42");
//! assert_eq!(run(&lock)?, Some(0));
//! assert_eq!(run(&lock)?, None);
//! # Ok::<_, Error>(())
//! ```
//!
//! The client has no socket and no clock of its own. On the edge `edgelock::web` brings both,
//! elsewhere `edgelock::native`, by the feature `native`. Each has its own `Client`, `Lock` and
//! `Lease`, without type parameters. For another HTTP client or another async runtime, implement
//! [`Transport`] and [`Runtime`].
//!
//! `docs/protocol.md` says what is stored in Redis, and what is guaranteed. Errors never mix up a
//! lock that is [held by another](Error::Held), a lease that is [lost](Error::Lost), and an outcome
//! that is [unknown](Error::is_outcome_unknown).

#[cfg(all(feature = "native-no-tls", not(target_family = "wasm")))]
pub mod native;
#[cfg(target_family = "wasm")]
pub mod web;

#[cfg(all(doctest, feature = "native-no-tls"))]
#[doc = include_str!("../docs/kinds.md")]
struct Kinds;

mod acquisition;
mod bridge;
mod client;
mod command;
mod debounce;
mod drive;
mod error;
mod event;
mod group;
mod keep;
mod kind;
mod label;
mod lease;
mod lock;
mod locked;
mod name;
mod once;
mod operation;
mod paced;
mod percent;
mod read;
mod read_write;
mod redact;
mod replicas;
mod resp;
mod runtime;
mod script;
mod select;
mod threads;
mod throttle;
mod token;
mod topology;
mod transport;
mod ttl;

pub use acquisition::Acquisition;
pub use bridge::Bridge;
pub use client::Client;
pub use command::{Command, Reply};
pub use debounce::{Debounce, DebounceOutcome};
pub use error::{BadResponse, Error};
pub use event::{Event, EventKind};
pub use group::{Decision, GroupCommit, Section};
pub use lease::Lease;
pub use lock::Lock;
pub use once::{Once, OnceOutcome};
pub use read_write::ReadWrite;
pub use runtime::{EntropyUnavailable, Instant, Runtime, Task};
pub use script::{Holder, Inspection};
pub use threads::{SendOutsideWasm, SyncOutsideWasm};
pub use throttle::{Throttle, ThrottleOutcome};
pub use token::Token;
pub use transport::{Request, Response, Transport, TransportError};
