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
use plan::Plan;
use search::{Bench, Bend, Bounds, Found, search};
pub(crate) use step::Fault;

/// The worlds of every run of the tests: their names, how many clients they have, and how many
/// faults.
const SMALL: [(&str, usize, u8); 47] = [
    ("mutex", 2, 1),
    ("mutex", 3, 0),
    ("writes", 2, 1),
    ("resumed", 2, 1),
    ("commit", 2, 1),
    ("taken-over", 2, 1),
    ("taken-over", 3, 0),
    ("queue", 2, 1),
    ("queue", 3, 0),
    ("reentrant", 2, 1),
    ("semaphore", 2, 1),
    ("semaphore", 3, 0),
    ("permit-queue", 2, 1),
    ("read-write", 2, 1),
    ("read-write-queue", 2, 1),
    ("once", 2, 1),
    ("prolonged", 2, 1),
    ("emptied", 2, 1),
    ("looks", 2, 1),
    ("reentrant-forced", 3, 0),
    ("permit-prolonged", 2, 1),
    ("permit-resumed", 2, 1),
    ("permit-ttls", 2, 1),
    ("reader-ttls", 2, 1),
    ("forced", 3, 0),
    ("downgrade-queue", 2, 1),
    ("readers-queue", 3, 0),
    ("prints", 2, 1),
    ("failed", 2, 1),
    ("cached", 2, 1),
    ("cached", 3, 0),
    ("cached-failed", 2, 0),
    ("cached-over", 2, 1),
    ("set", 2, 1),
    ("set-queue", 2, 1),
    ("set-forced", 3, 0),
    ("limits", 2, 1),
    ("limits-queue", 2, 1),
    ("limits-forced", 3, 0),
    ("limits-heavy", 2, 1),
    ("reserved", 2, 1),
    ("reserved-again", 3, 0),
    ("reserved-heavy", 2, 1),
    ("throttle", 2, 1),
    ("debounce", 2, 1),
    ("quorum", 2, 0),
    ("quorum-renewed", 2, 0),
];

const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(600),
    states: 2_000_000,
    shows_progress: false,
};

/// Looks at these worlds, or at those that `cargo xtask explore` asks for.
#[test]
fn no_promise_breaks_in_any_history() {
    let Some(asked) = Asked::of_environment() else {
        for (name, clients, faults) in SMALL {
            let plan = Plan::named(name).expect("a world");
            hold(plan.among(clients).failing(once_each(faults)), None, BOUNDS);
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
        println!(
            "\nthe same again: {} --steps {}",
            asked::command(&plan, bend),
            step::word(steps)
        );
        replay(plan, bend, steps);
    }
}

/// Prints the story of these steps, and fails if they break a promise.
#[track_caller]
fn replay(plan: Plan, bend: Bend, steps: &[step::Step]) {
    let (story, violation) = Bench::new(plan, bend).tell(steps);
    println!("\n{story}\n");
    if let Some(violation) = violation {
        panic!(
            "{:?} does not hold: {}",
            violation.invariant, violation.what
        );
    }
}

fn summary(plan: &Plan, found: &Found) -> String {
    let Plan { name, clients, .. } = plan;
    let Found {
        states,
        steps,
        histories,
        depth,
        took,
        ..
    } = found;
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
    plan::Asked::Sorts {
        each: in_all,
        in_all,
    }
}
