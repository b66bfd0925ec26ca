//! The client as JavaScript can hold it: seven classes over those of the library, and plain data
//! across the border.
//!
//! It is made to be called by the TypeScript in `npm/ts`, which has checked the types of what it
//! passes. Nothing here panics on what a caller passes, and no method keeps its object borrowed
//! while it waits, so that calls may overlap.

#![cfg(target_family = "wasm")]

mod convert;
mod lease;
mod lock;
mod once;
mod paced;

use edgelock::Error;
use edgelock::web::{self, Bridge, Fetch, Host, Steps};
use js_sys::{Array, Function};
use wasm_bindgen::prelude::*;

pub use lease::Lease;
pub use lock::{Acquisition, Lock, LockConfig};
pub use once::{Keeping, Once};
pub use paced::{Debounce, Throttle};

use convert::{commands, duration, event, failure};
use lease::all;

/// Half of the size of the default one.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Hands out locks that live behind one bridge.
#[wasm_bindgen]
pub struct Client(web::Client);

#[wasm_bindgen]
extern "C" {
    /// How a client is to be; what is left out is as the client has it by default.
    pub type Settings;
    #[wasm_bindgen(method, getter)]
    fn prefix(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = requestTimeoutMs)]
    fn request_timeout_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = maxAttempts)]
    fn max_attempts(this: &Settings) -> Option<u32>;
    #[wasm_bindgen(method, getter)]
    fn push(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = scriptCache)]
    fn script_cache(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = quarantineMs)]
    fn quarantine_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = keyLocking)]
    fn key_locking(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = plainHttp)]
    fn plain_http(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = onEvent)]
    fn on_event(this: &Settings) -> Option<Function>;

    /// Where a bridge is, and what proves that one may use it.
    pub type BridgeConfig;
    /// The bridge's id, if names are spread over several.
    #[wasm_bindgen(method, getter)]
    fn id(this: &BridgeConfig) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn url(this: &BridgeConfig) -> String;
    #[wasm_bindgen(method, getter)]
    fn secret(this: &BridgeConfig) -> String;
    /// The user of a webdis, whose password is the secret. Without a user, the bridge is of
    /// Upstash's dialect.
    #[wasm_bindgen(method, getter)]
    fn user(this: &BridgeConfig) -> Option<String>;
}

#[wasm_bindgen]
impl Client {
    /// A client of one bridge, or of several: by their majority, or by name if they have ids.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid address, credential or setting.
    #[wasm_bindgen(constructor)]
    pub fn new(
        roads: Vec<BridgeConfig>,
        is_quorum: bool,
        settings: &Settings,
    ) -> Result<Self, JsValue> {
        Self::with(roads, is_quorum, settings).map_err(|error| failure(&error))
    }

