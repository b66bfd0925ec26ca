//! Which items of one name are decided in which turn, and by whose work. It decides; it neither
//! sends, nor waits, nor knows the time.
//!
//! Callers bring items, and wait. While no turn is under way, whoever of them looks drives one: it
//! takes the first items, up to a bound, and works for all of them. Each time that it asks for the
//! lock it asks for those too that have come meanwhile, and takes them along when it has it. The end
//! of a turn calls the first that waits to look, and more of them if it does not come: the request of
//! who hung up may be at its end.
//!
//! A driver may go away without a word, as a request that a host cut short does. So whatever a
//! driver does is a sign of life, and whoever has seen none for long enough says so by
//! [`Gather::has_gone`]. From then on that turn's number counts for nothing: its items are decided
//! in a later turn, or, if their commit was on its way, are unknown. No item is in two commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The items of one name. `C` is whatever a caller is reached by, and `P` what proves that a turn
/// has the lock.
pub(super) struct Gather<I, C, P> {
    waiting: VecDeque<Entry<I, C>>,
    turn: Option<Turn<I, C, P>>,
    /// What proves a lease whose driver went away, for the next driver to give it back.
    orphan: Option<P>,
    /// Of tickets and of turns.
    numbers: u64,
    signs: u64,
}

struct Entry<I, C> {
    ticket: u64,
    item: Arc<I>,
    bytes: usize,
    caller: C,
    /// Its caller does not want to know any more: it is decided in the turn that it is in, or never.
    has_left: bool,
}

struct Turn<I, C, P> {
    number: u64,
    /// The ticket of who is told if it is not heard of any more: of its driver, or of the item that
    /// it decides.
    blamed: u64,
    /// How long its driver is silent at most.
    shows_within: Duration,
    entries: VecDeque<Entry<I, C>>,
    /// Tickets of others for which it asked too, and which wait until it begins.
    asked_for: Vec<u64>,
    commit: Option<P>,
}

/// What a turn takes at most, and how many may wait for one.
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
    /// A lease that is to be given back first.
    pub(super) orphan: Option<P>,
}

/// What a turn leaves behind whose driver went away.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left<C> {
    /// Their commit was on its way.
    pub(super) unknown: Vec<C>,
    /// The driver, or whose item was being decided.
    pub(super) blamed: Option<C>,
    /// Who is to look whether it drives.
    pub(super) next: Option<C>,
}

