//! `cargo xtask <command>`: every development command, so that a laptop and CI run the same thing.

mod client_wasm;
mod dev;
mod faulty;
mod frameworks;
mod group;
mod hosts;
mod in_depth;
mod npm_build;
mod npm_test;
mod picture;
mod quick_starts;
mod reference;
mod setup;
mod terminal;
mod test;
mod wasm_pack;
mod workerd_tests;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use testkit::programs::{ends_as, of_workspace};
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
    #[command(disable_help_flag = true)]
    Demo(Passed),
    /// Check within a minute, for one who edits: format, clippy, rules of sources and pages, types
    /// of the npm package
    Check,
    /// Run every check and test; ends with `N passed, N failed`
    Test,
    /// Simulate the lock in worlds where much goes wrong, each from a seed; a failure prints the
    /// seed and how to see it again
    Sim(in_depth::Sim),
    /// Look at every history of a small world: some clients, one lock or paced calls, and a few
    /// faults, in every order; a history that breaks a promise is told, with how to see it again
    Explore(in_depth::Explore),
    /// Give the client, the bridge and the Worker inputs that are almost valid, as `test` does in
    /// short; a failure prints its input and its seed
    Fuzz(in_depth::Fuzz),
    /// Attack the bridge and the Worker, as `test` does in short, and show what a client beside
    /// each attack got
    Attack(in_depth::Attack),
    /// Hold sales while everything under them is killed, stopped, cut off and filled up, fails over
    /// or moves, and check the ledger in Redis; `test` does so with fewer orders
    #[command(disable_help_flag = true)]
    Chaos(Passed),
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
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Run Redis, a bridge and two Workers until Ctrl-C, and say how to use them
    Dev(dev::Options),
    /// Install what the other commands need (they do so themselves)
    Setup {
        /// Only what a Worker runs over: a Redis and a bridge
        #[arg(long)]
        stack: bool,
    },
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

/// What another program of the workspace understands.
#[derive(Args)]
struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    ends_as(run(Arguments::parse().command))
}

/// Whether everything that was to be checked holds.
fn run(task: Task) -> Result<bool> {
    match task {
        Task::Demo(passed) => return become_program("chaos", &["demo"], &passed),
        Task::Check => return test::run_quick(),
        Task::Test => return test::run(),
        Task::Sim(sim) => return sim.run(),
        Task::Explore(explore) => return explore.run(),
        Task::Fuzz(fuzz) => return fuzz.run(),
        Task::Attack(attack) => return attack.run(),
        Task::Chaos(passed) => return become_program("chaos", &["chaos"], &passed),
        Task::TestNpm => return test::run_npm(),
        Task::QuickStarts => test::run_quick_starts()?,
        Task::Frameworks => frameworks::run()?,
        Task::Hosts => hosts::run()?,
        Task::WasmPack => wasm_pack::run()?,
        Task::Wasmtime => return test::run_wasmtime(),
        Task::Heap { kind, calls } => return test::run_heap(&kind, calls),
        Task::Bench(passed) => return become_program("bench", &[], &passed),
        Task::Dev(options) => dev::run(&options)?,
        Task::Setup { stack: false } => setup::run(setup::Needs::Everything)?,
        Task::Setup { stack: true } => setup::run(setup::Needs::Stack)?,
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

/// Goes on as another program of the workspace, so that this one is compiled without it. It gets
/// the signals that we would.
fn become_program(program: &str, before: &[&str], passed: &Passed) -> Result<bool> {
    let mut command = of_workspace(program);
    Err(command.args(before).args(&passed.arguments).exec().into())
}
