//! Looks without the lock. Items that arrive at about the same time share a request, and those that
//! need no turn are answered by it.
//!
//! Looks need no order, so several may be under way at once. A look leaves at once if none left
//! recently. Otherwise it waits for a quarter of the time that the last one took, and takes along
//! the items that come meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::decide::{Peek, Section};
use super::gather::Bound;
use super::known::Known;
use super::lines::{Slot, held, pace};
use super::reads::{Pending, Reads};
use crate::error::Error;
use crate::lock::Lock;
use crate::runtime::{Instant, Runtime, Task};
use crate::tasks::{Either, locked, select};
use crate::transport::Transport;

/// The pause before the first look of a name was answered.
const FIRST_PAUSE: Duration = Duration::from_millis(4);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// For one name. Only behind a bridge that became slow are there as many at once.
const MOST_UNDER_WAY: usize = 8;

/// The items to look at.
pub(super) struct Looks<I, A> {
    /// Nothing is kept of a name without items.
    by_name: Mutex<BTreeMap<String, Gathering<I, A>>>,
    /// How many wait for the answers to their items.
    callers: AtomicUsize,
}

struct Gathering<I, A> {
    waiting: Vec<Waiting<I, A>>,
    /// Until when each of them counts: the caller that sent it may have vanished.
    under_way: Vec<Instant>,
    /// When the next look may leave.
    next_at: Instant,
    pause: Duration,
}

struct Waiting<I, A> {
    item: Arc<Pending<I>>,
    bytes: usize,
    slot: Arc<Slot<Option<A>>>,
}

/// What a caller must do.
enum Step<I, A> {
    Send(Look<I, A>),
    /// Sends when this is over.
    Pause(Duration),
    /// Waits, since another caller works for it.
    Wait,
}

/// Items that are looked at together. If it is dropped, each goes on without a look.
pub(super) struct Look<I, A> {
    looks: Arc<Looks<I, A>>,
    name: String,
    items: Vec<Waiting<I, A>>,
    /// Its entry in [`Gathering::under_way`].
    until: Instant,
    took: Option<Duration>,
}

/// A look that takes longer is not waited for.
fn longest<T: Transport, R: Runtime>(lock: &Lock<T, R>) -> Duration {
    pace(lock).saturating_mul(2)
}

impl<I, A> Looks<I, A> {
    pub(super) const fn new() -> Self {
        Self { by_name: Mutex::new(BTreeMap::new()), callers: AtomicUsize::new(0) }
    }

    /// How many names have items.
    pub(super) fn names(&self) -> usize {
        self.state().len()
    }

    /// What a look says of `item`. `None` if it says nothing, fails, or does not end. A caller that
    /// is to send one does so by `begin`.
    pub(super) async fn submit<T: Transport, R: Runtime>(
        self: &Arc<Self>,
        lock: &Lock<T, R>,
        item: Arc<Pending<I>>,
        bytes: usize,
        bound: Bound,
        begin: impl Fn(Look<I, A>, Lock<T, R>) -> Task,
    ) -> Result<Option<A>, Error> {
        let runtime = lock.runtime();
        let longest = longest(lock);
        let place = Place::new(self, lock, item, bytes, bound)?;
        let mut is_late = false;
        loop {
            if let Some(outcome) = place.slot.take() {
                return outcome;
            }
            let nap = match place.step(is_late, bound) {
                Step::Send(look) => {
                    runtime.spawn(begin(look, lock.clone().for_others()));
                    longest
                }
                Step::Pause(pause) => pause,
                // The caller that was to send has vanished, before or after it sent. Only the look
                // is lost.
                Step::Wait if is_late => return Ok(None),
                Step::Wait => longest,
            };
            let called = place.slot.called(runtime);
            let rang = matches!(select(called, runtime.sleep(nap)).await, Either::Right(()));
            is_late = rang && nap == longest;
        }
    }

    fn state(&self) -> MutexGuard<'_, BTreeMap<String, Gathering<I, A>>> {
        locked(&self.by_name)
    }

    /// Lets the first waiting caller find out what it must do.
    fn call_first(&self, name: &str) {
        let first =
            self.with(name, |gathering| gathering.waiting.first().map(|first| first.slot.clone()));
        if let Some(slot) = first.flatten() {
            slot.call();
        }
    }

    /// Applies `act` to the items of `name`, and forgets the name if none are left.
    fn with<O>(&self, name: &str, act: impl FnOnce(&mut Gathering<I, A>) -> O) -> Option<O> {
        let mut state = self.state();
        let gathering = state.get_mut(name)?;
        let output = act(gathering);
        if gathering.waiting.is_empty() && gathering.under_way.is_empty() {
            state.remove(name);
        }
        Some(output)
    }
}

impl<I, A> Gathering<I, A> {
    const fn new(now: Instant) -> Self {
        Self { waiting: Vec::new(), under_way: Vec::new(), next_at: now, pause: FIRST_PAUSE }
    }

    /// How long no look may leave. Zero: one may leave now. `None`: not before one ends.
    fn pause(&self, now: Instant, bound: Bound) -> Option<Duration> {
        if self.under_way.len() >= MOST_UNDER_WAY {
            return None;
        }
        let is_full = self.waiting.len() >= bound.items;
        let pause = self.next_at.since(now);
        // A longer pause comes from another client, whose clock began earlier.
        let is_over = is_full || pause > self.pause;
        Some(if is_over { Duration::ZERO } else { pause })
    }

    /// The first waiting items, as many as a request has room for, and at least one.
    fn take(&mut self, bound: Bound) -> Vec<Waiting<I, A>> {
        let mut bytes = 0_usize;
        let fitting = self.waiting.iter().take(bound.items).take_while(|waiting| {
            bytes = bytes.saturating_add(waiting.bytes);
            bytes <= bound.bytes
        });
        let count = fitting.count().max(1).min(self.waiting.len());
        self.waiting.drain(..count).collect()
    }
}

