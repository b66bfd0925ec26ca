//! Broken scripts: each breaks a promise in the small world that it names.

use super::plan::{self, Plan};
use super::search::search;
use super::{BOUNDS, Fault, summary};
use crate::sabotage::{self, Broken};
use crate::workload::Locks;
use crate::{group, limits, once, paced, read_write, reservations, semaphore, sets};

/// Random worlds do not find these: too much has to happen, each at its time.
const FOUND_BY_NO_SEED: &[Broken] = &[Broken {
    name: "a_turn_that_runs_though_a_copy_of_it_found_something_else",
    locks: Some(Locks::Single),
    part: "local function mark() redis.call('SET', GONE, '', 'PX', 60000) end",
    by: "local function mark() end",
    shown: Ok(("turns-restocked", 2, &[Fault::Late, Fault::Expiry])),
}];

/// All broken scripts, of all kinds of worlds.
pub(super) fn broken() -> impl Iterator<Item = &'static Broken> {
    [
        sabotage::BROKEN,
        semaphore::BROKEN,
        read_write::BROKEN,
        once::BROKEN,
        sets::BROKEN,
        limits::BROKEN,
        reservations::BROKEN,
        group::sabotage::BROKEN,
        paced::sabotage::BROKEN,
        FOUND_BY_NO_SEED,
    ]
    .into_iter()
    .flatten()
}

#[test]
fn broken_scripts_are_caught_by_short_histories() {
    for bend in broken() {
        let Ok((world, clients, faults)) = bend.shown else {
            continue;
        };
        let plan = Plan::named(world).expect("a world").among(clients);
        assert_eq!(plan.locks, bend.locks, "{}", bend.name);
        let plan = plan.failing(plan::Asked::These(faults));
        let found = search(plan, Some(bend), BOUNDS);
        println!("{}: {}", bend.name, summary(&plan, &found));
        assert!(found.broken.is_some(), "{} breaks nothing", bend.name);
    }
}
