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
use super::seeds::{self, nothing_breaks};
use super::trace::Trace;

const SEEDS: u64 = 2_000;

/// More seeds than the sabotage needs.
const MOST_SEEDS: u64 = 40_000;

/// The shipped Lua, and what replaces it: nobody may be overtaken.
const PATIENCE: [&str; 2] = ["return asked > now or asked - since < OVERTAKEN_MS and", "local _ ="];

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
    let (redis, found) = redis([PATIENCE]);
    let worlds = "where a poller is handed the lock at once";
    nothing_breaks(worlds, SEEDS, |seed, trace| {
        let case = Case::new(seed, &redis, Check::default(), Bent::Orderly, trace);
        (case.run(), case.trace.lines())
    });
    assert!(found.get(), "no script has that");
}

#[test]
fn a_lock_that_is_kept_for_less_time_than_it_is_told() {
    let told = ["tonumber(ms) <= most and", "true and"];
    let (redis, found) = redis([PATIENCE, told]);
    seeds::caught(Invariant::OneHolder, &[], MOST_SEEDS, |seed| {
        let check = Check::new(Some(Invariant::OneHolder));
        let case = Case::new(seed, &redis, check, Bent::Orderly, Trace::OFF);
        case.run().is_some()
    });
    assert!(found.get(), "no script has that");
}
