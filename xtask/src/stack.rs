//! The real parts that a test or a demo runs against, as child processes that end with their
//! handle.
//!
//! Everything is synchronous, so that plain tests and tests inside an async runtime use it alike;
//! every wait has a limit. Keep the handles in local variables: a handle in a `static` is never
//! dropped, and its processes outlive the test.

mod bridge;
mod cluster;
mod config;
mod humanwhocodes;
mod node;
mod port;
mod process;
mod redis_server;
mod serverless_redis;
mod webdis;
mod worker;

pub use bridge::{Bridge, BridgeOptions, bridge_binary, build_bridge};
pub use cluster::{RedisCluster, SLOTS};
pub use config::{workerd_config, workerd_modules};
pub use humanwhocodes::HumanWhoCodes;
pub use node::NodeScript;
pub use port::free_port;
pub use redis_server::RedisServer;
pub use serverless_redis::ServerlessRedis;
pub use webdis::Webdis;
pub use worker::{Worker, WorkerConfig};

/// A fresh credential: 128 random bits in hexadecimal.
pub fn credential() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system's random source works");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
