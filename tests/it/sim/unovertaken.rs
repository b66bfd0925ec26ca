//! The same worlds with a release that hands the lock to the first in the queue even if it does not
//! listen. The shipped script does so only once the first was overtaken for two seconds and more,
//! and few of these worlds last that long.

use std::cell::Cell;
use std::rc::Rc;

use super::case::Case;
use super::check::{Check, Invariant};
use super::lua::Redis;
use super::sabotage::Bent;
use super::script::replaced;
use super::seeds::seeds;
use super::trace::Trace;

const SEEDS: u64 = 2_000;

/// More seeds than the sabotage needs.
const MOST_SEEDS: u64 = 40_000;

/// The shipped Lua, and what replaces it: nobody may be overtaken.
const PATIENCE: [&str; 2] = [
    "return asked > now or asked - since < OVERTAKEN_MS and",
    "local _ =",
];

/// A Redis with parts of its scripts replaced. Each part must be there.
fn redis<const N: usize>(parts: [[&'static str; 2]; N]) -> (Rc<Redis>, Rc<Cell<bool>>) {
    let found = Rc::new(Cell::new(false));
    let noted = found.clone();
    let redis = Redis::new(Box::new(move |text| {
        let mut has_all = true;
        let replace = |text: String, [part, by]: &[&str; 2]| {
            let (text, count) = replaced(&text, part, by);
            has_all &= count > 0;
            text
        };
        let text = parts.iter().fold(text.to_owned(), replace);
        noted.set(noted.get() || has_all);
        text
    }));
    (Rc::new(redis), found)
}

#[test]
fn no_promise_breaks_where_a_poller_is_handed_the_lock_at_once() {
    let (seeds, _) = seeds(SEEDS);
    let (redis, found) = redis([PATIENCE]);
    for seed in seeds {
        let run = |trace| {
            let case = Case::new(seed, &redis, Check::default(), Bent::Orderly, trace);
            (case.run(), case)
        };
        if run(Trace::OFF).0.is_some() {
            let (violation, case) = run(Trace::on());
            panic!("{violation:?}\n\n{}\n\nseed {seed}", case.trace.lines());
        }
    }
    assert!(found.get(), "no script has that");
}

#[test]
fn a_lock_that_is_kept_for_less_time_than_it_is_told() {
    let told = ["tonumber(ms) <= most and", "true and"];
    let (redis, found) = redis([PATIENCE, told]);
    let breaks = |seed: &u64| {
        let check = Check::new(Some(Invariant::OneHolder));
        let case = Case::new(*seed, &redis, check, Bent::Orderly, Trace::OFF);
        case.run().is_some()
    };
    let seed = (0..MOST_SEEDS).find(breaks);
    println!("caught with seed {seed:?}");
    assert!(seed.is_some() && found.get());
}
