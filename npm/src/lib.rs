//! The client for JavaScript. So far what the benchmark needs: the package itself is still to come.

#![cfg(target_family = "wasm")]

use std::time::Duration;

use edgelock::web::{Fetch, Host};
use edgelock::{Bridge, web};
use js_sys::{Error, Reflect};
use wasm_bindgen::prelude::*;

/// Hands out locks that live behind one bridge.
#[wasm_bindgen]
pub struct Client(edgelock::Client<Fetch, Host>);

#[wasm_bindgen]
impl Client {
    /// A client of the Upstash-style bridge at `url`.
    ///
    /// # Errors
    /// `invalid_argument` for an address or a credential that cannot be one.
    #[wasm_bindgen(constructor)]
    pub fn new(url: &str, credential: &str) -> Result<Self, JsValue> {
        let bridge = Bridge::upstash(url, credential).map_err(to_js)?;
        Ok(Self(web::client(bridge)))
    }

    /// The lock called `name`, whose leases last `ttl_ms`.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a ttl out of range.
    pub fn lock(&self, name: &str, ttl_ms: u32) -> Result<Lock, JsValue> {
        let lock = self
            .0
            .lock(name)
            .and_then(|lock| lock.ttl(Duration::from_millis(ttl_ms.into())));
        lock.map(Lock).map_err(to_js)
    }
}

/// A name that one holder at a time may have.
#[wasm_bindgen]
pub struct Lock(edgelock::Lock<Fetch, Host>);

#[wasm_bindgen]
impl Lock {
    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// `held` if it is not; those of the bridge.
    #[wasm_bindgen(js_name = tryAcquire)]
    pub async fn try_acquire(&self) -> Result<Lease, JsValue> {
        self.0.try_acquire().await.map(Lease).map_err(to_js)
    }
}

/// A lock that is held.
#[wasm_bindgen]
pub struct Lease(edgelock::Lease<Fetch, Host>);

#[wasm_bindgen]
impl Lease {
    /// Grows with every lease of the name.
    #[wasm_bindgen(getter)]
    pub fn fence(&self) -> f64 {
        // Below 2^53, where every integer is exact.
        self.0.fence() as f64
    }

    /// Gives the lock back.
    ///
    /// # Errors
    /// `lost` if it was no longer held; those of the bridge.
    pub async fn release(&self) -> Result<(), JsValue> {
        self.0.release().await.map_err(to_js)
    }
}

fn to_js(error: edgelock::Error) -> JsValue {
    let value = Error::new(&error.to_string());
    // Setting a plain object's property cannot fail.
    let _ = Reflect::set(&value, &"code".into(), &error.code().into());
    value.into()
}