/// A caller that waits for a look. Dropping it removes its item.
struct Place<'a, I, A, T: Transport, R: Runtime> {
    looks: &'a Arc<Looks<I, A>>,
    lock: &'a Lock<T, R>,
    slot: Arc<Slot<Option<A>>>,
}

impl<'a, I, A, T: Transport, R: Runtime> Place<'a, I, A, T, R> {
    fn new(
        looks: &'a Arc<Looks<I, A>>,
        lock: &'a Lock<T, R>,
        item: Arc<Pending<I>>,
        bytes: usize,
        bound: Bound,
    ) -> Result<Self, Error> {
        let slot = Arc::new(Slot::new());
        let mut state = looks.state();
        // An item that finds nobody does not wait.
        let found = state.get(lock.key()).map(|found| found.waiting.len());
        let room = bound.room(looks.callers.load(Relaxed), state.len());
        if let Some(waiting) = found.filter(|waiting| *waiting >= room) {
            return Err(held(lock, waiting));
        }
        looks.callers.fetch_add(1, Relaxed);
        let gathering = state.entry(lock.key().to_owned());
        let gathering = gathering.or_insert_with(|| Gathering::new(lock.runtime().now()));
        gathering.waiting.push(Waiting { item, bytes, slot: slot.clone() });
        drop(state);
        Ok(Self { looks, lock, slot })
    }

    /// The first caller sends for all. So does any other that has waited too long.
    fn step(&self, is_late: bool, bound: Bound) -> Step<I, A> {
        let now = self.lock.runtime().now();
        let until = now + longest(self.lock);
        let step = self.looks.with(self.lock.key(), |gathering| {
            gathering.under_way.retain(|until| now < *until);
            let place = self.of(&gathering.waiting)?;
            if !is_late {
                match gathering.pause(now, bound) {
                    Some(Duration::ZERO) if place == 0 => {}
                    Some(pause) if place == 0 => return Some(Step::Pause(pause)),
                    _ => return Some(Step::Wait),
                }
            }
            gathering.under_way.push(until);
            gathering.next_at = now + gathering.pause;
            Some(Step::Send(Look {
                looks: self.looks.clone(),
                name: self.lock.key().to_owned(),
                items: gathering.take(bound),
                until,
                took: None,
            }))
        });
        let step = step.flatten().unwrap_or(Step::Wait);
        if let Step::Send(_) = step {
            self.looks.call_first(self.lock.key());
        }
        step
    }

    fn of(&self, waiting: &[Waiting<I, A>]) -> Option<usize> {
        let is_own = |waiting: &Waiting<I, A>| Arc::ptr_eq(&waiting.slot, &self.slot);
        waiting.iter().position(is_own)
    }
}

impl<I, A, T: Transport, R: Runtime> Drop for Place<'_, I, A, T, R> {
    fn drop(&mut self) {
        self.looks.callers.fetch_sub(1, Relaxed);
        let now = self.lock.runtime().now();
        let was_first = self.looks.with(self.lock.key(), |gathering| {
            gathering.under_way.retain(|until| now < *until);
            let place = self.of(&gathering.waiting)?;
            gathering.waiting.remove(place);
            Some(place == 0)
        });
        if was_first.flatten() == Some(true) {
            self.looks.call_first(self.lock.key());
        }
    }
}

impl<I, A> Drop for Look<I, A> {
    fn drop(&mut self) {
        self.looks.with(&self.name, |gathering| {
            let mut under_way = gathering.under_way.iter();
            if let Some(at) = under_way.position(|until| *until == self.until) {
                gathering.under_way.swap_remove(at);
            }
            if let Some(took) = self.took {
                gathering.pause = (took / 4).min(LONGEST_PAUSE);
            }
        });
        // Too many looks may have been under way.
        self.looks.call_first(&self.name);
        for waiting in &self.items {
            // The first answer counts.
            waiting.slot.put(Ok(None));
        }
    }
}

/// Reads for all items of `look` in one request, and tells each its result.
pub(in crate::group) async fn drive<S: Section, T: Transport, R: Runtime>(
    section: &S,
    peek: Peek<S>,
    mut look: Look<S::Item, S::Answer>,
    lock: &Lock<T, R>,
    known: &Known,
) {
    let asked_at = lock.runtime().now();
    let reads = Reads::of(look.items.iter().map(|waiting| &*waiting.item));
    let found = lock.read(&reads.commands).await;
    look.took = Some(lock.runtime().now().since(asked_at));
    // What is looked at for what it reads says nothing of others.
    let (mut others, mut answered) = (0, 0);
    for (place, waiting) in look.items.iter().enumerate() {
        let is_met = known.has_met(lock.key(), &waiting.item.reads);
        let replies = found.as_ref().ok().map(|found| {
            let lacks_room = reads.lacks_room(place, found);
            (reads.replies(place, found), lacks_room)
        });
        let seen = match replies {
            Some((Ok(replies), _)) => {
                let seen = peek(section, &waiting.item.item, &replies);
                if seen.is_none() {
                    waiting.item.look(replies);
                }
                Ok(seen)
            }
            // In a turn it would cost the others a round trip.
            Some((Err(error), false)) if is_met => Err(error),
            // Whatever went wrong, the turn will show whether it still does.
            _ => Ok(None),
        };
        if !is_met {
            others += 1;
            answered += usize::from(matches!(seen, Ok(Some(_))));
        }
        waiting.slot.put(seen);
    }
    if others > 0 {
        known.habits.learn(lock.key(), 2 * answered <= others);
    }
}
