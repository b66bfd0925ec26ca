//! What the driver of a turn tells of it, and what is left of the turn when its driver is gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Before, Bound, Entry, Gather, Left, Turn};

impl<I, C: Clone, P: Clone> Gather<I, C, P> {
    /// Sets how long the driver of this turn is silent at most while it is alive.
    pub(in crate::group) const fn show_within(&mut self, limit: Duration) {
        if let Some(turn) = &mut self.turn {
            turn.shows_within = limit;
        }
    }

    /// The limit that [`Gather::show_within`] set, if a turn is under way.
    pub(in crate::group) fn shows_within(&self) -> Option<Duration> {
        self.turn.as_ref().map(|turn| turn.shows_within)
    }

    /// Ends the turn under way if its driver has shown no sign of life since `signs`.
    pub(in crate::group) fn has_gone(&mut self, signs: u64) -> Option<Left<C>> {
        let turn = self.turn.as_ref()?;
        // A driver that vanishes meanwhile says so itself.
        let (number, decides) = (turn.number, turn.deciding.is_some());
        (self.signs == signs && !decides).then(|| self.abandon(number)).flatten()
    }

    /// The items for which this turn asks: its own, and the waiting ones that have room in it. The
    /// latter wait on until it [begins](Gather::begin).
    pub(in crate::group) fn ask(&mut self, number: u64, bound: Bound) -> Option<Vec<Arc<I>>> {
        self.of(number)?.entries.retain(|entry| !entry.has_left);
        self.let_others_go_first(number, bound);
        let own = &self.of(number)?.entries;
        let bytes = own.iter().map(|entry| entry.bytes).sum();
        let mut items: Vec<_> = own.iter().map(|entry| entry.item.clone()).collect();
        let joining = self.fitting(items.len(), bytes, bound);
        let waiting = joining.iter().filter_map(|ticket| self.waiting.get(ticket));
        items.extend(waiting.map(|entry| entry.item.clone()));
        self.of(number)?.asked_for = joining;
        Some(items)
    }

    /// An item that has the turn to itself gives it to others, if they have come meanwhile and had
    /// fewer turns since the last such item than they are to have.
    fn let_others_go_first(&mut self, number: u64, bound: Bound) -> Option<()> {
        let is_large = |entry: &Entry<I, C>| entry.bytes > bound.bytes;
        let own = self.of(number)?.entries.front().filter(|own| is_large(own));
        let owes = own.map_or(0, |own| own.bytes.div_ceil(bound.bytes.max(1)));
        self.of(number)?.owes = owes;
        if owes > 0 && self.owed > 0 && !self.waiting.values().all(is_large) {
            self.put_back(number, |_| false);
            let others = self.take(&self.fitting(0, 0, bound));
            let turn = self.of(number)?;
            (turn.entries, turn.owes) = (others, 0);
        }
        Some(())
    }

    /// This turn has the lock. It drops the items whose callers have left. It takes those of the
    /// other items that it asked for last and that still wait. Returns which it has of all that it
    /// asked for; `None` if a caller reported the driver as gone.
    pub(in crate::group) fn begin(&mut self, number: u64) -> Option<Vec<bool>> {
        if !self.beat(number) {
            return None;
        }
        let (owed, most) = (self.owed, self.most);
        // One item may have had the large reply. If not, a later turn finds out.
        self.most = self.most.saturating_add(self.most / 8 + 1);
        let asked_for = std::mem::take(&mut self.turn.as_mut()?.asked_for);
        let joining = self.take(&asked_for);
        let turn = self.turn.as_mut()?;
        turn.has_begun = true;
        let blamed = turn.blamed;
        turn.before = Some(Before { blamed, owed, most });
        self.owed = match turn.owes {
            0 => self.owed.saturating_sub(1),
            owes => owes,
        };
        let mut has: Vec<bool> = turn.entries.iter().map(|entry| !entry.has_left).collect();
        let mut joined = joining.iter().map(|entry| entry.ticket).peekable();
        has.extend(asked_for.iter().map(|ticket| joined.next_if_eq(ticket).is_some()));
        turn.entries.retain(|entry| !entry.has_left);
        turn.entries.extend(joining);
        Some(has)
    }

    /// The replies for `asked` items were too large: all of them wait again, for turns of half as
    /// many. Returns whether that makes a difference.
    pub(in crate::group) fn shrink(&mut self, number: u64, asked: usize) -> bool {
        if !self.beat(number) || asked < 2 {
            return false;
        }
        self.most = asked / 2;
        self.put_back(number, |_| false);
        true
    }

    /// Notes that the driver of this turn is alive. Returns whether it still drives it.
    pub(in crate::group) fn beat(&mut self, number: u64) -> bool {
        let drives = self.of(number).is_some();
        self.signs += u64::from(drives);
        drives
    }

