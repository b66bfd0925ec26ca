//! Futures on the one thread of a host, and waking them from another request.
//!
//! A task continues in the very callback that brings what it waits for. The queue of js-sys asks
//! the host for a microtask each time. In workerd that alone takes 9 µs, four times for an
//! acquisition and its release.
//!
//! workerd lets each request continue only by what that request made itself. A task that is polled
//! in a callback of another request may send nothing. So the task that is to be woken makes a
//! promise, which belongs to its own request. The other one settles it. The host then runs what
//! follows the promise in the request that made it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;

use super::callback::{Deferred, deferred};

/// A task of this thread.
type Local = Pin<Box<dyn Future<Output = ()>>>;

struct Spawned {
    id: Id,
    task: RefCell<Local>,
    waker: Waker,
}

/// Names a task. When a task is over, another may get its place, but not its number. That other one
/// may belong to another request, and must not continue in this one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Id {
    place: usize,
    number: u64,
}

thread_local! {
    /// The tasks under way, each in its place.
    static SPAWNED: RefCell<Vec<Option<Rc<Spawned>>>> = const { RefCell::new(Vec::new()) };
    /// The tasks that have something to do.
    static WOKEN: RefCell<VecDeque<Id>> = const { RefCell::new(VecDeque::new()) };
    /// How many tasks there have been.
    static NUMBERS: Cell<u64> = const { Cell::new(0) };
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
    /// Ignores the flag. Nothing else runs in a microtask, but a host that cut a callback short may
    /// have left the flag set.
    static RUN: Closure<dyn FnMut(JsValue)> = Closure::new(|_| run());
}

/// Begins `task` soon, and never under the caller: it may hold what the task needs. For work that
/// no response waits for. In a Worker it ends with the response, unless `waitUntil` gets its
/// [`promise`].
pub fn spawn(task: Local) {
    put(task);
    // `queueMicrotask` would do the same, at a higher cost. One promise cannot serve all: in
    // workerd it belongs to the request that made it.
    let _ = RUN.with(|run| Promise::resolve(&JsValue::UNDEFINED).then(run));
}

/// Begins `task` soon, as [`spawn`] does, and promises its end.
///
/// For a `waitUntil` that takes a promise:
/// `Host::default().wait_until(move |task| context.wait_until(&web::promise(task)))`.
pub fn promise(task: Local) -> Promise {
    let end = deferred();
    let promise = end.promise();
    spawn(Box::pin(async move {
        task.await;
        // A promise accepts any value.
        let _ = end.resolve().call0(&JsValue::UNDEFINED);
    }));
    promise
}

/// Begins `future` at once, for a function that the host calls, as a Worker's handler is; no other
/// call into Rust may be under way. Returns its output if it does not have to wait, and else a
/// promise of the output. So an answer that is known at once costs the host neither a promise nor a
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

/// The output of a future that was begun.
enum Outcome {
    Unknown,
    Known(JsValue),
    Promised(Deferred),
}

fn put(task: Local) {
    let number = NUMBERS.get() + 1;
    NUMBERS.set(number);
    let id = SPAWNED.with_borrow_mut(|spawned| {
        let place = spawned.iter().position(Option::is_none);
        let place = place.unwrap_or_else(|| {
            spawned.push(None);
            spawned.len() - 1
        });
        let id = Id { place, number };
        spawned[place] = Some(Rc::new(Spawned {
            id,
            task: RefCell::new(task),
            waker: Waker::from(Arc::new(id)),
        }));
        id
    });
    WOKEN.with_borrow_mut(|woken| woken.push_back(id));
}

/// A task that is over is not woken.
impl Wake for Id {
    fn wake(self: Arc<Self>) {
        WOKEN.with_borrow_mut(|woken| woken.push_back(*self));
        if !IS_RUNNING.get() {
            run();
        }
    }
}

/// Polls all tasks that were woken, and those that they wake.
fn run() {
    IS_RUNNING.set(true);
    while let Some(id) = WOKEN.with_borrow_mut(VecDeque::pop_front) {
        go_on(id);
    }
    IS_RUNNING.set(false);
}

fn go_on(id: Id) {
    let spawned = SPAWNED.with_borrow(|spawned| spawned.get(id.place).cloned().flatten());
    let Some(spawned) = spawned.filter(|spawned| spawned.id == id) else {
        return;
    };
    // A task that a host cut short in the middle of a poll does not continue.
    let Ok(mut task) = spawned.task.try_borrow_mut() else {
        return;
    };
    let polled = task.as_mut().poll(&mut Context::from_waker(&spawned.waker));
    drop(task);
    if polled.is_ready() {
        // Dropped out here, since dropping it may spawn another task.
        let _done = SPAWNED.with_borrow_mut(|spawned| spawned.get_mut(id.place).map(Option::take));
    }
}

thread_local! {
    /// The tasks that may be woken, by number.
    static CALLS: RefCell<BTreeMap<u32, Callee>> = const { RefCell::new(BTreeMap::new()) };
    static LAST: Cell<u32> = const { Cell::new(0) };
    /// Follows each promise, which is settled with the number.
    static GO_ON: Closure<dyn FnMut(JsValue)> = Closure::new(|number: JsValue| {
        let number = number.as_f64().unwrap_or_default() as u32;
        let callee = CALLS.with_borrow_mut(|calls| calls.remove(&number));
        if let Some(callee) = callee {
            callee.waker.wake();
        }
    });
}

struct Callee {
    /// Until it is called.
    settle: Option<Function>,
    waker: Waker,
}

/// A waker of the same task, for the tasks of other requests. Make it in the request that it wakes.
pub(super) fn shared_waker(waker: &Waker) -> Waker {
    let made = deferred();
    let _ = GO_ON.with(|go_on| made.promise().then(go_on));
    let number = LAST.get().wrapping_add(1);
    LAST.set(number);
    let callee = Callee { settle: Some(made.resolve()), waker: waker.clone() };
    CALLS.with_borrow_mut(|calls| calls.insert(number, callee));
    Waker::from(Arc::new(Call(number)))
}

struct Call(u32);

impl Wake for Call {
    /// From here on, what follows the promise owns it.
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
        if let Some(call) = Arc::into_inner(self) {
            std::mem::forget(call);
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let settle = CALLS.with_borrow_mut(|calls| calls.get_mut(&self.0)?.settle.take());
        if let Some(settle) = settle {
            // A promise accepts any value.
            let _ = settle.call1(&JsValue::UNDEFINED, &self.0.into());
        }
    }
}

/// Nothing follows a promise whose request is over. So nobody else would remove it.
impl Drop for Call {
    fn drop(&mut self) {
        CALLS.with_borrow_mut(|calls| calls.remove(&self.0));
    }
}
