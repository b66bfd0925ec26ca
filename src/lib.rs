//! Distributed locks for code that runs at the edge.
//!
//! Workers have no TCP, a few milliseconds of CPU and a counted number of requests. edgelock talks to Redis through an HTTP
//! bridge, and runs each operation of a lock as one script in one request.
//!
//! [`Client`] hands out [`Lock`]s; a lock that was acquired is a [`Lease`].

#[cfg(target_family = "wasm")]
pub mod web;

mod bridge;
mod client;
mod command;
mod error;
mod lease;
mod lock;
mod name;
mod resp;
mod runtime;
mod script;
mod token;
mod transport;
mod wait;

pub use bridge::Bridge;
pub use client::Client;
pub use command::{Command, Reply};
pub use error::Error;
pub use lease::Lease;
pub use lock::Lock;
pub use runtime::{Moment, NoRandomness, Runtime, Task};
pub use script::{Holder, Inspection};
pub use token::Token;
pub use transport::{Request, Response, Transport, TransportError};
