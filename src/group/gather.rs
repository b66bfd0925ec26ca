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

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The items of one name. `C` is the handle by which a caller is reached, and `P` proves that a
/// turn has the lock.
pub(super) struct Gather<I, C, P> {
    waiting: VecDeque<Entry<I, C>>,
    turn: Option<Turn<I, C, P>>,
    /// The proof of a lease whose driver vanished. The next driver gives that lease back.
    orphan: Option<P>,
    /// Numbers of tickets and turns.
    numbers: u64,
    signs: u64,
}

struct Entry<I, C> {
    ticket: u64,
    item: Arc<I>,
    bytes: usize,
    caller: C,
    /// Its caller no longer waits. If the item is in a turn, it is decided there, else never.
    has_left: bool,
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
    commit: Option<P>,
}

/// How much a turn takes at most, and how many items may wait for one.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) items: usize,
    pub(super) bytes: usize,
    pub(super) waiting: usize,
}

/// A turn to drive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Drive<P> {
    pub(super) number: u64,
    /// A lease to give back first.
    pub(super) orphan: Option<P>,
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

impl<I, C: Clone, P: Clone> Gather<I, C, P> {
    /// Its tickets and turns have higher numbers than `numbers`, since a caller may still have one
    /// from before this name was idle.
    pub(super) const fn behind(numbers: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            turn: None,
            orphan: None,
            numbers,
            signs: 0,
        }
    }

    /// The highest number given out.
    pub(super) const fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Whether the name has neither items nor turns.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.turn.is_none()
    }

    /// How many signs of life there were.
    pub(super) const fn signs(&self) -> u64 {
        self.signs
    }

    /// How many wait for a turn.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds an item whose reads have this many bytes, and returns its ticket.
    pub(super) fn arrive(&mut self, item: Arc<I>, bytes: usize, caller: C) -> u64 {
        if self.is_idle() {
            self.signs += 1;
        }
        let ticket = self.number();
        self.waiting.push_back(Entry {
            ticket,
            item,
            bytes,
            caller,
            has_left: false,
        });
        ticket
    }

    /// How many items wait ahead of this ticket; `None` once its turn has begun.
    pub(super) fn ahead(&self, ticket: u64) -> Option<usize> {
        self.waiting.iter().position(|entry| entry.ticket == ticket)
    }

    /// Sets how long the driver of this turn is silent at most while it is alive.
    pub(super) const fn show_within(&mut self, limit: Duration) {
        if let Some(turn) = &mut self.turn {
            turn.shows_within = limit;
        }
    }

    /// The limit that [`Gather::show_within`] set, if a turn is under way.
    pub(super) fn shows_within(&self) -> Option<Duration> {
        self.turn.as_ref().map(|turn| turn.shows_within)
    }

    /// Ends the turn under way if its driver has shown no sign of life since `signs`.
    pub(super) fn has_gone(&mut self, signs: u64) -> Option<Left<C>> {
        let number = self.turn.as_ref()?.number;
        (self.signs == signs)
            .then(|| self.abandon(number))
            .flatten()
    }

    /// A turn for this ticket to drive, if it waits and no turn is under way. The first items are
    /// in it, even if its own is not.
    pub(super) fn drive(&mut self, ticket: u64, bound: Bound) -> Option<Drive<P>> {
        self.ahead(ticket)?;
        if self.turn.is_some() {
            return None;
        }
        self.signs += 1;
        let count = self.fitting(0, 0, bound);
        let entries = self.waiting.drain(..count).collect();
        let number = self.number();
        self.turn = Some(Turn {
            number,
            blamed: ticket,
            shows_within: Duration::ZERO,
            entries,
            asked_for: Vec::new(),
            commit: None,
        });
        let orphan = self.orphan.take();
        Some(Drive { number, orphan })
    }

    /// The items for which this turn asks, in order of arrival: its own, and the waiting ones that
    /// have room in it. The latter wait on until it [begins](Gather::begin).
    pub(super) fn ask(&mut self, number: u64, bound: Bound) -> Option<Vec<Arc<I>>> {
        let own = &self.of(number)?.entries;
        let bytes = own.iter().map(|entry| entry.bytes).sum();
        let mut items: Vec<_> = own.iter().map(|entry| entry.item.clone()).collect();
        let count = self.fitting(items.len(), bytes, bound);
        let joining = self.waiting.iter().take(count);
        items.extend(joining.clone().map(|entry| entry.item.clone()));
        let asked_for = joining.map(|entry| entry.ticket).collect();
        self.of(number)?.asked_for = asked_for;
        Some(items)
    }

    /// This turn has the lock. It takes those of the other items that it asked for last and that
    /// still wait. Returns which it has of all that it asked for; `None` if a caller reported the
    /// driver as gone.
    pub(super) fn begin(&mut self, number: u64) -> Option<Vec<bool>> {
        if !self.beat(number) {
            return None;
        }
        let turn = self.turn.as_mut()?;
        let mut has = vec![true; turn.entries.len()];
        for ticket in std::mem::take(&mut turn.asked_for) {
            let first = self.waiting.front();
            let waits = first.is_some_and(|entry| entry.ticket == ticket);
            if waits {
                turn.entries.extend(self.waiting.pop_front());
            }
            has.push(waits);
        }
        Some(has)
    }

    /// How many of the waiting items have room beside this many items, with this many bytes. An
    /// item that is too large for any turn has one to itself.
    fn fitting(&self, items: usize, mut bytes: usize, bound: Bound) -> usize {
        let room = bound.items.saturating_sub(items);
        let fitting = self.waiting.iter().take(room).take_while(|entry| {
            bytes = bytes.saturating_add(entry.bytes);
            bytes <= bound.bytes
        });
        fitting.count().max(usize::from(items == 0))
    }

    /// Notes that the driver of this turn is alive. Returns whether it still drives it.
    pub(super) fn beat(&mut self, number: u64) -> bool {
        let drives = self.of(number).is_some();
        self.signs += u64::from(drives);
        drives
    }

    /// Removes the first `count` items from the turn, since they are decided, and returns their
    /// callers.
    pub(super) fn answered(&mut self, number: u64, count: usize) -> Option<Vec<C>> {
        let turn = self.of(number)?;
        let count = count.min(turn.entries.len());
        Some(
            turn.entries
                .drain(..count)
                .map(|entry| entry.caller)
                .collect(),
        )
    }

    /// Lets items of the turn wait again, ahead of all others, except those that are kept, by their
    /// places in it.
    pub(super) fn put_back(&mut self, number: u64, keeps: impl Fn(usize) -> bool) {
        let Some(turn) = self.of(number) else { return };
        let mut back = VecDeque::new();
        for (place, entry) in std::mem::take(&mut turn.entries).into_iter().enumerate() {
            let to = if keeps(place) {
                &mut turn.entries
            } else {
                &mut back
            };
            to.push_back(entry);
        }
        back.retain(|entry| !entry.has_left);
        back.append(&mut self.waiting);
        self.waiting = back;
    }

    /// Lets all items of the turn wait again except its driver's, whose wait is over.
    pub(super) fn put_back_others(&mut self, number: u64) {
        let Some(turn) = self.of(number) else { return };
        let is_driver = |entry: &Entry<I, C>| entry.ticket == turn.blamed;
        let keeps: Vec<bool> = turn.entries.iter().map(is_driver).collect();
        self.put_back(number, |place| keeps[place]);
    }

    /// The item at this place of the turn is now decided. If that panics, it is not the driver's
    /// fault.
    pub(super) fn decide(&mut self, number: u64, place: usize) {
        if let Some(turn) = self.of(number)
            && let Some(entry) = turn.entries.get(place)
        {
            turn.blamed = entry.ticket;
        }
    }

    /// The commit of the rest of the turn is about to be sent. Returns whether it may be: not if a
    /// caller has reported the driver as gone.
    pub(super) fn commit(&mut self, number: u64, proof: P) -> bool {
        self.signs += 1;
        let turn = self.of(number);
        turn.map(|turn| turn.commit = Some(proof)).is_some()
    }

    /// Ends the turn. Returns the callers left in it, and the one to call for the next turn. `None`
    /// if a caller has reported the driver as gone.
    pub(super) fn end(&mut self, number: u64) -> Option<(Vec<C>, Option<C>)> {
        self.of(number)?;
        let turn = self.turn.take()?;
        self.signs += 1;
        let callers = turn.entries.into_iter().map(|entry| entry.caller);
        Some((callers.collect(), self.first()))
    }

    /// The driver of this turn has vanished.
    pub(super) fn abandon(&mut self, number: u64) -> Option<Left<C>> {
        self.of(number)?;
        let turn = self.turn.take()?;
        let mut left = Left {
            unknown: Vec::new(),
            blamed: None,
            next: None,
        };
        for entry in turn.entries.into_iter().rev() {
            if turn.commit.is_some() {
                left.unknown.insert(0, entry.caller);
            } else if entry.ticket == turn.blamed {
                // Otherwise an item that lets no turn end would have turns begun for ever.
                left.blamed = Some(entry.caller);
            } else if !entry.has_left {
                self.waiting.push_front(entry);
            }
        }
        left.next = self.first();
        self.orphan = turn.commit.or_else(|| self.orphan.take());
        Some(left)
    }

    /// The caller with this ticket no longer waits. Its item is not decided, unless its turn has
    /// begun. Returns the caller to call for the next turn.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<C> {
        let in_turn = self.turn.iter_mut().flat_map(|turn| &mut turn.entries);
        for entry in in_turn.filter(|entry| entry.ticket == ticket) {
            entry.has_left = true;
        }
        let at = self.ahead(ticket)?;
        self.waiting.remove(at);
        self.first().filter(|_| at == 0 && self.turn.is_none())
    }

    /// The callers that wait for a turn, from one place of the queue to another; `None` if a turn
    /// has begun, or nobody waits there.
    pub(super) fn idle(&self, from: usize, to: usize) -> Option<Vec<C>> {
        let waits = self.turn.is_none() && from < self.waiting.len();
        let to = to.min(self.waiting.len());
        waits.then(|| {
            let callers = self.waiting.range(from..to);
            callers.map(|entry| entry.caller.clone()).collect()
        })
    }

    fn first(&self) -> Option<C> {
        self.waiting.front().map(|entry| entry.caller.clone())
    }

    fn of(&mut self, number: u64) -> Option<&mut Turn<I, C, P>> {
        self.turn.as_mut().filter(|turn| turn.number == number)
    }

    const fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

#[cfg(test)]
mod tests;