impl<I, C: Clone, P: Clone> Gather<I, C, P> {
    /// Its tickets and turns have higher numbers than `numbers`: somebody may yet have one from
    /// before this name was idle.
    pub(super) const fn behind(numbers: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            turn: None,
            orphan: None,
            numbers,
            signs: 0,
        }
    }

    /// The highest number that it gave.
    pub(super) const fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Whether nobody asks for this name.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.turn.is_none()
    }

    /// How often there was a sign of life.
    pub(super) const fn signs(&self) -> u64 {
        self.signs
    }

    /// How many wait for a turn.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// An item, whose reads have so many bytes. Its ticket.
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

    /// How many wait before this ticket; `None` once its turn has begun.
    pub(super) fn ahead(&self, ticket: u64) -> Option<usize> {
        self.waiting.iter().position(|entry| entry.ticket == ticket)
    }

    /// How long the driver of this turn is silent at most, if it is alive.
    pub(super) const fn show_within(&mut self, limit: Duration) {
        if let Some(turn) = &mut self.turn {
            turn.shows_within = limit;
        }
    }

    /// As it was said by [`Gather::show_within`], if a turn is under way.
    pub(super) fn shows_within(&self) -> Option<Duration> {
        self.turn.as_ref().map(|turn| turn.shows_within)
    }

    /// Whether a turn is under way whose driver has shown nothing since `signs`: then that turn is
    /// over.
    pub(super) fn has_gone(&mut self, signs: u64) -> Option<Left<C>> {
        let number = self.turn.as_ref()?.number;
        (self.signs == signs)
            .then(|| self.abandon(number))
            .flatten()
    }

    /// A turn for this ticket to drive, if it waits and none is under way. The first items are in it, also
    /// if its own is not.
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

    /// What this turn is to ask for, first come, first decided: its own items, and those that wait
    /// by now and have room in it. These wait on until it [begins](Gather::begin).
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

    /// This turn has the lock: takes those that wait yet of the others that it asked for last. Which
    /// it has of all that it asked for. `None` if somebody found the driver gone.
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

    /// How many of those that wait have room beside so many items, of so many bytes. One that is too
    /// large for any turn has one to itself.
    fn fitting(&self, items: usize, mut bytes: usize, bound: Bound) -> usize {
        let room = bound.items.saturating_sub(items);
        let fitting = self.waiting.iter().take(room).take_while(|entry| {
            bytes = bytes.saturating_add(entry.bytes);
            bytes <= bound.bytes
        });
        fitting.count().max(usize::from(items == 0))
    }

    /// The driver of this turn is alive. Whether it still drives it.
    pub(super) fn beat(&mut self, number: u64) -> bool {
        let drives = self.of(number).is_some();
        self.signs += u64::from(drives);
        drives
    }

    /// Takes the first `count` items out of the turn, since they are decided: who brought them.
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

    /// Lets items of the turn wait again, before all others: those that are not kept, by their
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

    /// Lets all items of the turn wait again but its driver's, which has waited for as long as it was
    /// willing to.
    pub(super) fn put_back_others(&mut self, number: u64) {
        let Some(turn) = self.of(number) else { return };
        let is_driver = |entry: &Entry<I, C>| entry.ticket == turn.blamed;
        let keeps: Vec<bool> = turn.entries.iter().map(is_driver).collect();
        self.put_back(number, |place| keeps[place]);
    }

    /// The item at this place in the turn is decided now. Should that panic, it is not the driver's
    /// fault.
    pub(super) fn decide(&mut self, number: u64, place: usize) {
        if let Some(turn) = self.of(number)
            && let Some(entry) = turn.entries.get(place)
        {
            turn.blamed = entry.ticket;
        }
    }

    /// The commit of what is left in the turn is to be sent now. Whether it may: not once somebody
    /// found the driver gone.
    pub(super) fn commit(&mut self, number: u64, proof: P) -> bool {
        self.signs += 1;
        let turn = self.of(number);
        turn.map(|turn| turn.commit = Some(proof)).is_some()
    }

    /// The turn is over: who is left in it, and who is to look whether it drives. `None` if
    /// somebody found the driver gone.
    pub(super) fn end(&mut self, number: u64) -> Option<(Vec<C>, Option<C>)> {
        self.of(number)?;
        let turn = self.turn.take()?;
        self.signs += 1;
        let callers = turn.entries.into_iter().map(|entry| entry.caller);
        Some((callers.collect(), self.first()))
    }

    /// The driver of this turn has gone away.
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
                // Else what lets no turn come to an end would have one begun for ever.
                left.blamed = Some(entry.caller);
            } else if !entry.has_left {
                self.waiting.push_front(entry);
            }
        }
        left.next = self.first();
        self.orphan = turn.commit.or_else(|| self.orphan.take());
        Some(left)
    }

    /// Whoever has this ticket does not want to know any more: its item is not decided, unless its
    /// turn has begun. Who is to look whether it drives.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<C> {
        let in_turn = self.turn.iter_mut().flat_map(|turn| &mut turn.entries);
        for entry in in_turn.filter(|entry| entry.ticket == ticket) {
            entry.has_left = true;
        }
        let at = self.ahead(ticket)?;
        self.waiting.remove(at);
        self.first().filter(|_| at == 0 && self.turn.is_none())
    }

    /// The callers that wait for a turn to begin, from one place in the line to another; `None` if one has, or nobody
    /// waits there.
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
