//! What a user writes for a group, and how it decides the items of a turn, one after the other.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::driver::Driver;
use super::lines::Callers;
use super::reads::{Pending, Reads, bytes, failed};
use crate::command::{Command, Reply};
use crate::error::{Error, Fault};
use crate::resp::is_left_out;
use crate::settings::Settings;

/// What is read for an item, and how the items of a turn are decided. No method may wait.
///
/// All reads of a turn are made before its first item is decided. So if a decision changes what a
/// later item depends on, carry it along in [`Section::State`]: how much is left, who has had how
/// many.
pub trait Section: Send + Sync + 'static {
    /// What a caller brings.
    type Item: Send + Sync;

    /// What the caller gets. A refusal is an answer too.
    type Answer: Send;

    /// What the items of one turn share. Each turn starts with the default.
    type State: Default;

    /// Whether [`Section::decide`] uses the fence. By default it does: each turn takes the lock.
    ///
    /// If it does not, say `false`: then a turn that nobody competes with is one request, and one
    /// round trip. The items are decided by guesses of what their reads will find: what the last
    /// turn of this process left, what a look found, and nothing for other keys. The request writes
    /// only if the lock is free, nobody waits for it, and the reads find exactly that. Otherwise
    /// nothing is written, and the items are decided again by what was found. If the third guess is
    /// wrong too, the turn takes the lock. So `decide` must accept replies that were never true,
    /// such as nothing for a key that is always there.
    ///
    /// A turn takes the lock if its reads have what never repeats, such as `TIME` or `PTTL`. The
    /// same holds for reads that all items have, if they find more than 4 KiB or one of them has
    /// more than 512 bytes; and for a new command other than those that read strings, hashes,
    /// lists, sets and sorted sets. Locks that wait for replicas are always taken.
    const USES_FENCE: bool = true;

    /// The reads that decide `item`. Put reads that all items have first, in the same order: the
    /// turn then sends these once.
    fn reads(&self, item: &Self::Item) -> Vec<Command>;

    /// Decides `item` by the `replies` to its reads, and by what the items before it made of
    /// `state`. The fence is that of the turn's lease, or 0 if [`Section::USES_FENCE`] is `false`.
    ///
    /// An item whose commands cannot be sent is refused with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument), and nothing is written for it.
    /// The others are decided again, since `decide` may have changed their state.
    ///
    /// The decision must depend only on these arguments: if a turn vanishes before it wrote
    /// anything, its items are decided again.
    fn decide(
        &self,
        item: &Self::Item,
        replies: &[Reply],
        state: &mut Self::State,
        fence: u64,
    ) -> Decision<Self::Answer>;

    /// The commands that run once for all items of a turn, after the writes of each: a sum, an
    /// expiry. Default none.
    fn end(&self, state: Self::State) -> Vec<Command> {
        let _ = state;
        Vec::new()
    }
}

/// What becomes of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<A> {
    /// These commands are run, if there are any. Then this is the answer.
    Write(Vec<Command>, A),
    /// Nothing is written.
    Leave(A),
}

/// The final answer of an item by what its reads found without the lock, if there is one.
pub(super) type Peek<S> = fn(&S, &<S as Section>::Item, &[Reply]) -> Option<<S as Section>::Answer>;

/// The decisions, up to the item with which the writes became too many for a request.
pub(super) struct Decided<A> {
    /// The places in the turn of the items that are decided.
    pub(super) places: Vec<usize>,
    pub(super) answers: Vec<Result<A, Error>>,
    pub(super) writes: Vec<Command>,
    /// Which answer each write belongs to. The writes behind these belong to the turn.
    pub(super) owners: Vec<usize>,
    /// The first answer that depends on a write.
    pub(super) first_write: usize,
}

impl<A> Decided<A> {
    pub(super) const NOTHING: Self = Self {
        places: Vec::new(),
        answers: Vec::new(),
        writes: Vec::new(),
        owners: Vec::new(),
        first_write: 0,
    };

    /// The places in the turn of the items that have writes.
    pub(super) fn writers(&self) -> impl Iterator<Item = usize> {
        let owners = self.owners.chunk_by(|left, right| left == right);
        owners.filter_map(|owners| self.places.get(owners[0]).copied())
    }

