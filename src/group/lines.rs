//! The items of all names, with the callers that wait for them, and where each gets its answer from
//! the caller that works for it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::gather::{Bound, Gather};
use crate::acquisition::Acquisition;
use crate::error::Error;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::tasks::locked;
use crate::token::Token;
use crate::transport::Transport;

pub(super) type Callers<I, A> = Gather<I, Arc<Slot<A>>, Token>;

/// The waiting items, by name. Nothing is kept of a name without items.
pub(super) struct Lines<I, A>(Mutex<State<I, A>>);

struct State<I, A> {
    by_name: BTreeMap<String, Line<I, A>>,
    numbers: u64,
    /// How many wait for the answers to their items.
    callers: usize,
}

struct Line<I, A> {
    callers: Callers<I, A>,
    /// The acquisition of the driver. If a driver vanishes before it wrote, the next one goes on
    /// with it.
    acquisition: Acquisition,
}

impl<I, A> Line<I, A> {
    fn behind(numbers: u64) -> Self {
        Self { callers: Callers::behind(numbers), acquisition: Acquisition::new() }
    }
}

impl<I, A> Lines<I, A> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State { by_name: BTreeMap::new(), numbers: 0, callers: 0 }))
    }

    /// How many names have items.
    pub(super) fn names(&self) -> usize {
        locked(&self.0).by_name.len()
    }

    pub(super) fn signs(&self, name: &str) -> u64 {
        self.with(name, |line| line.signs).unwrap_or_default()
    }

    pub(super) fn ended(&self, name: &str) -> u64 {
        self.with(name, |line| line.ended).unwrap_or_default()
    }

    pub(super) fn waits_for_lock(&self, name: &str) -> bool {
        self.with(name, |line| line.waits_for_lock()) == Some(true)
    }

    pub(super) fn acquisition(&self, name: &str) -> Acquisition {
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
            let numbers = line.callers.numbers;
            state.numbers = state.numbers.max(numbers);
            state.by_name.remove(name);
        }
        Some(output)
    }

    /// # Errors
    /// So many wait already, and no more may. An item that finds nobody does not wait.
    pub(super) fn arrive(
        &self,
        name: &str,
        item: Arc<I>,
        bytes: usize,
        slot: &Arc<Slot<A>>,
        bound: Bound,
    ) -> Result<u64, usize> {
        let mut state = locked(&self.0);
        let State { by_name, numbers, callers } = &mut *state;
        if let Some(line) = by_name.get(name) {
            let waiting = line.callers.waiting();
            if waiting >= bound.room(*callers, by_name.len()) {
                return Err(waiting);
            }
        }
        *callers += 1;
        let line = by_name.entry(name.to_owned());
        let line = line.or_insert_with(|| Line::behind(*numbers));
        Ok(line.callers.arrive(item, bytes, slot.clone()))
    }

    /// One who [arrived](Lines::arrive) waits no more.
    pub(super) fn leave(&self) {
        locked(&self.0).callers -= 1;
    }
}

/// How often callers look whether their driver shows that it is alive, which it does twice as
/// often. Three looks without a sign report it as gone, so a vanished driver costs them less than
/// the time-out of its requests, and up to four more if all that watch have vanished with it. A
/// driver whose requests may take longer than theirs has longer to show itself.
pub(super) fn pace<T: Transport, R: Runtime>(lock: &Lock<T, R>) -> Duration {
    const LEAST: Duration = Duration::from_millis(100);
    lock.request_limit().max(LEAST) / 4
}

/// It has waited for its whole wait behind others of its own process, or too many wait.
pub(super) fn held<T: Transport, R: Runtime>(lock: &Lock<T, R>, ahead: usize) -> Error {
    /// Even a caller that does not wait should not come again at once.
    const SHORTEST: Duration = Duration::from_millis(100);
    Error::Held {
        lock: lock.key().to_owned(),
        remaining: Some(lock.lasts()),
        ahead: ahead as u64,
        is_own: false,
        label: None,
        retry_after: lock.wait.max(SHORTEST).min(lock.lasts()),
        requests: 0,
    }
}

/// One caller's answer, and how it is woken.
pub(super) struct Slot<A>(Mutex<Waiting<A>>);

struct Waiting<A> {
    outcome: Option<Result<A, Error>>,
    is_called: bool,
    waker: Option<Wakers>,
}

struct Wakers {
    own: Waker,
    /// For the task of another caller to wake.
    shared: Waker,
}

impl<A> Slot<A> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Waiting { outcome: None, is_called: false, waker: None }))
    }

    /// Only the first answer counts.
    pub(super) fn put(&self, outcome: Result<A, Error>) {
        self.state().outcome.get_or_insert(outcome);
        self.call();
    }

    /// Calls the caller to look.
    pub(super) fn call(&self) {
        let waker = {
            let mut state = self.state();
            state.is_called = true;
            (state.waker.as_ref()).map(|known| known.shared.clone())
        };
        // Not under the lock: some wakers poll at once.
        if let Some(waker) = waker {
            waker.wake_by_ref();
        }
    }

    pub(super) fn take(&self) -> Option<Result<A, Error>> {
        self.state().outcome.take()
    }

    /// Completes once there is something to look at. If this is dropped before, it is not woken: a
    /// caller that hung up is still in its turn.
    pub(super) async fn called<R: Runtime>(&self, runtime: &R) {
        let _awake = Awake(self);
        poll_fn(|cx| {
            let mut state = self.state();
            if std::mem::take(&mut state.is_called) {
                return Poll::Ready(());
            }
            let own = cx.waker();
            if !state.waker.as_ref().is_some_and(|known| known.own.will_wake(own)) {
                let own = own.clone();
                let shared = runtime.shared_waker(&own);
                state.waker = Some(Wakers { own, shared });
            }
            Poll::Pending
        })
        .await;
    }

    fn state(&self) -> MutexGuard<'_, Waiting<A>> {
        locked(&self.0)
    }
}

/// Once it is dropped, nobody waits.
struct Awake<'a, A>(&'a Slot<A>);

impl<A> Drop for Awake<'_, A> {
    fn drop(&mut self) {
        let waker = self.0.state().waker.take();
        // Not under the lock.
        drop(waker);
    }
}
