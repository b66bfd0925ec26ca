//! The items of all names, and the callers that wait for each name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::driver::{Driver, leave_behind};
use super::gather::{Bound, Drive, Gather};
use super::slot::Slot;
use crate::acquisition::Acquisition;
use crate::error::Error;
use crate::lock::Lock;
use crate::locked::locked;
use crate::runtime::{Runtime, Task};
use crate::select::{Either, select};
use crate::token::Token;
use crate::transport::Transport;

pub(super) type Callers<I, A> = Gather<I, Arc<Slot<A>>, Token>;

/// The waiting items, by name. Nothing is kept of a name without items.
pub(super) struct Lines<I, A>(Mutex<State<I, A>>);

struct State<I, A> {
    by_name: BTreeMap<String, Line<I, A>>,
    numbers: u64,
}

struct Line<I, A> {
    callers: Callers<I, A>,
    /// The acquisition of the driver. If a driver vanishes before it wrote, the next one goes on
    /// with it.
    acquisition: Acquisition,
}

impl<I, A> Line<I, A> {
    fn behind(numbers: u64) -> Self {
        Self {
            callers: Callers::behind(numbers),
            acquisition: Acquisition::new(),
        }
    }
}

impl<I, A> Lines<I, A> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State {
            by_name: BTreeMap::new(),
            numbers: 0,
        }))
    }

    /// How many names have items.
    pub(super) fn names(&self) -> usize {
        locked(&self.0).by_name.len()
    }

    /// The outcome of `item` under the name of `lock`. A caller that is to drive begins the turn by
    /// `begin`, with the rest of its own wait.
    pub(super) async fn submit<T: Transport, R: Runtime>(
        self: &Arc<Self>,
        lock: &Lock<T, R>,
        item: Arc<I>,
        bytes: usize,
        bound: Bound,
        begin: impl Fn(Driver<I, A>, Lock<T, R>) -> Task,
    ) -> Result<A, Error> {
        let runtime = lock.runtime();
        let give_up = runtime.now() + lock.patience();
        let pace = Pace::of(lock);
        let waiting = self.with(lock.key(), |line| line.waiting());
        if let Some(waiting) = waiting.filter(|waiting| *waiting >= bound.waiting) {
            return Err(held(lock, waiting));
        }
        let ticket = Ticket::new(self, lock.key(), item, bytes);
        // How long there was no sign of life.
        let (mut signs, mut quiet) = (0, Duration::ZERO);
        let mut has_waited = false;
        loop {
            self.pass_over(lock.key(), signs, quiet);
            if let Some(outcome) = ticket.slot.take() {
                return outcome;
            }
            let left = give_up.since(runtime.now());
            if (!has_waited || !left.is_zero())
                && let Some((driver, orphan)) = ticket.drive(bound, pace.look)
            {
                // Whatever the outcome of its commit, nobody needs that lease any more. Dropping it
                // gives the lock back.
                drop(orphan.map(|token| lock.resume(token)));
                runtime.spawn(begin(driver, lock.clone().wait(left)));
            }
            let ahead = ticket.ahead();
            if let (Some(ahead), Duration::ZERO) = (ahead, left) {
                return Err(held(lock, ahead));
            }
            let now = self.signs(lock.key());
            if now != signs {
                (signs, quiet) = (now, Duration::ZERO);
            }
            // A caller in a turn may have to wait again.
            let nap = match left {
                Duration::ZERO => pace.look,
                left => pace.look.min(left),
            };
            quiet = match select(ticket.slot.called(runtime), runtime.sleep(nap)).await {
                Either::Right(()) => quiet.saturating_add(nap),
                Either::Left(()) => Duration::ZERO,
            };
            has_waited = true;
        }
    }

    fn signs(&self, name: &str) -> u64 {
        self.with(name, |line| line.signs()).unwrap_or_default()
    }

    /// Goes on without a driver that has shown no sign of life since `signs`, if it should have by
    /// now.
    fn pass_over(&self, name: &str, signs: u64, quiet: Duration) {
        let left = self.with(name, |line| {
            let is_late = line.shows_within().is_some_and(|limit| limit <= quiet);
            is_late.then(|| line.has_gone(signs)).flatten()
        });
        if let Some(left) = left.flatten() {
            leave_behind(left);
        }
    }

    fn acquisition(&self, name: &str) -> Acquisition {
        let state = locked(&self.0);
        let line = state.by_name.get(name);
        line.map_or_else(Acquisition::new, |line| line.acquisition.clone())
    }

    /// `None` if the name has no items.
    pub(super) fn with<O>(
        &self,
        name: &str,
        act: impl FnOnce(&mut Callers<I, A>) -> O,
    ) -> Option<O> {
        let mut state = locked(&self.0);
        let line = state.by_name.get_mut(name)?;
        let output = act(&mut line.callers);
        if line.callers.is_idle() {
            let numbers = line.callers.numbers();
            state.numbers = state.numbers.max(numbers);
            state.by_name.remove(name);
        }
        Some(output)
    }

    fn arrive(&self, name: &str, item: Arc<I>, bytes: usize, slot: &Arc<Slot<A>>) -> u64 {
        let mut state = locked(&self.0);
        let numbers = state.numbers;
        let line = match state.by_name.get_mut(name) {
            Some(line) => line,
            None => (state.by_name.entry(name.to_owned())).or_insert_with(|| Line::behind(numbers)),
        };
        line.callers.arrive(item, bytes, slot.clone())
    }
}