    /// Removes the first `count` items from the turn, since they are decided, and returns their
    /// callers.
    pub(in crate::group) fn answered(&mut self, number: u64, count: usize) -> Option<Vec<C>> {
        let turn = self.of(number)?;
        let count = count.min(turn.entries.len());
        Some(turn.entries.drain(..count).map(|entry| entry.caller).collect())
    }

    /// Lets items of the turn wait again, by their age, except those that are kept, by their places
    /// in it.
    pub(in crate::group) fn put_back(&mut self, number: u64, keeps: impl Fn(usize) -> bool) {
        let Some(turn) = self.of(number) else { return };
        let (mut kept, mut back) = (VecDeque::new(), Vec::new());
        for (place, entry) in std::mem::take(&mut turn.entries).into_iter().enumerate() {
            if keeps(place) {
                kept.push_back(entry);
            } else if !entry.has_left {
                back.push(entry);
            }
        }
        turn.entries = kept;
        back.into_iter().for_each(|entry| self.wait(entry));
    }

    /// Lets all items of the turn wait again except its driver's, whose wait is over.
    pub(in crate::group) fn put_back_others(&mut self, number: u64) {
        let Some(turn) = self.of(number) else { return };
        let is_driver = |entry: &Entry<I, C>| entry.ticket == turn.blamed;
        let keeps: Vec<bool> = turn.entries.iter().map(is_driver).collect();
        self.put_back(number, |place| keeps[place]);
    }

    /// The item at this place of the turn is now decided. If that panics, it is not the driver's
    /// fault. Many decisions may take longer than a driver may be silent, and while one is made no
    /// timer of its task ends.
    pub(in crate::group) fn decide(&mut self, number: u64, place: usize) {
        self.beat(number);
        if let Some(turn) = self.of(number)
            && let Some(entry) = turn.entries.get(place)
        {
            turn.blamed = entry.ticket;
            turn.deciding = Some(place);
        }
    }

    /// The writes of the item at this place of the turn have so many bytes: too many for a turn
    /// with others.
    pub(in crate::group) fn is_large(&mut self, number: u64, place: usize, bytes: usize) {
        let turn = self.of(number);
        if let Some(entry) = turn.and_then(|turn| turn.entries.get_mut(place)) {
            entry.bytes = entry.bytes.max(bytes);
        }
    }

    /// All items of this turn are decided.
    pub(in crate::group) fn decided(&mut self, number: u64) {
        if let Some(turn) = self.of(number) {
            turn.deciding = None;
        }
    }

    /// The place of the item that is being decided, if one is.
    pub(in crate::group) fn deciding(&mut self, number: u64) -> Option<usize> {
        self.of(number)?.deciding
    }

    /// The commit of the rest of the turn is about to be sent. Returns whether it may be: not if a
    /// caller has reported the driver as gone.
    pub(in crate::group) fn commit(&mut self, number: u64, proof: P) -> bool {
        self.signs += 1;
        let turn = self.of(number);
        turn.map(|turn| turn.commit = Some(proof)).is_some()
    }

    /// Nothing was written for this turn after all. It goes on as before it began.
    pub(in crate::group) fn retreat(&mut self, number: u64) {
        let Some(turn) = self.of(number) else { return };
        (turn.commit, turn.has_begun) = (None, false);
        if let Some(before) = turn.before.take() {
            turn.blamed = before.blamed;
            (self.owed, self.most) = (before.owed, before.most);
        }
    }

    /// Ends the turn. Returns the callers left in it, and the one to call for the next turn. `None`
    /// if a caller has reported the driver as gone.
    pub(in crate::group) fn end(&mut self, number: u64) -> Option<(Vec<C>, Option<C>)> {
        self.of(number)?;
        let turn = self.turn.take()?;
        self.signs += 1;
        self.ended += 1;
        let callers = turn.entries.into_iter().map(|entry| entry.caller);
        Some((callers.collect(), self.first()))
    }

    /// The driver of this turn has vanished.
    pub(in crate::group) fn abandon(&mut self, number: u64) -> Option<Left<C>> {
        self.of(number)?;
        let turn = self.turn.take()?;
        let mut left = Left { unknown: Vec::new(), blamed: None, next: None };
        for entry in turn.entries {
            if turn.commit.is_some() {
                left.unknown.push(entry.caller);
            } else if entry.ticket == turn.blamed {
                // Otherwise an item that lets no turn end would have turns begun for ever.
                left.blamed = Some(entry.caller);
            } else if !entry.has_left {
                self.wait(entry);
            }
        }
        left.next = self.first();
        self.orphan = turn.commit.or_else(|| self.orphan.take());
        Some(left)
    }

    fn of(&mut self, number: u64) -> Option<&mut Turn<I, C, P>> {
        self.turn.as_mut().filter(|turn| turn.number == number)
    }
}
