//! What `test` does in short, for as long as one likes: `cargo xtask sim`, `explore`, `fuzz` and
//! `attack`. Each returns whether every promise held.

use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use testkit::paths;

/// Tests of cargo, which print what they find.
fn tests(which: &str) -> Command {
    let mut tests = paths::cargo();
    tests.args(["test", "--quiet"]).args(which.split(' ')).env("RUST_BACKTRACE", "0");
    tests
}

fn hold(tests: &mut Command) -> Result<bool> {
    Ok(tests.status().context("cargo cannot be run")?.success())
}

/// Which worlds to simulate.
#[derive(Args)]
pub(crate) struct Sim {
    /// How many worlds of each kind
    #[arg(long, default_value_t = 20_000)]
    seeds: u64,
    /// The first one's seed; drawn by default, and printed
    #[arg(long)]
    from: Option<u64>,
}

impl Sim {
    pub(crate) fn run(&self) -> Result<bool> {
        let mut tests =
            tests("--workspace --test sim -- --nocapture no_promise_breaks --skip explore::");
        tests.env("EDGELOCK_SIM_SEEDS", self.seeds.to_string());
        hold(tests.envs(self.from.map(|from| ("EDGELOCK_SIM_FROM", from.to_string()))))
    }
}

/// What to look at.
#[derive(Args)]
pub(crate) struct Explore {
    /// Which world: `mutex`, `queue`, …; all by default. An unknown name lists them
    world: Option<String>,
    /// How many clients, up to 4; by default as many as the world has
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=4))]
    clients: Option<u8>,
    /// How many faults there may be in a history
    #[arg(long, default_value_t = 2)]
    faults: u8,
    /// How many of them may be of one sort; by default all
    #[arg(long)]
    each: Option<u8>,
    /// Only these, each as often as it is named, as in `late,expiry,expiry`; an unknown one lists
    /// those that there are
    #[arg(long, conflicts_with = "faults")]
    only: Option<String>,
    /// Break a script, and see the shortest history that breaks a promise. An unknown name lists
    /// those that there are
    #[arg(long)]
    sabotage: Option<String>,
    /// Tell this one history, as it was printed
    #[arg(long)]
    steps: Option<String>,
    /// How many minutes to look at a world
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

impl Explore {
    pub(crate) fn run(&self) -> Result<bool> {
        let asked = [
            ("FAULTS", Some(self.faults.to_string())),
            ("MINUTES", Some(self.minutes.to_string())),
            ("WORLD", self.world.clone()),
            ("CLIENTS", self.clients.map(|clients| clients.to_string())),
            ("EACH", self.each.map(|each| each.to_string())),
            ("ONLY", self.only.clone()),
            ("SABOTAGE", self.sabotage.clone()),
            ("STEPS", self.steps.clone()),
        ];
        let mut tests =
            tests("--workspace --test sim -- --nocapture no_promise_breaks_in_any_history");
        for (name, value) in asked {
            tests.envs(value.map(|value| (format!("EDGELOCK_EXPLORE_{name}"), value)));
        }
        hold(&mut tests)
    }
}

/// How many inputs, and where.
#[derive(Args)]
pub(crate) struct Fuzz {
    /// Part of the name of a target; all by default
    target: Option<String>,
    /// How many inputs each target takes
    #[arg(long, default_value_t = 1_000_000)]
    inputs: u64,
    /// Repeat the one input with this seed, as a failure names it behind `BOLERO_RANDOM_SEED`
    #[arg(long, requires = "target")]
    seed: Option<u128>,
}

impl Fuzz {
    pub(crate) fn run(&self) -> Result<bool> {
        let mut held = true;
        // What cargo builds, and which of its tests are targets.
        for (built, all) in [
            ("--package edgelock-fuzz --test fuzz", ""),
            ("--package edgelock-bridge --bin edgelock-bridge", "fuzz::"),
        ] {
            let mut tests = tests(&format!("--profile fuzz {built} -- --nocapture"));
            let inputs = self.seed.map_or(self.inputs, |_| 0);
            tests.arg(self.target.as_deref().unwrap_or(all));
            tests.env("BOLERO_RANDOM_ITERATIONS", inputs.to_string());
            held &=
                hold(tests.envs(self.seed.map(|seed| ("BOLERO_RANDOM_SEED", seed.to_string()))))?;
        }
        Ok(held)
    }
}

/// How heavy attacks are.
#[derive(Args)]
pub(crate) struct Attack {
    /// As a multiple of what `test` does
    #[arg(long, default_value_t = 5)]
    times: u32,
}

impl Attack {
    /// Runs the attacks of the bridge's, the Worker's and the client's tests on the built programs.
    pub(crate) fn run(&self) -> Result<bool> {
        let mut held = true;
        for (built, attacks) in [
            ("--package edgelock-bridge --test it --profile server", "attack::"),
            ("--package edgelock-tests --test workers", "attack::"),
            ("--package edgelock-tests --test it", "attack:: starved::"),
        ] {
            // One after another, so that what each client beside it got is due to one attack.
            let mut tests = tests(&format!("{built} -- --nocapture --test-threads=1 {attacks}"));
            held &= hold(tests.env("EDGELOCK_ATTACK", self.times.to_string()))?;
        }
        Ok(held)
    }
}
