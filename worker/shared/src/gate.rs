//! Bounds how many requests of one isolate are served at the same time, in all and for each name.
//!
//! Whoever asks may hang up at no cost, and ask again. Behind each request that is served are a
//! connection to the bridge, a place in a queue of Redis, and clean-up if its caller has gone. So
//! requests wait here, in order of arrival, where waiting costs next to nothing. Beyond a bound
//! they are refused at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use edgelock::{Instant, Runtime};

use crate::problem::Problem;

/// A request that its host cut short gives nothing back. After this time its place is free.
const LONGEST_STAY: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
pub struct Most {
    pub of_a_name: usize,
    pub in_all: usize,
}

/// What all requests to one isolate that do the same kind of thing go through.
#[derive(Clone)]
pub struct Gate(Rc<State>);

struct State {
    inside: Most,
    waiting: Most,
    crowd: RefCell<Crowd>,
}

#[derive(Default)]
struct Crowd {
    /// In order of arrival.
    entries: BTreeMap<u64, Entry>,
    inside: usize,
    last: u64,
}

struct Entry {
    names: Vec<String>,
    is_inside: bool,
    arrived_at: Instant,
    waker: Option<Waker>,
}

/// A place inside, or a place among those who wait. It is given back when it is dropped.
pub struct Place {
    gate: Gate,
    number: u64,
}

impl Gate {
    /// Lets `inside` in at once. Behind them, `waiting` may wait.
    pub fn new(inside: Most, waiting: Most) -> Self {
        Self(Rc::new(State { inside, waiting, crowd: RefCell::default() }))
    }

    /// Lets a request in that concerns these names. It waits up to `patience` for a place.
    ///
    /// # Errors
    /// 503 `crowded` if there was none in time; at once if too many wait, or the caller hangs up.
    pub async fn enter(
        &self,
        names: Vec<String>,
        patience: Duration,
        runtime: &impl Runtime,
    ) -> Result<Place, Problem> {
        let place = self.arrive(names, !patience.is_zero(), runtime.now())?;
        if self.is_inside(place.number, None) {
            return Ok(place);
        }
        // A host stops a request whose caller has gone, unless it has other work.
        let _open = runtime.stay();
        let mut gone = runtime.gone().unwrap_or_else(|| Box::pin(pending()));
        let (mut end, mut waker) = (pin!(runtime.sleep(patience)), None::<Waker>);
        let is_inside = poll_fn(|cx| {
            // Others may call this one.
            let fresh = (!waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())))
                .then(|| runtime.shared_waker(cx.waker()));
            waker = Some(cx.waker().clone());
            if self.is_inside(place.number, fresh) {
                return Poll::Ready(true);
            }
            let is_over = end.as_mut().poll(cx).is_ready() || gone.as_mut().poll(cx).is_ready();
            if is_over { Poll::Ready(false) } else { Poll::Pending }
        });
        if is_inside.await { Ok(place) } else { Err(Problem::crowded()) }
    }

    fn arrive(&self, names: Vec<String>, may_wait: bool, now: Instant) -> Result<Place, Problem> {
        let mut crowd = self.0.crowd.borrow_mut();
        let lost = crowd.forget_the_lost(now);
        crowd.last += 1;
        let number = crowd.last;
        let entry = Entry { names, is_inside: false, arrived_at: now, waker: None };
        crowd.entries.insert(number, entry);
        let woken = crowd.let_in(self.0.inside);
        let stays =
            crowd.entries[&number].is_inside || may_wait && crowd.may_wait(number, self.0.waiting);
        drop(crowd);
        drop(lost);
        woken.iter().for_each(Waker::wake_by_ref);
        // Dropping it gives it back.
        let place = Place { gate: self.clone(), number };
        if stays { Ok(place) } else { Err(Problem::crowded()) }
    }

    /// If it is not, `waker` is called when it may be.
    fn is_inside(&self, number: u64, waker: Option<Waker>) -> bool {
        let mut crowd = self.0.crowd.borrow_mut();
        // One that was forgotten waits until its patience is over.
        let Some(entry) = crowd.entries.get_mut(&number) else { return false };
        let former = if entry.is_inside || waker.is_some() {
            std::mem::replace(&mut entry.waker, waker)
        } else {
            None
        };
        let is_inside = entry.is_inside;
        drop(crowd);
        drop(former);
        is_inside
    }
}

impl Crowd {
    /// Lets in, in order of arrival, all for whom there is room. Nobody overtakes one that waits
    /// for the same name. Returns whom to wake.
    fn let_in(&mut self, most: Most) -> Vec<Waker> {
        if self.inside == self.entries.len() {
            return Vec::new();
        }
        let mut taken = BTreeMap::<String, usize>::new();
        let inside = self.entries.values().filter(|entry| entry.is_inside);
        inside
            .flat_map(|entry| &entry.names)
            .for_each(|name| *taken.entry(name.clone()).or_default() += 1);
        let mut woken = Vec::new();
        for entry in self.entries.values_mut().filter(|entry| !entry.is_inside) {
            let room = |name| taken.get(name).is_none_or(|taken| *taken < most.of_a_name);
            if self.inside < most.in_all && entry.names.iter().all(room) {
                entry.is_inside = true;
                self.inside += 1;
                // It stays in the entry until its task goes on.
                woken.extend(entry.waker.clone());
            }
            entry.names.iter().for_each(|name| *taken.entry(name.clone()).or_default() += 1);
        }
        woken
    }

    /// Whether those who wait are no more than may, with this one.
    fn may_wait(&self, number: u64, most: Most) -> bool {
        let waiting = self.entries.values().filter(|entry| !entry.is_inside);
        let behind = |name| waiting.clone().filter(|entry| entry.names.contains(name)).count();
        let of_names = self.entries[&number].names.iter().map(behind);
        waiting.clone().count() <= most.in_all && of_names.max().unwrap_or(0) <= most.of_a_name
    }

    fn forget_the_lost(&mut self, now: Instant) -> Vec<Entry> {
        let is_lost = |entry: &Entry| now.since(entry.arrived_at) > LONGEST_STAY;
        let mut lost = Vec::new();
        // They are in order of arrival.
        while let Some(first) = self.entries.first_entry().filter(|first| is_lost(first.get())) {
            lost.push(first.remove());
        }
        self.inside -= lost.iter().filter(|entry| entry.is_inside).count();
        lost
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let state = &self.gate.0;
        let mut crowd = state.crowd.borrow_mut();
        let left = crowd.entries.remove(&self.number);
        crowd.inside -= usize::from(left.as_ref().is_some_and(|left| left.is_inside));
        let woken = crowd.let_in(state.inside);
        drop(crowd);
        drop(left);
        woken.iter().for_each(Waker::wake_by_ref);
    }
}
