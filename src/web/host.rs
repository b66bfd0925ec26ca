//! The host's clock, timers, randomness and background work, as a runtime.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;

use super::{callback, executor};
use crate::event::Event;
use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};
use crate::tasks::GoingOn;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// The host's clock, timers, randomness and background work as [`Runtime`].
#[derive(Clone, Default)]
pub struct Host {
    wait_until: Option<SendWrapper<Rc<WaitUntil>>>,
    on_event: Option<SendWrapper<Rc<OnEvent>>>,
    signal: Option<SendWrapper<JsValue>>,
    /// Calls and leases. One task stands for all that are under way at once.
    open: GoingOn,
}

type WaitUntil = dyn Fn(Task);
type OnEvent = dyn Fn(&Event<'_>);

impl Host {
    /// Gives background work to `wait_until`, so that it outlives the response. In a Worker:
    /// `Host::default().wait_until(move |task| context.wait_until(task))`. Without it the work is
    /// only spawned, and a host that stops at the response stops that work too.
    ///
    /// A call that is under way, and a lease until it is dropped, count as such work too. A Worker
    /// would otherwise stop where it is if its caller hangs up, and no lock would be given back.
    #[must_use]
    pub fn wait_until(mut self, wait_until: impl Fn(Task) + 'static) -> Self {
        self.wait_until = Some(SendWrapper::new(Rc::new(wait_until)));
        self
    }

    /// Gives leases back, and ends waits, once `signal` is aborted: an `AbortSignal`, as that of a
    /// Worker's request. So a caller that hangs up keeps a lock for no longer than a request's
    /// time-out. A write that is under way is awaited first. In a Worker that needs the
    /// compatibility flag `enable_request_signal`, and [`Host::wait_until`]. Without a signal the
    /// work goes on as if the caller was there, for as long as the host allows.
    ///
    /// What others depend on goes on: the work of [`Once`](crate::Once), shared turns, debounced
    /// work, and leases that were handed over. The first and the third may use the client, which
    /// takes no notice of the signal until such work has ended.
    #[must_use]
    pub fn signal(mut self, signal: &JsValue) -> Self {
        self.signal = Some(SendWrapper::new(signal.clone()));
        self
    }

    /// Passes everything that happens to the locks of this host's client to `on_event`, at that
    /// moment: for logs and metrics.
    #[must_use]
    pub fn on_event(mut self, on_event: impl Fn(&Event<'_>) + 'static) -> Self {
        self.on_event = Some(SendWrapper::new(Rc::new(on_event)));
        self
    }
}

pub(super) fn now() -> Instant {
    // The cast makes 0 of a negative number.
    Instant::from_origin(Duration::from_nanos((performance_now() * 1e6) as u64))
}

pub(super) fn random(bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
    getrandom::fill(bytes).map_err(|_| EntropyUnavailable)
}

impl Runtime for Host {
    fn now(&self) -> Instant {
        now()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        SendWrapper::new(callback::sleep(duration))
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        random(bytes)
    }

    fn spawn(&self, task: Task) {
        match &self.wait_until {
            Some(wait_until) => wait_until(task),
            None => executor::spawn(task),
        }
    }

    fn stay(&self) -> Option<Arc<dyn Send + Sync>> {
        let wait_until = self.wait_until.as_ref()?;
        let (open, is_first) = (self.open.clone(), self.open.is_over());
        let stay = open.begin();
        if is_first {
            wait_until(Box::pin(async move { open.over().await }));
        }
        Some(Arc::new(stay))
    }

    fn gone(&self) -> Option<Task> {
        let signal = self.signal.as_deref()?.clone();
        Some(Box::pin(SendWrapper::new(callback::aborted(signal))))
    }

    fn shared_waker(&self, waker: &Waker) -> Waker {
        executor::shared_waker(waker)
    }

    fn observe(&self, event: &Event<'_>) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }
}
