//! `cargo xtask explore`: every history of small worlds, by the simulation's own model and
//! promises.

use anyhow::{Context, Result};
use clap::Args;
use testkit::paths;

/// What to look at.
#[derive(Args)]
pub(crate) struct Options {
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

/// Whether every promise held.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let mut tests = paths::cargo();
    tests
        .args(["test", "--quiet", "--workspace", "--test", "sim"])
        .args(["--", "--nocapture", "no_promise_breaks_in_any_history"])
        .env("EDGELOCK_EXPLORE_FAULTS", options.faults.to_string())
        .env("EDGELOCK_EXPLORE_MINUTES", options.minutes.to_string())
        .env("RUST_BACKTRACE", "0");
    let asked = [
        ("WORLD", options.world.clone()),
        ("CLIENTS", options.clients.map(|clients| clients.to_string())),
        ("EACH", options.each.map(|each| each.to_string())),
        ("ONLY", options.only.clone()),
        ("SABOTAGE", options.sabotage.clone()),
        ("STEPS", options.steps.clone()),
    ];
    for (name, value) in asked {
        if let Some(value) = value {
            tests.env(format!("EDGELOCK_EXPLORE_{name}"), value);
        }
    }
    let status = tests.status().context("cargo cannot be run")?;
    Ok(status.success())
}
