//! The client as JavaScript can hold it: three classes over those of the library, and plain data across the border.
//!
//! It is made to be called by the TypeScript in `npm/ts`, which has checked the types of what it passes. Nothing here panics on
//! what a caller passes, and no method keeps its object borrowed while it waits, so that calls may overlap.

#![cfg(target_family = "wasm")]

mod lease;
mod lock;
mod plain;

use edgelock::web::{Fetch, Host};
use edgelock::{Bridge, Error};
use js_sys::futures::{future_to_promise, spawn_local};
use js_sys::{Array, Function, Promise};
use wasm_bindgen::prelude::*;

pub use lease::Lease;
pub use lock::{Lock, Patience};

use plain::{commands, duration, event, failure, promise, replies};

/// Hands out locks that live behind one bridge.
#[wasm_bindgen]
pub struct Client(edgelock::Client<Fetch, Host>);

#[wasm_bindgen]
extern "C" {
    /// How a client is to be; what is left out is as the client has it by itself.
    pub type Settings;
    /// Of webdis, whose password is the credential; without one, the bridge is of Upstash's dialect.
    #[wasm_bindgen(method, getter)]
    fn user(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn prefix(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = requestTimeoutMs)]
    fn request_timeout_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter)]
    fn attempts(this: &Settings) -> Option<u32>;
    #[wasm_bindgen(method, getter)]
    fn push(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = scriptCache)]
    fn script_cache(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = keyLocking)]
    fn key_locking(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = plainHttp)]
    fn plain_http(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter)]
    fn fetch(this: &Settings) -> Option<Function>;
    #[wasm_bindgen(method, getter, js_name = waitUntil)]
    fn wait_until(this: &Settings) -> Option<Function>;
    #[wasm_bindgen(method, getter, js_name = onEvent)]
    fn on_event(this: &Settings) -> Option<Function>;
}

#[wasm_bindgen]
impl Client {
    /// A client of the bridge at `url`.
    ///
    /// # Errors
    /// `invalid_argument` for an address, a credential or a setting that cannot be one.
    #[wasm_bindgen(constructor)]
    pub fn new(url: &str, credential: &str, settings: Option<Settings>) -> Result<Self, JsValue> {
        Self::with(url, credential, settings.as_ref()).map_err(|error| failure(&error))
    }

    fn with(url: &str, credential: &str, settings: Option<&Settings>) -> Result<Self, Error> {
        let Some(settings) = settings else {
            let bridge = Bridge::upstash(url, credential)?;
            return Ok(Self(edgelock::web::client(bridge)));
        };
        let fetch = settings.fetch().map_or_else(Fetch::default, Fetch::with);
        let bridge = settings.bridge(url, credential)?;
        let mut client = edgelock::Client::new(bridge, fetch, settings.host());
        if let Some(prefix) = settings.prefix() {
            client = client.prefix(&prefix);
        }
        if let Some(ms) = settings.request_timeout_ms() {
            client = client.request_timeout(duration(ms)?);
        }
        if let Some(attempts) = settings.attempts() {
            client = client.attempts(attempts);
        }
        Ok(Self(client))
    }

    /// The lock called `name`, whose leases last `ttl_ms`, to be waited for as `patience` says.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a duration out of range.
    pub fn lock(
        &self,
        name: &str,
        ttl_ms: Option<f64>,
        patience: Option<Patience>,
    ) -> Result<Lock, JsValue> {
        let lock = self.0.lock(name);
        Lock::new(lock, ttl_ms, patience.as_ref())
    }

    /// The lock called `name` as `owner` may take it, again and again while it has it.
    ///
    /// # Errors
    /// As for a lock, and `invalid_argument` for an owner out of range.
    pub fn reentrant(
        &self,
        name: &str,
        owner: &str,
        ttl_ms: Option<f64>,
        patience: Option<Patience>,
    ) -> Result<Lock, JsValue> {
        let lock = self.0.reentrant(name, owner);
        Lock::new(lock, ttl_ms, patience.as_ref())
    }

    /// Runs commands that only read, without a lock.
    pub fn read(&self, reads: &Array) -> Promise {
        let (client, reads) = (self.0.clone(), commands(reads));
        promise(None, async move {
            client.read(&reads).await.map(|read| replies(&read).into())
        })
    }
}

impl Settings {
    fn bridge(&self, url: &str, credential: &str) -> Result<Bridge, Error> {
        let mut bridge = match (self.user(), self.plain_http().unwrap_or(false)) {
            (None, false) => Bridge::upstash(url, credential)?,
            (None, true) => Bridge::upstash_over_plain_http(url, credential)?,
            (Some(user), false) => Bridge::webdis(url, &user, credential)?,
            (Some(user), true) => Bridge::webdis_over_plain_http(url, &user, credential)?,
        };
        if let Some(on) = self.push() {
            bridge = bridge.push(on);
        }
        if let Some(on) = self.script_cache() {
            bridge = bridge.script_cache(on);
        }
        if let Some(on) = self.key_locking() {
            bridge = bridge.key_locking(on);
        }
        Ok(bridge)
    }

    fn host(&self) -> Host {
        let mut host = Host::default();
        if let Some(wait_until) = self.wait_until() {
            host = host.wait_until(move |task| {
                let done = future_to_promise(async move {
                    task.await;
                    Ok(JsValue::UNDEFINED)
                });
                // It goes on whatever the host says to that.
                let _ = wait_until.call1(&JsValue::UNDEFINED, &done);
            });
        }
        if let Some(on_event) = self.on_event() {
            host = host.on_event(move |happened| {
                let (on_event, event) = (on_event.clone(), event(happened));
                // Behind what goes on: an observer may call the client again.
                spawn_local(async move {
                    let _ = on_event.call1(&JsValue::UNDEFINED, &event);
                });
            });
        }
        host
    }
}
