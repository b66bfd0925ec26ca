//! An in-process stand-in for the Redis behind edgelock, for tests: just the commands and the Lua
//! that the scripts of its locks and the writes of their users need.
//!
//! It does no I/O, and has no clock, threads or native part. All of its state is in a [`Table`]. A
//! `World` is one that several clients share, with a clock that a test turns.

#[cfg(feature = "bridge")]
mod bridge;
mod commands;
#[cfg(feature = "bridge")]
mod executor;
mod float;
mod lua;
mod map;
mod reply;
mod store;
mod table;
#[cfg(feature = "bridge")]
mod world;

#[cfg(feature = "bridge")]
pub use bridge::{HEADER, begun, channel, message, refusal};
#[cfg(feature = "bridge")]
pub use executor::{Task, block_on, spawn};
pub use reply::Reply;
pub use store::Value;
pub use table::{Listener, Table};
#[cfg(feature = "bridge")]
pub use world::{Fault, World};

/// A script's SHA-1, by which `EVALSHA` knows it.
fn digest(source: &[u8]) -> String {
    sha1_smol::Sha1::from(source).digest().to_string()
}
