//! The client as JavaScript can hold it: six classes over those of the library, and plain data
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
use edgelock::web::driven::{self as web, Bridge, Outside, Say, Sent, Steps};
use js_sys::{Array, Function};
use wasm_bindgen::prelude::*;

pub use lease::Lease;
pub use lock::{Acquisition, Lock};
pub use once::Once;
pub use paced::Paced;

use convert::{checked, commands, count, duration, event, texts, time, values};
use lease::all;

/// Half of the size of the default one.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Hands out locks that live behind one bridge.
#[wasm_bindgen]
pub struct Client(web::Client);

#[wasm_bindgen]
impl Client {
    /// A client of one bridge, or of several: by their majority, or by name if they have ids.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid address, credential or setting.
    #[wasm_bindgen(constructor)]
    pub fn new(bridges: &Array, is_quorum: bool, settings: &Array) -> Result<Self, JsValue> {
        checked(Self::with(bridges, is_quorum, settings)).map(Self)
    }

    /// A lock of any kind. `kind` is a `RawKind`, whose first place is a number of `Kind`; the rest
    /// is a `RawLockConfig`. What is left out has the client's default.
    ///
    /// # Errors
    /// `invalid_argument` for a name, an owner, permits or an option out of range.
    #[allow(
        clippy::too_many_arguments,
        reason = "a tuple is slower, as npm/ts/raw.ts says"
    )]
    pub fn lock(
        &self,
        kind: &Array,
        ttl_ms: Option<f64>,
        wait_ms: Option<f64>,
        max_requests: Option<u32>,
        fair: Option<bool>,
        signal_list: Option<String>,
        label: Option<String>,
        replicas: Option<u32>,
        replicas_within_ms: Option<f64>,
    ) -> Result<Lock, JsValue> {
        let mut lock = self.lock_of(kind);
        if let Some(ms) = ttl_ms {
            lock = lock.ttl(duration(ms));
        }
        if let Some(ms) = wait_ms {
            lock = lock.wait_timeout(duration(ms));
        }
        if let Some(requests) = max_requests {
            lock = lock.max_requests(requests);
        }
        if let Some(key) = signal_list {
            lock = lock.signal_list(key);
        }
        if let Some(label) = label {
            lock = lock.label(&label);
        }
        if let (Some(count), Some(ms)) = (replicas, replicas_within_ms) {
            lock = lock.wait_for_replicas(count, duration(ms));
        }
        if let Some(fair) = fair {
            lock = lock.fair(fair);
        }
        checked(lock.check())?;
        Ok(Lock::new(lock))
    }

    fn lock_of(&self, kind: &Array) -> web::Lock {
        let Self(client) = self;
        let [kind, of, more] = values(kind);
        let name = of.as_string().unwrap_or_default();
        match count(&kind) {
            Some(1) => client.reentrant(&name, &more.as_string().unwrap_or_default()),
            Some(2) => client.semaphore(&name, count(&more).unwrap_or_default()),
            Some(3) => client.read_write(&name).read(),
            Some(4) => client.read_write(&name).write(),
            Some(5) => client.lock_all(texts(&of)),
            _ => client.lock(&name),
        }
    }

    /// Work that is executed once for `key`, as `config` has it.
    ///
    /// # Errors
    /// As for a lock, and `invalid_argument` for what cannot be kept so.
    pub fn once(&self, key: &str, config: &Array) -> Result<Once, JsValue> {
        Once::new(self.0.once(key), config)
    }

    /// Lets one call through in each window of so many milliseconds.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a window out of range.
    pub fn throttle(&self, name: &str, window_ms: f64) -> Result<Paced, JsValue> {
        Paced::throttle(self.0.throttle(name, duration(window_ms)))
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
    ) -> Result<Paced, JsValue> {
        let mut debounce = self.0.debounce(name, duration(wait_ms));
        if let Some(ms) = max_wait_ms {
            debounce = debounce.max_wait(duration(ms));
        }
        Paced::debounce(debounce)
    }

    /// Runs commands that only read, without a lock; where the lock of the name `shard_of` lives,
    /// if that is not one place for all. With `tells_each` the reply to one that failed is its
    /// error.
    pub fn read(&self, reads: &Array, shard_of: Option<String>, tells_each: bool) -> Steps {
        let client = match shard_of {
            Some(name) => self.0.shard_of(&name),
            None => self.0.clone(),
        };
        let reads = commands(reads);
        client.read_steps(&reads, tells_each, all)
    }
}

impl Client {
    /// `configs` are `RawBridgeConfig`s, and `settings` are a `RawSettings`. What it does not set
    /// has the default.
    fn with(configs: &Array, is_quorum: bool, settings: &Array) -> Result<web::Client, Error> {
        let [
            prefix,
            request_timeout,
            max_attempts,
            quarantine,
            fence_life,
            on_event,
        ] = values(settings);
        let (mut ids, mut bridges) = (Vec::new(), Vec::new());
        for config in configs.iter() {
            let [
                url,
                secret,
                user,
                push,
                script_cache,
                key_locking,
                plain_http,
                id,
            ] = values(&config.into());
            let [url, secret] = [url, secret].map(|text| text.as_string().unwrap_or_default());
            let mut bridge = match (user.as_string(), plain_http.as_bool() == Some(true)) {
                (None, false) => Bridge::upstash(&url, &secret)?,
                (None, true) => Bridge::upstash_over_plain_http(&url, &secret)?,
                (Some(user), false) => Bridge::webdis(&url, &user, &secret)?,
                (Some(user), true) => Bridge::webdis_over_plain_http(&url, &user, &secret)?,
            };
            if let Some(on) = push.as_bool() {
                bridge = bridge.push(on);
            }
            if let Some(on) = script_cache.as_bool() {
                bridge = bridge.script_cache(on);
            }
            if let Some(on) = key_locking.as_bool() {
                bridge = bridge.key_locking(on);
            }
            ids.extend(id.as_string());
            bridges.push(bridge);
        }
        let (sent, host) = (Sent::default(), Outside(listener(on_event)));
        let mut client = match bridges.as_slice() {
            _ if is_quorum => edgelock::Client::quorum(bridges, sent, host)?,
            [bridge] if ids.is_empty() => edgelock::Client::new(bridge.clone(), sent, host),
            _ => edgelock::Client::sharded(ids.into_iter().zip(bridges), sent, host)?,
        };
        if let Some(prefix) = prefix.as_string() {
            client = client.prefix(&prefix);
        }
        if let Some(timeout) = time(&request_timeout) {
            client = client.request_timeout(timeout);
        }
        if let Some(quarantine) = time(&quarantine) {
            client = client.restart_quarantine(quarantine);
        }
        if let Some(life) = time(&fence_life) {
            client = client.fence_life(life);
        }
        if let Some(attempts) = count(&max_attempts) {
            client = client.max_attempts(attempts);
        }
        Ok(client)
    }
}

fn listener(on_event: JsValue) -> Option<(Function, Say)> {
    (!on_event.is_undefined()).then(|| (Function::from(on_event), event as Say))
}
