//! `cargo xtask <command>`: every development command, so that a laptop and CI run the same thing.

mod attack;
mod bench;
mod chaos;
mod client_wasm;
mod demo;
mod dev;
mod explore;
mod faulty;
mod frameworks;
mod fuzz;
mod group;
mod hosts;
mod npm_build;
mod npm_test;
mod picture;
mod process;
mod quick_starts;
mod reference;
mod setup;
mod sim;
mod terminal;
mod test;
mod wasm_pack;
mod workerd_tests;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use testkit::worker_build;

/// The development commands of edgelock.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Hold two flash sales over two Workers in workerd, check the ledger in Redis, and compare
    /// with a lock that each order takes for itself
    Demo(demo::Sales),
    /// Check within a minute, for one who edits: format, clippy, rules of sources and pages, types
    /// of the npm package
    Check,
    /// Run every check and test; ends with `N passed, N failed`
    Test,
    /// Simulate the lock in worlds where much goes wrong, each from a seed; a failure prints the
    /// seed and how to see it again
    Sim {
        /// How many worlds of each kind
        #[arg(long, default_value_t = 20_000)]
        seeds: u64,
        /// The first one's seed; drawn by default, and printed
        #[arg(long)]
        from: Option<u64>,
    },
    /// Look at every history of a small world: some clients, one lock or paced calls, and a few
    /// faults, in every order; a history that breaks a promise is told, with how to see it again
    Explore(explore::Options),
    /// Give the client, the bridge and the Worker inputs that are almost valid, as `test` does in
    /// short; a failure prints its input and its seed
    Fuzz(fuzz::Options),
    /// Attack the bridge and the Worker, as `test` does in short, and show what a client beside
    /// each attack got
    Attack {
        /// How heavy, as a multiple of what `test` does
        #[arg(long, default_value_t = 5)]
        times: u32,
    },
    /// Hold sales while everything under them is killed, stopped, cut off and filled up, fails over
    /// or moves, and check the ledger in Redis; `test` does so with fewer orders
    Chaos(chaos::Chaos),
    /// Build the npm package and test it on its hosts, as `test` does too
    TestNpm,
    /// Follow the quick starts of the pages to the letter, as `test` does too
    QuickStarts,
    /// Have Next.js, SvelteKit, React Router and Astro build and serve their recipes, and ask them,
    /// and Vitest test one in workerd;
    /// npm takes 600 MB for that, so `test` does not
    Frameworks,
    /// Compile the examples for Lambda, Vercel, Spin and Fastly in Rust, and call those for Lambda
    /// and Vercel; `test` only checks that those two compile, since their crates take minutes
    Hosts,
    /// Build, run and test the example for wasm-pack, in Node and in Chromium, as docs/wasm.md
    /// says; `test` does not, since wasm-pack and Debian's Chromium take minutes to install
    WasmPack,
    /// Run the wasm tests as a component, in the `wasmtime` on the PATH, and a sale in one that it
    /// serves; `test` does so in jco
    Wasmtime,
    /// Make very many calls of each kind with the npm package, in Node and in workerd, and show the
    /// memory in use before and after; `test` does so with fewer
    Heap {
        /// Part of the name of a kind, as in `'real bridge'`; all by default
        #[arg(default_value = "")]
        kind: String,
        /// How many of each kind
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(2..))]
        calls: u32,
    },
    /// Compare what a lock costs with the bare request that carries it, and with @upstash/lock
    Bench {
        #[command(subcommand)]
        benchmark: Option<Benchmark>,
    },
    /// Run Redis, a bridge and two Workers until Ctrl-C, and say how to use them
    Dev(dev::Options),
    /// Install what the other commands need (they do so themselves)
    Setup,
    /// Take the README's picture of a sale's page while crowds buy
    Picture,
    /// Build the reference of the crates and of the npm package, as static pages
    Reference,
    /// Build the Worker into worker/build, as wrangler does: `wrangler dev` soon, `wrangler deploy`
    /// small and fast
    BuildWorker,
    /// Build the npm package into npm/dist
    BuildNpm,
    /// Install the built npm package into a project, and build its tests there
    #[command(hide = true)]
    PrepareNpm,
    /// Run wasm-bindgen's tests inside workerd, called under the name of `node`
    #[command(hide = true)]
    WorkerdTests {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Subcommand)]
enum Benchmark {
    /// Count the Redis commands of each call, beside its peers', and what it takes of Redis and
    /// leaves there
    Bill,
    /// Measure what bridges take to serve a request of a lock: ours, webdis, and others of
    /// Upstash's dialect
    Bridges(bench::bridges::Bridges),
    /// Measure locks, semaphores and read/write locks that many wait for, against the limit and
    /// against peers
    Contention(bench::contention::Contention),
    /// Count the requests, and measure the time, of a turn of each kind of lock that nobody waits
    /// for, beside the peers of that kind
    Kinds(bench::kinds::Kinds),
    /// Hold a flash sale with shared turns of a lock, and in the ways that its users would take
    /// instead, while stock lasts and sold out
    Sale(bench::sale::Sales),
    /// Measure what the npm package takes to download, to start and to run, against @upstash/lock
    Js,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything that was to be checked holds.
fn run(task: Task) -> Result<bool> {
    match task {
        Task::Demo(sales) => demo::run(&sales)?,
        Task::Check => return test::run_quick(),
        Task::Test => return test::run(),
        Task::Sim { seeds, from } => return sim::run(seeds, from),
        Task::Explore(options) => return explore::run(&options),
        Task::Fuzz(options) => return fuzz::run(&options),
        Task::Attack { times } => return attack::run(times),
        Task::Chaos(options) => return chaos::run(&options),
        Task::TestNpm => return test::run_npm(),
        Task::QuickStarts => test::run_quick_starts()?,
        Task::Frameworks => frameworks::run()?,
        Task::Hosts => hosts::run()?,
        Task::WasmPack => wasm_pack::run()?,
        Task::Wasmtime => return test::run_wasmtime(),
        Task::Heap { kind, calls } => return test::run_heap(&kind, calls),
        Task::Bench { benchmark: None } => bench::run()?,
        Task::Bench {
            benchmark: Some(Benchmark::Bill),
        } => bench::bill::run()?,
        Task::Bench {
            benchmark: Some(Benchmark::Bridges(options)),
        } => bench::bridges::run(&options)?,
        Task::Bench {
            benchmark: Some(Benchmark::Contention(options)),
        } => bench::contention::run(&options)?,
        Task::Bench {
            benchmark: Some(Benchmark::Kinds(options)),
        } => bench::kinds::run(&options)?,
        Task::Bench {
            benchmark: Some(Benchmark::Js),
        } => bench::js::run()?,
        Task::Bench {
            benchmark: Some(Benchmark::Sale(sales)),
        } => bench::sale::run(&sales)?,
        Task::Dev(options) => dev::run(&options)?,
        Task::Setup => setup::run(setup::Needs::Everything)?,
        Task::Picture => picture::take()?,
        Task::Reference => reference::build()?,
        Task::BuildWorker => {
            setup::run(setup::Needs::Worker)?;
            worker_build::for_wrangler()?;
        }
        Task::BuildNpm => {
            setup::run(setup::Needs::Build)?;
            npm_build::build()?;
        }
        Task::PrepareNpm => npm_test::prepare()?,
        Task::WorkerdTests { arguments } => workerd_tests::run(&arguments)?,
    }
    Ok(true)
}
