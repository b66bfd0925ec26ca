//! Futures that JavaScript completes by a callback, and that leave nothing behind when they are
//! dropped.
//!
//! js-sys's future of a promise cannot do that. Its closures live until the promise is settled, and
//! that of a timer that was stopped never is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::mem::replace;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/web/callback.js")]
extern "C" {
    #[wasm_bindgen(catch)]
    fn after(ms: f64, tell: &Function, number: u32) -> Result<Function, JsValue>;
    #[wasm_bindgen(catch, js_name = afterPromise)]
    fn after_promise(promise: &Promise, tell: &Function, number: u32) -> Result<Function, JsValue>;

    #[wasm_bindgen(catch, js_name = afterAbort)]
    fn after_abort(signal: &JsValue, tell: &Function, number: u32) -> Result<Function, JsValue>;
}

#[wasm_bindgen(module = "/src/web/exchange.js")]
extern "C" {
    /// A promise that another request may settle.
    pub(super) type Deferred;
    pub(super) fn deferred() -> Deferred;
    #[wasm_bindgen(method, getter)]
    pub(super) fn promise(this: &Deferred) -> Promise;
    #[wasm_bindgen(method, getter)]
    pub(super) fn resolve(this: &Deferred) -> Function;
}

thread_local! {
    /// Those that were not called yet, by number, and whom they wake.
    static WAITING: RefCell<BTreeMap<u32, Option<Waker>>> = const { RefCell::new(BTreeMap::new()) };
    static LAST: Cell<u32> = const { Cell::new(0) };
    /// One function for all: hosts take longer to make one than to call one. What it wakes may
    /// abort a signal, which calls it again.
    static TELL: Closure<dyn Fn(u32)> = Closure::new(|number| {
        let waker = WAITING.with_borrow_mut(|waiting| waiting.remove(&number));
        if let Some(waker) = waker.flatten() {
            waker.wake();
        }
    });
}

/// Ready once its source has called back, and at once if the host refused.
struct Callback {
    number: u32,
    stop: Option<Function>,
}

impl Callback {
    fn new(start: impl FnOnce(&Function, u32) -> Result<Function, JsValue>) -> Self {
        let number = LAST.get().wrapping_add(1);
        LAST.set(number);
        WAITING.with_borrow_mut(|waiting| waiting.insert(number, None));
        let stop = TELL.with(|tell| start(tell.as_ref().unchecked_ref(), number)).ok();
        if stop.is_none() {
            WAITING.with_borrow_mut(|waiting| waiting.remove(&number));
        }
        Self { number, stop }
    }
}

impl Future for Callback {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = Some(cx.waker().clone());
        // The last waker may own a task with callbacks of its own. So it is dropped out here.
        let last =
            WAITING.with_borrow_mut(|waiting| Some(replace(waiting.get_mut(&self.number)?, waker)));
        if last.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        let waits = WAITING.with_borrow_mut(|waiting| waiting.remove(&self.number)).is_some();
        if let Some(stop) = self.stop.as_ref().filter(|_| waits) {
            // Nothing can be done about a timer that does not stop. Nobody hears it.
            let _ = stop.call0(&JsValue::UNDEFINED);
        }
    }
}

/// Hosts keep timers as signed 32-bit milliseconds, and fire longer ones at once.
const LONGEST_TIMER: Duration = Duration::from_millis(i32::MAX as u64);

/// In the form of the host's timers: never early, never too long for them.
pub(super) fn timer_ms(duration: Duration) -> f64 {
    (duration.min(LONGEST_TIMER).as_secs_f64() * 1000.0).ceil()
}

/// Sleeps for `duration`; returns at once if the host refuses timers.
pub(super) async fn sleep(duration: Duration) {
    let mut left = duration;
    loop {
        let part = left.min(LONGEST_TIMER);
        let timer = Callback::new(|tell, number| after(timer_ms(part), tell, number));
        let is_refused = timer.stop.is_none();
        timer.await;
        left -= part;
        if left.is_zero() || is_refused {
            return;
        }
    }
}

/// Completes once `signal` is aborted. If it is no signal, that is never.
pub(super) async fn aborted(signal: JsValue) {
    let aborted = Callback::new(|tell, number| after_abort(&signal, tell, number));
    if aborted.stop.is_none() {
        return pending().await;
    }
    aborted.await;
}

/// Completes when `promise` is settled, either way. Dropping it leaves nothing with the promise.
///
/// For what may end a call before its time, as a client that hangs up: await both, and drop the
/// call.
pub fn settled(promise: &Promise) -> impl Future<Output = ()> + Unpin + use<> {
    Callback::new(|tell, number| after_promise(promise, tell, number))
}
