//! `cargo xtask bench`: what a lock costs, beside the bare request that carries it, and beside its
//! peers.

mod bill;
mod bridges;
mod build;
mod contention;
mod host;
mod js;
mod kinds;
mod lock;
mod sale;
mod target;
mod work;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Compare what a lock costs with the bare request that carries it, and with @upstash/lock.
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    #[command(subcommand)]
    benchmark: Option<Benchmark>,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Count the Redis commands of each call, beside its peers', and what it takes of Redis and
    /// leaves there
    Bill,
    /// Measure what bridges take to serve a request of a lock: ours, webdis, and others of
    /// Upstash's dialect
    Bridges(bridges::Bridges),
    /// Measure locks, semaphores and read/write locks that many wait for, against the limit and
    /// against peers
    Contention(contention::Contention),
    /// Count the requests, and measure the time, of a turn of each kind of lock that nobody waits
    /// for, beside the peers of that kind
    Kinds(kinds::Kinds),
    /// Hold a flash sale with shared turns of a lock, and in the ways that its users would take
    /// instead, while stock lasts and sold out
    Sale(sale::Sales),
    /// Measure what the npm package takes to download, to start and to run, against @upstash/lock
    Js,
}

fn main() -> ExitCode {
    let measured = match Arguments::parse().benchmark {
        None => lock::run(),
        Some(Benchmark::Bill) => bill::run(),
        Some(Benchmark::Bridges(options)) => bridges::run(&options),
        Some(Benchmark::Contention(options)) => contention::run(&options),
        Some(Benchmark::Kinds(options)) => kinds::run(&options),
        Some(Benchmark::Sale(sales)) => sale::run(&sales),
        Some(Benchmark::Js) => js::run(),
    };
    testkit::programs::ends_as(measured.map(|()| true))
}
