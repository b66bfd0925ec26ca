//! Futures that JavaScript completes by a callback, and that leave nothing behind when they are
//! dropped.
//!
//! js-sys's future of a promise cannot do that. Its closures live until the promise is settled, and
//! that of a timer that was stopped never is.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/web/callback.js")]
extern "C" {
    type Source;
    #[wasm_bindgen(method)]
    fn drop(this: &Source);

    #[wasm_bindgen(catch)]
    fn after(ms: f64, done: &Function) -> Result<Source, JsValue>;
    #[wasm_bindgen(catch, js_name = afterPromise)]
    fn after_promise(promise: &Promise, done: &Function) -> Result<Source, JsValue>;

    #[wasm_bindgen(catch, js_name = afterAbort)]
    fn after_abort(signal: &JsValue, done: &Function) -> Result<Source, JsValue>;
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

/// Ready once its source has called back, and at once if the host refused.
struct Callback {
    called: Rc<Called>,
    source: Option<Source>,
    _done: Closure<dyn FnMut()>,
}

#[derive(Default)]
struct Called {
    yet: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Callback {
    fn new(start: impl FnOnce(&Function) -> Result<Source, JsValue>) -> Self {
        let called = Rc::new(Called::default());
        let calls = called.clone();
        let done = Closure::<dyn FnMut()>::new(move || {
            calls.yet.set(true);
            // Not while it is borrowed: some wakers poll at once.
            let waker = calls.waker.borrow_mut().take();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self { called, source: start(done.as_ref().unchecked_ref()).ok(), _done: done }
    }

    fn is_over(&self) -> bool {
        self.source.is_none() || self.called.yet.get()
    }
}

impl Future for Callback {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        *self.called.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(source) = self.source.as_ref().filter(|_| !self.called.yet.get()) {
            source.drop();
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
        let timer = Callback::new(|done| after(timer_ms(part), done));
        let is_refused = timer.is_over();
        timer.await;
        left -= part;
        if left.is_zero() || is_refused {
            return;
        }
    }
}

/// Completes once `signal` is aborted. If it is no signal, that is never.
pub(super) async fn aborted(signal: JsValue) {
    let aborted = Callback::new(|done| after_abort(&signal, done));
    if aborted.source.is_none() {
        return pending().await;
    }
    aborted.await;
}

/// Completes when `promise` is settled, either way. Dropping it leaves nothing with the promise.
///
/// For what may end a call before its time, as a client that hangs up: await both, and drop the
/// call.
pub fn settled(promise: &Promise) -> impl Future<Output = ()> + Unpin + use<> {
    Callback::new(|done| after_promise(promise, done))
}
