//! The hosts of the edge: `fetch`, timers, clock and random bytes of Workers, Node, Deno, Bun and
//! browsers.
//!
//! Only this file, those in `web/` and `bridge/json/host.rs` know JavaScript. They declare the
//! functions that they need themselves. Hosts differ in details that ready-made bindings assert:
//! timers are numbers in some and objects in others, and a dropped `fetch` goes on unless it is
//! aborted.

mod call;
mod callback;
mod executor;
#[cfg(feature = "host-json")]
mod faces;
mod fetch;
#[cfg(feature = "host-json")]
mod held;
mod host;
#[cfg(feature = "host-json")]
mod steps;

pub use crate::bridge::Bridge;
pub use callback::settled;
pub use executor::{begin, promise, spawn};
pub use fetch::{Fetch, take_thrown};
#[cfg(feature = "host-json")]
pub use held::{Held, Writes};
pub use host::Host;
#[cfg(feature = "host-json")]
pub use steps::{JsOutcome, Report, Steps};

/// For tests of what JavaScript does, in place of Rust's own `test`.
#[cfg(all(test, feature = "host-json"))]
pub(crate) use wasm_bindgen_test::wasm_bindgen_test as test;

/// A client for the hosts of the edge.
pub type Client = crate::Client<Fetch, Host>;
/// Its locks.
pub type Lock = crate::Lock<Fetch, Host>;
/// Its leases.
pub type Lease = crate::Lease<Fetch, Host>;
/// What it executes once.
pub type Once = crate::Once<Fetch, Host>;
/// Its throttles.
pub type Throttle = crate::Throttle<Fetch, Host>;
/// Its debounces.
pub type Debounce = crate::Debounce<Fetch, Host>;

/// A client for the host that this runs on.
pub fn client(bridge: Bridge) -> Client {
    crate::Client::new(bridge, Fetch::default(), Host::default())
}
