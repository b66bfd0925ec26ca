//! The real programs that a test or a demo needs, as child processes that end with their handles.
//!
//! All functions are synchronous, so that tests with and without an async runtime use them alike,
//! and every wait has a limit. Keep the handles in local variables: a handle in a `static` is never
//! dropped, and its processes would outlive the test.
//!
//! A program that does not start within 20 s, or cannot be asked, is an error that says what the
//! program said. Functions that return no `Result` panic with it.

mod bridge;
mod cluster;
mod config;
mod humanwhocodes;
mod latency_proxy;
mod node;
mod port;
mod process;
mod redis;
mod redis_server;
mod webdis;
mod worker;

pub use bridge::{Bridge, BridgeOptions, bridge_binary, build_bridge};
pub use cluster::{RedisCluster, SLOTS};
pub use config::{workerd_config, workerd_modules};
pub use humanwhocodes::HumanWhoCodes;
pub use latency_proxy::{LatencyProxy, Network};
pub use node::NodeScript;
pub use port::free_port;
pub use redis::Redis;
pub use redis_server::RedisServer;
pub use webdis::Webdis;
pub use worker::{Worker, WorkerConfig};

/// A fresh credential: 128 random bits in hexadecimal.
pub fn credential() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system's random source works");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
