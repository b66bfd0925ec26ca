//! Every history of a small world, not a sample: two or three clients, one lock or paced calls, and
//! a few faults, in every order.
//!
//! The shipped client and the shipped scripts run on the simulation's model of Redis, and the
//! simulation's promises judge them. Where the simulation draws, this search takes each way
//! ([`search`]). A world is made anew from its history each time ([`stage`]). Of worlds that will
//! go on alike, the search goes on from one only.

mod asked;
mod caught;
mod desk;
mod message;
mod plan;
mod program;
mod search;
mod server;
mod stage;
mod step;

use std::time::Duration;

use asked::Asked;
use plan::{PLANS, Plan};
use search::{Bench, Bend, Bounds, Found, search};
pub(crate) use step::Fault;

const BOUNDS: Bounds =
    Bounds { time: Duration::from_secs(600), states: 2_000_000, shows_progress: false };

/// Looks at these worlds, or at those that `cargo xtask explore` asks for.
#[test]
fn no_promise_breaks_in_any_history() {
    let Some(asked) = Asked::of_environment() else {
        for plan in PLANS {
            for (clients, faults) in plan.runs {
                let plan = plan.among(*clients).failing(once_each(*faults));
                hold(plan, None, BOUNDS);
            }
        }
        return;
    };
    for plan in asked.plans() {
        match &asked.steps {
            Some(steps) => replay(plan, asked.bend, steps),
            None => hold(plan, asked.bend, asked.bounds),
        }
    }
}

/// Looks at all histories of `plan`. None may break a promise.
#[track_caller]
fn hold(plan: Plan, bend: Bend, bounds: Bounds) {
    let found = search(plan, bend, bounds);
    println!("{}", summary(&plan, &found));
    if let Some((_, steps)) = &found.broken {
        println!("\nthe same again: {} --steps {}", asked::command(&plan, bend), step::word(steps));
        replay(plan, bend, steps);
    }
}

/// Prints the story of these steps, and fails if they break a promise.
#[track_caller]
fn replay(plan: Plan, bend: Bend, steps: &[step::Step]) {
    let (story, violation) = Bench::new(plan, bend).tell(steps);
    println!("\n{story}\n");
    if let Some(violation) = violation {
        panic!("{:?} does not hold: {}", violation.invariant, violation.what);
    }
}

fn summary(plan: &Plan, found: &Found) -> String {
    let Plan { name, clients, .. } = plan;
    let Found { states, steps, histories, depth, took, .. } = found;
    let (faults, seconds) = (plan.faults.left(), took.as_secs_f64());
    let came_to = match &found.broken {
        Some((violation, _)) => format!("{:?} is broken after {depth} steps", violation.invariant),
        None if found.is_whole => format!("{histories} histories of up to {depth} steps"),
        None => format!("not all: only those of up to {depth} steps"),
    };
    format!(
        "{name}, {clients} clients, {faults} faults: {came_to}; {states} states, {steps} steps, {seconds:.1} s"
    )
}

/// At most so many faults in one history, of any sort.
const fn once_each(in_all: u8) -> plan::Asked {
    plan::Asked::Sorts { each: in_all, in_all }
}