    /// What the next turn will read stands behind the writes. The replies to it.
    pub(super) fn split_off_found(&self, replies: &mut Vec<Reply>) -> Vec<Reply> {
        replies.split_off(self.writes.len().min(replies.len()))
    }

    /// The outcomes of the items whose answers depend on the commit, by the replies to its
    /// commands.
    pub(super) fn committed(
        &self,
        answers: Vec<Result<A, Error>>,
        mut replies: Vec<Reply>,
    ) -> Vec<Result<A, Error>> {
        if replies.len() < self.writes.len() {
            let missing = Fault::unexpected("a reply to each write is missing");
            return answers.iter().map(|_| Err(missing.clone())).collect();
        }
        // These were executed, and nobody asks for their replies.
        for reply in replies.iter_mut().filter(|reply| is_left_out(reply)) {
            *reply = Reply::Nil;
        }
        let (of_items, of_all) = replies.split_at(self.owners.len().min(replies.len()));
        let commands = self.writes.iter().skip(of_items.len());
        if let Some(Error::CommandFailed { command, message, .. }) = failed(commands, of_all) {
            let what = format!("{command}, written for all items of the turn, failed: {message}");
            return answers
                .iter()
                .map(|_| Err(Fault::unavailable(what.clone(), true).into()))
                .collect();
        }
        let own = |place: usize| {
            let from = self.owners.partition_point(|owner| *owner < place);
            let to = self.owners.partition_point(|owner| *owner <= place);
            failed(self.writes[from..to].iter(), &of_items[from..to])
        };
        let numbered = (self.first_write..).zip(answers);
        numbered.map(|(place, answer)| own(place).map_or(answer, Err)).collect()
    }
}

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
    let (mut items, mut apart, mut again) = (items, BTreeMap::new(), 0);
    loop {
        let decided =
            catch_unwind(AssertUnwindSafe(|| decide_all(section, turn, items, under, &apart)));
        let place = match decided {
            Ok(Ok(decided)) if decided.answers.is_empty() => {
                items = &items[..1];
                apart.retain(|_, refused| refused.is_some());
                continue;
            }
            Ok(Ok(decided)) => return decided,
            Ok(Err((place, refused))) => {
                apart.insert(place, refused);
                place
            }
            // A panic of the section's `end` is nobody's.
            Err(panic) => match turn.with(Callers::deciding).flatten() {
                Some(place) if apart.insert(place, Some(panicked())).is_none() => place,
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
    pub(super) lock: &'a Settings,
    /// Whether the rest is to wait for the next turn.
    pub(super) is_late: &'a dyn Fn() -> bool,
}

/// The items that the others are decided without, by their places: what a refused one is told, or
/// nothing of one whose writes are too large for a turn with others.
type Apart = BTreeMap<usize, Option<Error>>;

/// Decides the items but those `apart`.
///
/// # Errors
/// One more item is to be apart.
fn decide_all<S: Section>(
    section: &S,
    turn: &Turn<S>,
    items: &[Arc<Pending<S::Item>>],
    under: &Under<'_>,
    apart: &Apart,
) -> Result<Decided<S::Answer>, (usize, Option<Error>)> {
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
        let apart = apart.get(&place);
        if lacks_room || matches!(apart, Some(None)) {
            continue;
        }
        turn.with(|line, number| line.decide(number, place));
        let found = match (asked.begin(), apart.cloned().flatten()) {
            (_, Some(error)) => Err(error),
            (true, None) => under.reads.replies(place, under.replies),
            // Nobody receives this error.
            (false, None) => Err(panicked()),
        };
        let decision =
            found.map(|replies| section.decide(&asked.item, &replies, &mut shared, under.fence));
        let answer = match decision {
            Err(error) => Err(error),
            Ok(Decision::Leave(answer)) => Ok(answer),
            Ok(Decision::Write(writes, answer)) => match under.lock.check_writes(&writes) {
                // Invalid writes of one item must not fail the others.
                Err(fault) => return Err((place, Some(fault.into()))),
                Ok(()) => {
                    let own = bytes(&writes);
                    if items.len() > 1 && own > under.max_bytes {
                        turn.with(|line, number| line.is_large(number, place, own));
                        return Err((place, None));
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
    turn.with(Callers::decided);
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
