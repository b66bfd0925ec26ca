//! The host's clock, timers, randomness and background work, as a runtime.

use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use wasm_bindgen::prelude::*;

use super::{call, callback, executor};
use crate::event::Event;
use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// The host's clock, timers, randomness and background work as [`Runtime`].
#[derive(Default)]
pub struct Host {
    wait_until: Option<Rc<dyn Fn(Task)>>,
    on_event: Option<Box<OnEvent>>,
}

type OnEvent = dyn Fn(&Event<'_>);

impl Host {
    /// Gives background work to `wait_until`, so that it outlives the response. In a Worker:
    /// `Host::default().wait_until(move |task| context.wait_until(task))`. Without it the work is
    /// only spawned, and a host that stops at the response stops that work too.
    #[must_use]
    pub fn wait_until(mut self, wait_until: impl Fn(Task) + 'static) -> Self {
        self.wait_until = Some(Rc::new(wait_until));
        self
    }

    /// Passes everything that happens to the locks of this host's client to `on_event`, at that
    /// moment: for logs and metrics.
    #[must_use]
    pub fn on_event(mut self, on_event: impl Fn(&Event<'_>) + 'static) -> Self {
        self.on_event = Some(Box::new(on_event));
        self
    }
}

impl Runtime for Host {
    fn now(&self) -> Instant {
        // The cast makes 0 of a negative number.
        Instant::from_origin(Duration::from_nanos((performance_now() * 1e6) as u64))
    }

    async fn sleep(&self, duration: Duration) {
        callback::sleep(duration).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        getrandom::fill(bytes).map_err(|_| EntropyUnavailable)
    }

    fn spawn(&self, task: Task) {
        match &self.wait_until {
            Some(wait_until) => wait_until(task),
            None => executor::spawn(task),
        }
    }

    fn shared_waker(&self, waker: &Waker) -> Waker {
        call::waker(waker)
    }

    fn observe(&self, event: &Event<'_>) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }
}
