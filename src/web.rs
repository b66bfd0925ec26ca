//! The hosts of the edge: `fetch`, timers, clock and random bytes of Workers, Node, Deno, Bun and
//! browsers. This module exists only for wasm.
//!
//! In a handler of the crate [`worker`](https://docs.rs/worker), with the feature
//! `worker`:
//!
//! ```ignore
//! // Clean-up goes on after the response, and a caller that hangs up holds nobody up.
//! let client = Client::from_env(env, context)?.signal(&request.inner().signal());
//! let lock = client
//!     .lock("sku:42")
//!     .ttl(Duration::from_secs(10))
//!     .wait_timeout(Duration::from_secs(3));
//!
//! // One request takes the lock and reads, and one writes and releases.
//! // If the lease is lost in between, the write does not happen.
//! let stock = "{sku:42}:stock";
//! let (lease, replies) = lock
//!     .acquire_and_read(&[Command::new("GET").key(stock)])
//!     .await?;
//! ```
//!
//! Clients, locks, leases and their futures are `Send` and `Sync`, as axum wants its state and its
//! handlers, although JavaScript's objects are not: there is one thread. On others they panic.
//!
//! A Worker with bindings of its own, without that crate, also needs an executor: [`begin`],
//! [`promise`] and [`spawn`] are one, and [`settled`] awaits a promise. They continue a task in the
//! callback for which the task waits, which saves the host's microtasks.
// Only this file, those in `web/` and those in `npm/host/` know JavaScript. They declare the
// functions that they need themselves. Hosts differ in details that ready-made bindings assert:
// timers are numbers in some and objects in others, and a dropped `fetch` goes on unless it is
// aborted.

mod callback;
#[cfg(npm)]
#[doc(hidden)]
#[path = "../npm/host/driven.rs"]
pub mod driven;
mod executor;
#[cfg(npm)]
#[path = "../npm/host/faces.rs"]
mod faces;
mod fetch;
mod host;
#[cfg(npm)]
#[path = "../npm/host/steps.rs"]
mod steps;
#[cfg(feature = "worker")]
mod worker;

pub use crate::bridge::Bridge;
pub use callback::settled;
pub use executor::{begin, promise, spawn};
pub use fetch::Fetch;
pub use host::Host;

/// For tests of what JavaScript does, in place of Rust's own `test`.
#[cfg(all(test, npm))]
pub(crate) use wasm_bindgen_test::wasm_bindgen_test as test;

/// A client for the hosts of the edge.
pub type Client = crate::Client<Fetch, Host>;
/// Its locks.
pub type Lock = crate::Lock<Fetch, Host>;
/// Its read/write locks.
pub type ReadWrite = crate::ReadWrite<Fetch, Host>;
/// Its leases.
pub type Lease = crate::Lease<Fetch, Host>;
/// What it executes once.
pub type Once = crate::Once<Fetch, Host>;
/// Its copies of what is expensive to make.
pub type Cached = crate::Cached<Fetch, Host>;
/// Its throttles.
pub type Throttle = crate::Throttle<Fetch, Host>;
/// Its debounces.
pub type Debounce = crate::Debounce<Fetch, Host>;

/// A client of `bridge`, for the host that this runs on.
///
/// In a Worker make it by [`Client::new`], with [`Host::wait_until`]. Otherwise the host may stop
/// the clean-up of dropped calls and leases after the response.
pub fn client(bridge: Bridge) -> Client {
    crate::Client::new(bridge, Fetch::default(), Host::default())
}
