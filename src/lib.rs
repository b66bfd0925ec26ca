//! Distributed locks for code that runs at the edge.
//!
//! A Worker keeps no connection from one request to the next. It has a few milliseconds of CPU, and
//! a limited number of requests. edgelock talks to Redis through an HTTP bridge, and runs each
//! operation of a lock as one script in one request.
//!
//! A native program needs the feature `native`, and three lines:
//!
//! ```no_run
//! use edgelock::native::{self, Bridge};
//!
//! # async fn hold() -> Result<(), edgelock::Error> {
//! let client = native::client(Bridge::upstash("https://eu1-a-b-1.upstash.io", "credential")?);
//! let lease = client.lock("sku:42").acquire().await?;
//! lease.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] makes [`Lock`]s; acquiring a lock gives a [`Lease`]. A section that reads and
//! writes under a lock costs two requests, and its write cannot land after the lease was lost:
//!
//! ```no_run
//! use edgelock::native::Lock;
//! use edgelock::{Command, Error};
//!
//! /// What is left, or `None` if there was nothing to sell.
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
//! ```
//!
//! The client has no socket and no clock of its own. On the edge [`edgelock::web`] brings both, in
//! components [`edgelock::wasi`], elsewhere `edgelock::native`. Each has its own `Client`, `Lock`
//! and `Lease`, without type parameters. For another HTTP client or another async runtime,
//! implement [`Transport`] and [`Runtime`].
//!
//! `docs/protocol.md` says what is stored in Redis, and what is guaranteed. Errors never mix up a
//! lock that is [held by another](Error::Held), a lease that is [lost](Error::Lost), and an outcome
//! that is [unknown](Error::is_outcome_unknown).
//!
//! [`edgelock::wasi`]: https://docs.rs/edgelock/latest/wasm32-wasip2/edgelock/wasi/
//! [`edgelock::web`]: https://docs.rs/edgelock/latest/wasm32-unknown-unknown/edgelock/web/

#[cfg(all(feature = "native-no-tls", not(target_family = "wasm")))]
pub mod native;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(all(feature = "wasi", target_os = "wasi"))]
pub mod wasi;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub mod web;

#[cfg(all(doctest, feature = "native-no-tls"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "native-no-tls"))]
#[doc = include_str!("../docs/kinds.md")]
struct Kinds;

#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../docs/recipes.md")]
struct Recipes;

mod acquisition;
mod bridge;
mod client;
mod command;
mod drive;
mod error;
mod event;
mod group;
mod keep;
mod kind;
mod lease;
mod lock;
mod name;
mod nanos;
mod once;
mod operation;
mod outside;
mod paced;
mod read_write;
mod redact;
mod replicas;
mod resp;
mod runtime;
mod script;
mod settings;
mod tasks;
mod token;
mod topology;
mod transport;
mod ttl;

pub use acquisition::Acquisition;
pub use bridge::Bridge;
pub use client::{Client, Limit};
pub use command::{Command, Reply};
pub use error::{BadResponse, Error, ReservationError};
pub use event::{Event, EventKind};
pub use group::{Decision, GroupCommit, Section};
pub use lease::Lease;
pub use lock::Lock;
pub use once::{Cached, Once, OnceOutcome};
pub use paced::{Debounce, DebounceOutcome, Throttle, ThrottleOutcome};
pub use read_write::ReadWrite;
pub use runtime::{EntropyUnavailable, Instant, Runtime, Task};
pub use script::{Holder, Inspection};
pub use token::Token;
pub use transport::{Request, Response, Transport, TransportError};
