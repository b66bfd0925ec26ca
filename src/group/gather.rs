//! Which items of one name are decided in which turn, and which caller drives it. It decides; it
//! neither sends, nor waits, nor knows the time.
//!
//! Callers bring items, and wait. While no turn is under way, any caller that looks drives one. It
//! takes the first items, up to a bound, and works for all of them. Each time that it asks for the
//! lock, it also asks for the items that have come meanwhile, and takes them along when it has the
//! lock. The end of a turn calls the first waiter to look, and more waiters if that one does not
//! come: the request of a caller that hung up may be at its end.
//!
//! A driver may vanish without a word, as a request does that its host cuts short. So all that a
//! driver does is a sign of life. A caller that has seen none for long enough reports that by
//! [`Gather::has_gone`]. From then on that turn's number counts for nothing. Its items are decided
//! in a later turn, or, if their commit was on its way, are unknown. No item is in two commits.

mod driving;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The items of one name. `C` is the handle by which a caller is reached, and `P` proves that a
/// turn has the lock.
pub(super) struct Gather<I, C, P> {
    /// By their tickets, and so in order of arrival.
    waiting: BTreeMap<u64, Entry<I, C>>,
    turn: Option<Turn<I, C, P>>,
    /// The proof of a lease whose driver vanished. The next driver gives that lease back.
    orphan: Option<P>,
    /// How many items a turn has at most, since the replies for more were too large.
    most: usize,
    /// How many turns of others come before the next item that is too large for a turn with others.
    owed: usize,
    /// The highest number of a ticket or a turn.
    pub(super) numbers: u64,
    /// How many signs of life there were.
    pub(super) signs: u64,
    /// How many turns have ended.
    pub(super) ended: u64,
}

/// How much a turn takes at most, and how many items may wait for one.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) items: usize,
    pub(super) bytes: usize,
    pub(super) waiting: usize,
}

impl Bound {
    /// How many items of a name may wait, if so many callers wait for so many names. Once all have
    /// five times as many as one may, each has a share of as many again. So ten times as many wait
    /// at most, and names with many items leave places to names with few. One may always wait.
    pub(super) fn room(self, callers: usize, names: usize) -> usize {
        let half = self.waiting.saturating_mul(5);
        if callers < half {
            return self.waiting;
        }
        self.waiting.min((half / names.max(1)).max(1))
    }
}

/// Enough that one is left if some hung up: their hosts may let them do nothing more.
const WATCHERS: usize = 8;

/// A turn to drive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Drive<P> {
    pub(super) number: u64,
    /// A lease to give back first.
    pub(super) orphan: Option<P>,
}

struct Turn<I, C, P> {
    number: u64,
    /// The ticket of the caller that is told if the turn vanishes: that of its driver, or of the
    /// item that the driver decides.
    blamed: u64,
    /// How long its driver may be silent.
    shows_within: Duration,
    entries: VecDeque<Entry<I, C>>,
    /// Tickets of other items for which it also asked. They wait until it begins.
    asked_for: Vec<u64>,
    /// How many turns of others come before the next item that is too large for a turn with
    /// others, if it is the turn of one.
    owes: usize,
    /// The place of the item that is being decided.
    deciding: Option<usize>,
    commit: Option<P>,
    /// It has the lock, or was sent without it. From then on no item leaves it.
    has_begun: bool,
    /// What was so before it began.
    before: Option<Before>,
}

/// What changes when a turn begins.
struct Before {
    blamed: u64,
    owed: usize,
    most: usize,
}

/// What is left of a turn whose driver vanished.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left<C> {
    /// Their commit was on its way.
    pub(super) unknown: Vec<C>,
    /// The driver, or the caller whose item was being decided.
    pub(super) blamed: Option<C>,
    /// The caller to call: it may have to drive.
    pub(super) next: Option<C>,
}

/// An item with its caller.
struct Entry<I, C> {
    ticket: u64,
    item: Arc<I>,
    bytes: usize,
    caller: C,
    /// Its caller no longer waits. If the item is in a turn that has begun, it is decided there,
    /// else never.
    has_left: bool,
}

impl<I, C: Clone, P: Clone> Gather<I, C, P> {
    /// Its tickets and turns have higher numbers than `numbers`, since a caller may still have one
    /// from before this name was idle.
    pub(super) const fn behind(numbers: u64) -> Self {
        Self {
            waiting: BTreeMap::new(),
            turn: None,
            orphan: None,
            most: usize::MAX,
            owed: 0,
            numbers,
            signs: 0,
            ended: 0,
        }
    }

