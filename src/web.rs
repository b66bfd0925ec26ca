//! The hosts of the edge: `fetch`, timers, clock and randomness of Workers, Node, Deno, Bun, browsers.
//!
//! The only file that knows JavaScript, with `web/exchange.js`. It declares what it needs itself, because hosts differ in
//! details that ready-made bindings assert: timers are numbers in some and objects in others, and a dropped `fetch` goes on
//! unless it is aborted.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use js_sys::futures::{JsFuture, spawn_local};
use js_sys::{Function, Object, Promise};
use wasm_bindgen::prelude::*;

use crate::bridge::Bridge;
use crate::client::Client;
use crate::runtime::{Moment, NoRandomness, Runtime, Task};
use crate::transport::{Request, Response, Transport, TransportError};

#[wasm_bindgen(module = "/src/web/exchange.js")]
extern "C" {
    type Exchange;
    #[wasm_bindgen(constructor)]
    fn new(url: &str, headers: &Object, body: &str, body_limit: usize) -> Exchange;
    #[wasm_bindgen(method, getter)]
    fn answer(this: &Exchange) -> Promise;
    #[wasm_bindgen(method)]
    fn abort(this: &Exchange);

    type Answer;
    #[wasm_bindgen(method, getter)]
    fn failure(this: &Answer) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn message(this: &Answer) -> String;
    #[wasm_bindgen(method, getter)]
    fn status(this: &Answer) -> u16;
    #[wasm_bindgen(method, getter, js_name = retryAfter)]
    fn retry_after(this: &Answer) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn body(this: &Answer) -> String;
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout, catch)]
    fn set_timeout(callback: &Function, ms: f64) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);

    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
    fn get_random_values(bytes: &mut [u8]) -> Result<(), JsValue>;
}

/// A client for the host that this runs on.
pub fn client(bridge: Bridge) -> Client<Fetch, Host> {
    Client::new(bridge, Fetch::default(), Host::default())
}

/// The host's `fetch` as [`Transport`].
#[derive(Default)]
pub struct Fetch {
    /// The headers of the last request as JavaScript has them: they seldom change, and each costs two copies to convert.
    headers: RefCell<Option<Converted>>,
}

struct Converted {
    from: Vec<(&'static str, String)>,
    object: Object,
}

impl Transport for Fetch {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let headers = self.headers(request.headers);
        let exchange = Exchange::new(request.url, &headers, &request.body, request.body_limit);
        let exchange = AbortOnDrop {
            exchange,
            answered: Cell::new(false),
        };
        let answer = exchange.answer().await;
        match answer.failure().as_deref() {
            None => Ok(Response {
                status: answer.status(),
                retry_after: answer.retry_after(),
                body: answer.body().into_bytes(),
            }),
            Some("no response") => Err(TransportError::NoResponse(answer.message())),
            Some("too large") => Err(TransportError::TooLarge),
            Some(_) => Err(TransportError::BrokeOff(answer.message())),
        }
    }
}

impl Fetch {
    fn headers(&self, headers: &[(&'static str, String)]) -> Object {
        let mut cached = self.headers.borrow_mut();
        if let Some(converted) = cached
            .as_ref()
            .filter(|converted| converted.from == headers)
        {
            return converted.object.clone();
        }
        let object = Object::new();
        for (name, value) in headers {
            // Setting a plain object's property cannot fail.
            let _ = js_sys::Reflect::set(&object, &(*name).into(), &value.as_str().into());
        }
        *cached = Some(Converted {
            from: headers.to_vec(),
            object: object.clone(),
        });
        object
    }
}

/// A dropped future alone would let its `fetch` go on.
struct AbortOnDrop {
    exchange: Exchange,
    answered: Cell<bool>,
}

impl AbortOnDrop {
    async fn answer(&self) -> Answer {
        // The promise never rejects: failures are answers.
        let answer = JsFuture::from(self.exchange.answer()).await;
        self.answered.set(true);
        answer.unwrap_or_default().unchecked_into()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if !self.answered.get() {
            self.exchange.abort();
        }
    }
}

/// Clock, timers, randomness and background of the host as [`Runtime`].
#[derive(Default)]
pub struct Host {
    wait_until: Option<Rc<dyn Fn(Task)>>,
    /// Alarms that are not set now. Each request needs one, and to show one to JavaScript costs more than to set it.
    idle: Rc<RefCell<Vec<Alarm>>>,
}

impl Host {
    /// Gives background work to `wait_until`, so that it outlives the response. In a Worker:
    /// `Host::default().wait_until(move |task| context.wait_until(task))`. Without it the work is merely spawned, and hosts that
    /// stop at the response stop it too.
    #[must_use]
    pub fn wait_until(mut self, wait_until: impl Fn(Task) + 'static) -> Self {
        self.wait_until = Some(Rc::new(wait_until));
        self
    }
}

impl Runtime for Host {
    fn now(&self) -> Moment {
        Moment::from_origin(Duration::from_secs_f64(
            (performance_now() / 1000.0).max(0.0),
        ))
    }

    async fn sleep(&self, duration: Duration) {
        let mut left = duration;
        loop {
            let part = left.min(LONGEST_TIMER);
            Timer::set(self, part).elapsed().await;
            left -= part;
            if left.is_zero() {
                return;
            }
        }
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        get_random_values(bytes).map_err(|_| NoRandomness)
    }

    fn spawn(&self, task: Task) {
        match &self.wait_until {
            Some(wait_until) => wait_until(task),
            None => spawn_local(task),
        }
    }
}

/// Hosts keep timers as signed 32-bit milliseconds, and fire longer ones at once.
const LONGEST_TIMER: Duration = Duration::from_millis(i32::MAX as u64);

/// What a timer of the host calls.
struct Alarm {
    state: Rc<RefCell<AlarmState>>,
    callback: Closure<dyn FnMut()>,
}

#[derive(Default)]
struct AlarmState {
    rang: bool,
    waker: Option<Waker>,
}

impl Alarm {
    fn new() -> Self {
        let state = Rc::new(RefCell::new(AlarmState::default()));
        let rings = state.clone();
        let callback = Closure::new(move || {
            let waker = {
                let mut state = rings.borrow_mut();
                state.rang = true;
                state.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self { state, callback }
    }
}

/// A timer of the host that stops when it is dropped.
struct Timer {
    alarm: Option<Alarm>,
    id: JsValue,
    idle: Rc<RefCell<Vec<Alarm>>>,
}

impl Timer {
    fn set(host: &Host, duration: Duration) -> Self {
        let alarm = host.idle.borrow_mut().pop().unwrap_or_else(Alarm::new);
        let ms = (duration.as_secs_f64() * 1000.0).ceil();
        let id = set_timeout(alarm.callback.as_ref().unchecked_ref(), ms).unwrap_or(JsValue::NULL);
        Self {
            alarm: Some(alarm),
            id,
            idle: host.idle.clone(),
        }
    }

    async fn elapsed(&self) {
        poll_fn(|cx| {
            let Some(alarm) = &self.alarm else {
                return Poll::Ready(());
            };
            let mut state = alarm.state.borrow_mut();
            if state.rang {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.id);
        if let Some(alarm) = self.alarm.take() {
            *alarm.state.borrow_mut() = AlarmState::default();
            self.idle.borrow_mut().push(alarm);
        }
    }
}
