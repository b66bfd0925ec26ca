//! One caller that works for all items of a turn, and what becomes of them if it vanishes.

use std::sync::Arc;
use std::time::Duration;

use super::gather::{Bound, Left};
use super::lines::{Callers, Lines};
use super::slot::Slot;
use crate::acquisition::Acquisition;
use crate::error::{Error, Fault};
use crate::runtime::Runtime;
use crate::token::Token;

/// A turn under way. Dropping it early leaves its items to the next turn, or unknown.
pub(super) struct Driver<I, A> {
    pub(super) lines: Arc<Lines<I, A>>,
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) acquisition: Acquisition,
}

impl<I, A> Driver<I, A> {
    /// Whether it still drives.
    pub(super) fn beat(&self) -> bool {
        self.with(|line, number| line.beat(number)).unwrap_or(false)
    }

    /// As [`Gather::ask`].
    pub(super) fn ask(&self, bound: Bound) -> Option<Vec<Arc<I>>> {
        self.with(|line, number| line.ask(number, bound)).flatten()
    }

    /// How many items are in this turn, or wait.
    pub(super) fn here(&self) -> usize {
        self.with(|line, _| line.here()).unwrap_or_default()
    }

    /// As [`Gather::begin`].
    pub(super) fn begin(&self) -> Option<Vec<bool>> {
        self.with(|line, number| line.begin(number)).flatten()
    }

    /// As [`Gather::shrink`].
    pub(super) fn shrink(&self, asked: usize) -> bool {
        let shrunk = self.with(|line, number| line.shrink(number, asked));
        shrunk.unwrap_or(false)
    }

    /// As [`Gather::put_back_others`].
    pub(super) fn put_back_others(&self) {
        self.with(Callers::put_back_others);
    }

    /// As [`Gather::decide`].
    pub(super) fn decide(&self, place: usize) {
        self.with(|line, number| line.decide(number, place));
    }

    /// As [`Gather::is_large`].
    pub(super) fn is_large(&self, place: usize, bytes: usize) {
        self.with(|line, number| line.is_large(number, place, bytes));
    }

    /// As [`Gather::decided`].
    pub(super) fn decided(&self) {
        self.with(|line, number| line.decided(number));
    }

    /// As [`Gather::deciding`].
    pub(super) fn deciding(&self) -> Option<usize> {
        self.with(|line, number| line.deciding(number)).flatten()
    }

    /// As [`Gather::commit`].
    pub(super) fn commit(&self, proof: &Token) -> bool {
        let sent = self.with(|line, number| line.commit(number, proof.clone()));
        sent.unwrap_or(false)
    }

    /// As [`Gather::retreat`].
    pub(super) fn retreat(&self) {
        self.with(|line, number| line.retreat(number));
    }

    /// As [`Gather::put_back`].
    pub(super) fn put_back(&self, keeps: impl Fn(usize) -> bool) {
        self.with(|line, number| line.put_back(number, keeps));
    }

    /// Gives the first callers of the turn their answers.
    pub(super) fn answer(&self, outcomes: Vec<Result<A, Error>>) {
        let count = outcomes.len();
        let slots = self.with(|line, number| line.answered(number, count));
        tell(slots.flatten(), outcomes);
    }

    /// Ends the turn with an error.
    pub(super) fn fail(&self, error: &Error) {
        let Some((slots, next)) = self.with(|line, number| line.end(number)).flatten() else {
            return;
        };
        if let Some(next) = next {
            next.call();
        }
        for slot in slots {
            slot.put(Err(error.clone()));
        }
    }

    /// Ends the turn, and tells the callers left in it. Returns how many items wait for the next
    /// one.
    pub(super) fn end(&self, outcomes: Vec<Result<A, Error>>) -> usize {
        let ended = self.with(|line, number| (line.end(number), line.waiting()));
        let Some((Some((slots, next)), waiting)) = ended else {
            return 0;
        };
        // The next turn comes first, since it has a round trip ahead.
        if let Some(next) = next {
            next.call();
        }
        tell(Some(slots), outcomes);
        waiting
    }

    /// Makes sure that a caller drives the next turn. One that hung up does not notice that it is
    /// called. So each time that nobody comes, twice as many are called.
    pub(super) async fn hand_on<R: Runtime>(&self, runtime: &R) {
        /// A caller on a host that is alive looks at once.
        const COMES_WITHIN: Duration = Duration::from_millis(10);
        let (mut from, mut to) = (1, 3);
        while (self.with(|line, _| line.idle(0, 1)).flatten()).is_some() {
            runtime.sleep(COMES_WITHIN).await;
            let Some(next) = self.with(|line, _| line.idle(from, to)).flatten() else {
                return;
            };
            next.iter().for_each(|slot| slot.call());
            (from, to) = (to, to.saturating_mul(2));
        }
    }

    fn with<O>(&self, act: impl FnOnce(&mut Callers<I, A>, u64) -> O) -> Option<O> {
        self.lines.with(&self.name, |line| act(line, self.number))
    }
}

impl<I, A> Drop for Driver<I, A> {
    fn drop(&mut self) {
        if let Some(left) = self.with(|line, number| line.abandon(number)).flatten() {
            leave_behind(left);
        }
    }
}

fn tell<A>(slots: Option<Vec<Arc<Slot<A>>>>, outcomes: Vec<Result<A, Error>>) {
    for (slot, outcome) in slots.unwrap_or_default().into_iter().zip(outcomes) {
        slot.put(outcome);
    }
}

/// Tells the callers of a turn whose driver vanished.
pub(super) fn leave_behind<A>(left: Left<Arc<Slot<A>>>) {
    for slot in &left.unknown {
        slot.put(Err(gone(true)));
    }
    if let Some(slot) = &left.blamed {
        slot.put(Err(gone(false)));
    }
    if let Some(slot) = &left.next {
        slot.call();
    }
}

fn gone(may_have_run: bool) -> Error {
    let what = "the caller that drove this turn of the group vanished";
    Fault::unavailable(what.into(), may_have_run).into()
}
