//! Futures at work on the one thread of a host.
//!
//! A task goes on in the very callback that brings what it waits for. The queue of js-sys asks the host for a microtask each time; in
//! workerd that alone is 9 µs, four times for an acquisition and its release.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::callback::{Deferred, deferred};
use crate::runtime::Task;

struct Spawned {
    task: RefCell<Task>,
    waker: Waker,
}

thread_local! {
    /// Those that are under way, each in its place.
    static SPAWNED: RefCell<Vec<Option<Rc<Spawned>>>> = const { RefCell::new(Vec::new()) };
    /// The places of those that have something to do.
    static WOKEN: RefCell<VecDeque<usize>> = const { RefCell::new(VecDeque::new()) };
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
    /// Does not look at the flag: nobody else runs in a microtask, but a host that cut a callback short left the flag behind.
    static RUN: Closure<dyn FnMut(JsValue)> = Closure::new(|_| run());
}

/// Begins `task` soon, and never under the caller: it may hold what the task needs.
pub fn spawn(task: Task) {
    put(task);
    // `queueMicrotask` would do the same, and is the dear one. A promise cannot be kept for all: in workerd it belongs to the request
    // that made it.
    let _ = RUN.with(|run| Promise::resolve(&JsValue::UNDEFINED).then(run));
}

/// Begins `task` soon, as [`spawn`] does, and promises its end.
pub fn promise(task: Task) -> Promise {
    let end = deferred();
    let promise = end.promise();
    spawn(Box::pin(async move {
        task.await;
        // A promise takes whatever it is settled with.
        let _ = end.resolve().call0(&JsValue::UNDEFINED);
    }));
    promise
}

/// Begins `future` at once, for a function that the host calls; nothing of Rust's may be under it. Returns what it comes to, if it has
/// by the time that it first waits, and else a promise of that: who can be answered at once costs the host neither promise nor
/// microtask.
pub fn begin(future: impl Future<Output = JsValue> + 'static) -> JsValue {
    let outcome = Rc::new(RefCell::new(Outcome::Unknown));
    let told = outcome.clone();
    put(Box::pin(async move {
        let value = future.await;
        match told.replace(Outcome::Unknown) {
            Outcome::Promised(end) => {
                let _ = end.resolve().call1(&JsValue::UNDEFINED, &value);
            }
            _ => *told.borrow_mut() = Outcome::Known(value),
        }
    }));
    run();
    match outcome.replace(Outcome::Unknown) {
        Outcome::Known(value) => value,
        _ => {
            let end = deferred();
            let promise = end.promise();
            outcome.replace(Outcome::Promised(end));
            promise.into()
        }
    }
}

/// Of a future that was begun.
enum Outcome {
    Unknown,
    Known(JsValue),
    Promised(Deferred),
}

fn put(task: Task) {
    let place = SPAWNED.with_borrow_mut(|spawned| {
        let place = spawned.iter().position(Option::is_none);
        let place = place.unwrap_or_else(|| {
            spawned.push(None);
            spawned.len() - 1
        });
        spawned[place] = Some(Rc::new(Spawned {
            task: RefCell::new(task),
            waker: Waker::from(Arc::new(Place(place))),
        }));
        place
    });
    WOKEN.with_borrow_mut(|woken| woken.push_back(place));
}

/// Whoever has a place next may be woken by the last one's waker. A task that is woken for nothing only looks.
struct Place(usize);

impl Wake for Place {
    fn wake(self: Arc<Self>) {
        WOKEN.with_borrow_mut(|woken| woken.push_back(self.0));
        if !IS_RUNNING.get() {
            run();
        }
    }
}

/// Goes on with all that were woken, and with those that they wake.
fn run() {
    IS_RUNNING.set(true);
    while let Some(place) = WOKEN.with_borrow_mut(VecDeque::pop_front) {
        go_on(place);
    }
    IS_RUNNING.set(false);
}

fn go_on(place: usize) {
    let spawned = SPAWNED.with_borrow(|spawned| spawned.get(place).cloned().flatten());
    let Some(spawned) = spawned else { return };
    // What a host cut short in the middle of a poll is not gone on with.
    let Ok(mut task) = spawned.task.try_borrow_mut() else {
        return;
    };
    let polled = task.as_mut().poll(&mut Context::from_waker(&spawned.waker));
    drop(task);
    if polled.is_ready() {
        // Dropped out here, since what it leaves behind may spawn another.
        let _done = SPAWNED.with_borrow_mut(|spawned| spawned.get_mut(place).map(Option::take));
    }
}
