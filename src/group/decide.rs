//! Decides the items of a turn, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::decided::Decided;
use super::driver::Driver;
use super::reads::{Pending, Reads, bytes};
use super::section::{Decision, Section};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};

/// A turn of items that `S` decides.
pub(super) type Turn<S> = Driver<Pending<<S as Section>::Item>, <S as Section>::Answer>;

/// Decides the items in order, until their writes are too many for a request, or a quarter of the
/// ttl is left. Items for whose replies others left no room wait for the next turn.
///
/// An item is never a reason not to decide the others: if its decision panics, its writes cannot be
/// sent, or they are too large for a turn with others, the others are decided again as if it was
/// not there, since it may have changed what they share. If that leaves none, the first one has the
/// turn. If there are many such items, those behind them wait for the next turn.
pub(super) fn decide<S: Section>(
    section: &S,
    turn: &Turn<S>,
    items: &[Arc<Pending<S::Item>>],
    under: &Under<'_>,
) -> Decided<S::Answer> {
    /// How many decisions of a turn are made again. A crowd of refused items must not keep a
    /// process busy.
    const AGAIN: usize = 1_024;
    let (mut refused, mut large) = (BTreeMap::new(), BTreeSet::new());
    let (mut items, mut again) = (items, 0);
    loop {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            decide_all(section, turn, items, under, &refused, &large)
        }));
        let place = match decided {
            Ok(Ok(decided)) if decided.answers.is_empty() => {
                (items, large) = (&items[..1], BTreeSet::new());
                continue;
            }
            Ok(Ok(decided)) => return decided,
            Ok(Err(Without::Large(place))) => {
                large.insert(place);
                place
            }
            Ok(Err(Without::Refused(place, error))) => {
                refused.insert(place, error);
                place
            }
            // A panic of the section's `end` is nobody's.
            Err(panic) => match turn.deciding() {
                Some(place) if refused.insert(place, panicked()).is_none() => place,
                _ => resume_unwind(panic),
            },
        };
        again += place;
        if again > AGAIN {
            items = &items[..place.max(1)];
        }
    }
}

/// What the items of a turn are decided with.
pub(super) struct Under<'a> {
    pub(super) reads: &'a Reads,
    pub(super) replies: &'a [Reply],
    pub(super) max_bytes: usize,
    pub(super) fence: u64,
    /// Whether these may be sent.
    pub(super) check_writes: &'a dyn Fn(&[Command]) -> Result<(), Fault>,
    /// Whether the rest is to wait for the next turn.
    pub(super) is_late: &'a dyn Fn() -> bool,
}

/// Without which item the others are to be decided again.
enum Without {
    /// The one at this place: its writes are too large for a turn with others.
    Large(usize),
    /// The one at this place, which is told that.
    Refused(usize, Error),
}

/// Decides the items except those at the `large` places. Those at the `refused` ones are told so.
///
/// # Errors
/// One more item is such a one.
fn decide_all<S: Section>(
    section: &S,
    turn: &Turn<S>,
    items: &[Arc<Pending<S::Item>>],
    under: &Under<'_>,
    refused: &BTreeMap<usize, Error>,
    large: &BTreeSet<usize>,
) -> Result<Decided<S::Answer>, Without> {
    let mut shared = S::State::default();
    let mut decided = Decided {
        places: Vec::new(),
        answers: Vec::new(),
        writes: Vec::new(),
        owners: Vec::new(),
        first_write: usize::MAX,
    };
    let mut written = 0;
    for (place, asked) in items.iter().enumerate() {
        let count = decided.answers.len();
        if count > 0 && (written >= under.max_bytes || (under.is_late)()) {
            break;
        }
        let lacks_room = place > 0 && under.reads.lacks_room(place, under.replies);
        if lacks_room || large.contains(&place) {
            continue;
        }
        turn.decide(place);
        let found = match (asked.begin(), refused.get(&place)) {
            (_, Some(error)) => Err(error.clone()),
            (true, None) => under.reads.replies(place, under.replies),
            // Nobody receives this error.
            (false, None) => Err(panicked()),
        };
        let decision =
            found.map(|replies| section.decide(&asked.item, &replies, &mut shared, under.fence));
        let answer = match decision {
            Err(error) => Err(error),
            Ok(Decision::Leave(answer)) => Ok(answer),
            Ok(Decision::Write(writes, answer)) => match (under.check_writes)(&writes) {
                // Invalid writes of one item must not fail the others.
                Err(fault) => return Err(Without::Refused(place, fault.into())),
                Ok(()) => {
                    let own = bytes(&writes);
                    if items.len() > 1 && own > under.max_bytes {
                        turn.is_large(place, own);
                        return Err(Without::Large(place));
                    }
                    written += own;
                    if !writes.is_empty() {
                        decided.first_write = decided.first_write.min(count);
                    }
                    decided.owners.extend(writes.iter().map(|_| count));
                    decided.writes.extend(writes);
                    Ok(answer)
                }
            },
        };
        decided.places.push(place);
        decided.answers.push(answer);
    }
    turn.decided();
    let end = section.end(shared);
    if !end.is_empty() {
        decided.first_write = 0;
        decided.writes.extend(end);
    }
    Ok(decided)
}

fn panicked() -> Error {
    Fault::unavailable("the decision of this item panicked".into(), false).into()
}
