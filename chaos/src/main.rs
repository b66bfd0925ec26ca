//! `cargo xtask demo` and `cargo xtask chaos`: sales while parts under them fail.

mod cluster;
mod demo;
mod fault;
mod fault_plan;
mod pair;
mod sales;
mod store;

use std::process::ExitCode;

use clap::Parser;

/// Sales while parts under them fail.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Arguments {
    /// Hold two flash sales over two Workers in workerd, check the ledger in Redis, and compare
    /// with a lock that each order takes for itself
    Demo(demo::Sales),
    /// Hold sales while everything under them is killed, stopped, cut off and filled up, fails over
    /// or moves, and check the ledger in Redis; `test` does so with fewer orders
    Chaos(sales::Chaos),
}

fn main() -> ExitCode {
    let held = match Arguments::parse() {
        Arguments::Demo(sales) => demo::run(&sales).map(|()| true),
        Arguments::Chaos(chaos) => sales::run(&chaos),
    };
    testkit::programs::ends_as(held)
}