    fn with(roads: Vec<BridgeConfig>, is_quorum: bool, settings: &Settings) -> Result<Self, Error> {
        let fetch = Fetch::default();
        let host = settings.host();
        let is_spread = roads.iter().any(|road| road.id().is_some());
        let bridges = roads
            .iter()
            .map(|road| Ok((road.id().unwrap_or_default(), settings.bridge(road)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut alone = bridges.iter().map(|(_, bridge)| bridge.clone());
        let client = match alone.next().filter(|_| !is_spread && !is_quorum) {
            Some(bridge) => edgelock::Client::new(bridge, fetch, host),
            None if is_quorum => {
                let bridges = bridges.into_iter().map(|(_, bridge)| bridge);
                edgelock::Client::quorum(bridges, fetch, host)?
            }
            None => edgelock::Client::sharded(bridges, fetch, host)?,
        };
        settings.apply(client).map(Self)
    }

    /// The lock called `name`, whose leases last `ttl_ms`, to be waited for as `patience` says.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a duration out of range.
    pub fn lock(
        &self,
        name: &str,
        ttl_ms: Option<f64>,
        patience: Option<LockConfig>,
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
        patience: Option<LockConfig>,
    ) -> Result<Lock, JsValue> {
        let lock = self.0.reentrant(name, owner);
        Lock::new(lock, ttl_ms, patience.as_ref())
    }

    /// The semaphore called `name`, of which so many permits may be held at once.
    ///
    /// # Errors
    /// As for a lock, and `invalid_argument` if there are no permits.
    pub fn semaphore(
        &self,
        name: &str,
        permits: u32,
        ttl_ms: Option<f64>,
        patience: Option<LockConfig>,
    ) -> Result<Lock, JsValue> {
        let lock = self.0.semaphore(name, permits);
        Lock::new(lock, ttl_ms, patience.as_ref())
    }

    /// The read/write lock called `name`, to read or to write.
    ///
    /// # Errors
    /// As for a lock.
    #[wasm_bindgen(js_name = readWrite)]
    pub fn read_write(
        &self,
        name: &str,
        reads: bool,
        ttl_ms: Option<f64>,
        patience: Option<LockConfig>,
    ) -> Result<Lock, JsValue> {
        let read_write = self.0.read_write(name);
        let lock = match reads {
            true => read_write.read(),
            false => read_write.write(),
        };
        Lock::new(lock, ttl_ms, patience.as_ref())
    }

    /// Several names at once, all or none.
    ///
    /// # Errors
    /// As for a lock, and `invalid_argument` for names that cannot be locked at once.
    #[wasm_bindgen(js_name = lockAll)]
    pub fn lock_all(
        &self,
        names: Vec<String>,
        ttl_ms: Option<f64>,
        patience: Option<LockConfig>,
    ) -> Result<Lock, JsValue> {
        let lock = self.0.lock_all(names);
        Lock::new(lock, ttl_ms, patience.as_ref())
    }

    /// Work that is executed once for `key`, as `keeping` has it.
    ///
    /// # Errors
    /// As for a lock, and `invalid_argument` for what cannot be kept so.
    pub fn once(&self, key: &str, keeping: &Keeping) -> Result<Once, JsValue> {
        Once::new(self.0.once(key), keeping)
    }

    /// Lets one call through in each window of so many milliseconds.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a window out of range.
    pub fn throttle(&self, name: &str, window_ms: f64) -> Result<Throttle, JsValue> {
        Throttle::new(&self.0, name, window_ms)
    }

    /// Lets the last of the calls through that come less than so many milliseconds after each
    /// other.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a wait out of range.
    pub fn debounce(
        &self,
        name: &str,
        wait_ms: f64,
        max_wait_ms: Option<f64>,
    ) -> Result<Debounce, JsValue> {
        Debounce::new(&self.0, name, wait_ms, max_wait_ms)
    }

    /// Runs commands that only read, without a lock; where the lock of the name `shard_of` lives,
    /// if that is not one place for all.
    pub fn read(&self, reads: &Array, shard_of: Option<String>) -> Steps {
        let client = match shard_of {
            Some(name) => self.0.shard_of(&name),
            None => self.0.clone(),
        };
        let reads = commands(reads);
        client.read_steps(&reads, all)
    }
}

impl Settings {
    fn bridge(&self, road: &BridgeConfig) -> Result<Bridge, Error> {
        let (url, secret) = (road.url(), road.secret());
        let mut bridge = match (road.user(), self.plain_http().unwrap_or(false)) {
            (None, false) => Bridge::upstash(&url, &secret)?,
            (None, true) => Bridge::upstash_over_plain_http(&url, &secret)?,
            (Some(user), false) => Bridge::webdis(&url, &user, &secret)?,
            (Some(user), true) => Bridge::webdis_over_plain_http(&url, &user, &secret)?,
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

    fn apply(&self, mut client: web::Client) -> Result<web::Client, Error> {
        if let Some(prefix) = self.prefix() {
            client = client.prefix(&prefix);
        }
        if let Some(ms) = self.request_timeout_ms() {
            client = client.request_timeout(duration(ms)?);
        }
        if let Some(ms) = self.quarantine_ms() {
            client = client.restart_quarantine(duration(ms)?);
        }
        if let Some(attempts) = self.max_attempts() {
            client = client.max_attempts(attempts);
        }
        Ok(client)
    }

    fn host(&self) -> Host {
        let mut host = Host::default();
        if let Some(on_event) = self.on_event() {
            host = host.on_event(move |happened| {
                // It only notes the event, and cannot fail.
                let _ = on_event.call1(&JsValue::UNDEFINED, &event(happened));
            });
        }
        host
    }
}