/// How often a driver shows that it is alive, and how often the others look. They look twice within
/// the time-out of its requests, so a vanished driver costs them no more than that. A driver whose
/// requests may take longer than theirs has longer to show itself.
pub(super) struct Pace {
    pub(super) beat: Duration,
    pub(super) look: Duration,
}

impl Pace {
    pub(super) fn of<T: Transport, R: Runtime>(lock: &Lock<T, R>) -> Self {
        const LEAST: Duration = Duration::from_millis(100);
        let limit = lock.request_limit().max(LEAST);
        Self {
            beat: limit / 8,
            look: limit / 2,
        }
    }
}

/// It has waited for its whole wait behind others of its own process, or too many wait.
pub(super) fn held<T: Transport, R: Runtime>(lock: &Lock<T, R>, ahead: usize) -> Error {
    Error::Held {
        lock: lock.key().to_owned(),
        remaining: Some(lock.lasts()),
        ahead: ahead as u64,
        label: None,
        retry_after: lock.patience().min(lock.lasts()),
        requests: 0,
    }
}

/// A caller that waits. Dropping it removes its item, if its turn has not begun.
struct Ticket<'a, I, A> {
    lines: &'a Arc<Lines<I, A>>,
    name: &'a str,
    number: u64,
    slot: Arc<Slot<A>>,
}

impl<'a, I, A> Ticket<'a, I, A> {
    fn new(lines: &'a Arc<Lines<I, A>>, name: &'a str, item: Arc<I>, bytes: usize) -> Self {
        let slot = Arc::new(Slot::new());
        Self {
            lines,
            name,
            number: lines.arrive(name, item, bytes, &slot),
            slot,
        }
    }

    fn ahead(&self) -> Option<usize> {
        (self.lines.with(self.name, |line| line.ahead(self.number))).flatten()
    }

    /// A turn to drive, and the lease to give back first.
    fn drive(&self, bound: Bound, shows_within: Duration) -> Option<(Driver<I, A>, Option<Token>)> {
        let Drive { number, orphan } = (self.lines)
            .with(self.name, |line| {
                let drive = line.drive(self.number, bound);
                drive.inspect(|_| line.show_within(shows_within))
            })
            .flatten()?;
        let driver = Driver {
            lines: self.lines.clone(),
            name: self.name.to_owned(),
            number,
            acquisition: self.lines.acquisition(self.name),
        };
        Some((driver, orphan))
    }
}

impl<I, A> Drop for Ticket<'_, I, A> {
    fn drop(&mut self) {
        let next = (self.lines).with(self.name, |line| line.leave(self.number));
        if let Some(slot) = next.flatten() {
            slot.call();
        }
    }
}
