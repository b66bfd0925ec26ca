//! Waking a task from another request.
//!
//! workerd lets each request continue only by what that request made itself. A task that is polled
//! in a callback of another request may send nothing. So the task that is to be woken makes a
//! promise, which belongs to its own request. The other one settles it. The host then runs what
//! follows the promise in the request that made it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Wake, Waker};

use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::callback::deferred;

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
pub(super) fn waker(waker: &Waker) -> Waker {
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