    /// Whether the name has neither items nor turns.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.turn.is_none()
    }

    /// Whether the turn under way waits for the lock.
    pub(super) fn waits_for_lock(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.has_begun)
    }

    /// How many wait for a turn.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many items are in the turn, or wait.
    pub(super) fn here(&self) -> usize {
        let in_turn = self.turn.as_ref().map_or(0, |turn| turn.entries.len());
        in_turn + self.waiting.len()
    }

    /// Adds an item whose reads have this many bytes, and returns its ticket.
    pub(super) fn arrive(&mut self, item: Arc<I>, bytes: usize, caller: C) -> u64 {
        if self.is_idle() {
            self.signs += 1;
        }
        let ticket = self.number();
        self.wait(Entry { ticket, item, bytes, caller, has_left: false });
        ticket
    }

    /// How many items wait ahead of this ticket, or are in its turn; `None` once that has begun,
    /// and for the driver, whose acquisition has an end of its own.
    pub(super) fn ahead(&self, ticket: u64) -> Option<usize> {
        let turn = self.turn.as_ref().filter(|turn| !turn.has_begun && turn.blamed != ticket);
        let in_turn =
            turn.and_then(|turn| turn.entries.iter().position(|entry| entry.ticket == ticket));
        let waits = || self.waiting.contains_key(&ticket);
        in_turn.or_else(|| waits().then(|| self.waiting.range(..ticket).count()))
    }

    fn wait(&mut self, entry: Entry<I, C>) {
        self.waiting.insert(entry.ticket, entry);
    }

    /// A turn for this ticket to drive, if it waits and no turn is under way. The first items are
    /// in it, even if its own is not. One that is too large for a turn with others has one to
    /// itself. Then come as many turns of others as would take its bytes.
    pub(super) fn drive(&mut self, ticket: u64, bound: Bound) -> Option<Drive<P>> {
        if self.turn.is_some() || !self.waiting.contains_key(&ticket) {
            return None;
        }
        self.signs += 1;
        let tickets = match self.to_itself(bound) {
            Some(large) => vec![large.ticket],
            None => self.fitting(0, 0, bound),
        };
        let entries = self.take(&tickets);
        let number = self.number();
        self.turn = Some(Turn {
            number,
            blamed: ticket,
            shows_within: Duration::ZERO,
            entries,
            asked_for: Vec::new(),
            owes: 0,
            deciding: None,
            commit: None,
            has_begun: false,
            before: None,
        });
        let orphan = self.orphan.take();
        Some(Drive { number, orphan })
    }

    /// The item that is to have the next turn to itself: the first one, if it is too large for a
    /// turn with others and these have had theirs, or if nobody else waits.
    fn to_itself(&self, bound: Bound) -> Option<&Entry<I, C>> {
        let is_large = |entry: &&Entry<I, C>| entry.bytes > bound.bytes;
        let first = self.waiting.values().next().filter(is_large)?;
        (self.owed == 0 || self.waiting.values().all(|entry| is_large(&entry))).then_some(first)
    }

    /// The waiting items that have room beside this many items, with this many bytes, by their
    /// tickets. Those behind one that is too large for a turn with others do not wait for it.
    fn fitting(&self, items: usize, mut bytes: usize, bound: Bound) -> Vec<u64> {
        let room = bound.items.min(self.most).saturating_sub(items);
        let others = (self.waiting.values()).filter(|entry| entry.bytes <= bound.bytes);
        let fitting = others.take(room).take_while(|entry| {
            bytes = bytes.saturating_add(entry.bytes);
            bytes <= bound.bytes
        });
        fitting.map(|entry| entry.ticket).collect()
    }

    /// Removes the items with these tickets that still wait.
    fn take(&mut self, tickets: &[u64]) -> VecDeque<Entry<I, C>> {
        let taken = tickets.iter().filter_map(|ticket| self.waiting.remove(ticket));
        taken.collect()
    }

    /// The caller with this ticket no longer waits. Its item is not decided, unless its turn has
    /// begun. Returns the caller to call for the next turn.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<C> {
        let in_turn = self.turn.iter_mut().flat_map(|turn| &mut turn.entries);
        for entry in in_turn.filter(|entry| entry.ticket == ticket) {
            entry.has_left = true;
        }
        let was_first = (self.waiting.keys().next()).is_some_and(|first| *first == ticket);
        self.waiting.remove(&ticket)?;
        self.first().filter(|_| was_first && self.turn.is_none())
    }

    /// Whether this caller looks often whether the driver is alive. A timer of a host costs far
    /// more than a look, so of a crowd only the first ones do, of the turn and of those that wait.
    pub(super) fn watches(&self, ticket: u64) -> bool {
        let in_turn = self.turn.iter().flat_map(|turn| &turn.entries);
        let mut first = (in_turn.take(WATCHERS).map(|entry| &entry.ticket))
            .chain(self.waiting.keys().take(WATCHERS));
        first.any(|first| *first == ticket)
    }

    /// Those that wait and watch now, since the turn took others.
    pub(super) fn new_watchers(&self) -> Vec<C> {
        let taken = self.turn.as_ref().map_or(0, |turn| turn.entries.len());
        let watchers = self.waiting.values().take(WATCHERS);
        let new = watchers.skip(WATCHERS.saturating_sub(taken));
        new.map(|entry| entry.caller.clone()).collect()
    }

    /// The callers that wait for a turn, from one place of the queue to another; `None` if a turn
    /// has begun, or nobody waits there.
    pub(super) fn idle(&self, from: usize, to: usize) -> Option<Vec<C>> {
        let waits = self.turn.is_none() && from < self.waiting.len();
        waits.then(|| {
            let callers = self.waiting.values().take(to).skip(from);
            callers.map(|entry| entry.caller.clone()).collect()
        })
    }

    fn first(&self) -> Option<C> {
        (self.waiting.values().next()).map(|entry| entry.caller.clone())
    }

    const fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

#[cfg(test)]
mod tests;
