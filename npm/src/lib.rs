//! The client for JavaScript. So far what the benchmark needs: the package itself is still to come.

#![cfg(target_family = "wasm")]

use std::time::Duration;

use edgelock::web::{Fetch, Host};
use edgelock::{Bridge, Runtime, Transport, web};
use js_sys::{Error, Reflect};
use wasm_bindgen::prelude::*;

/// Hands out locks that live behind one bridge.
#[wasm_bindgen]
pub struct Client(edgelock::Client<Fetch, Host>);

#[wasm_bindgen]
impl Client {
    /// A client of the Upstash-style bridge at `url`, whose waiters listen for their turn unless `push` is false.
    ///
    /// # Errors
    /// `invalid_argument` for an address or a credential that cannot be one.
    #[wasm_bindgen(constructor)]
    pub fn new(url: &str, credential: &str, push: Option<bool>) -> Result<Self, JsValue> {
        let bridge = Bridge::upstash(url, credential).map_err(to_js)?;
        Ok(Self(web::client(bridge.push(push.unwrap_or(true)))))
    }

    /// The lock called `name`, whose leases last `ttl_ms`, to be waited for as `patience` says.
    ///
    /// # Errors
    /// `invalid_argument` for a name or a ttl out of range.
    pub fn lock(
        &self,
        name: &str,
        ttl_ms: u32,
        patience: Option<Patience>,
    ) -> Result<Lock, JsValue> {
        let lock = self
            .0
            .lock(name)
            .and_then(|lock| lock.ttl(Duration::from_millis(ttl_ms.into())))
            .map_err(to_js)?;
        Ok(Lock(match patience {
            Some(patience) => patience.of(lock),
            None => lock,
        }))
    }
}

#[wasm_bindgen]
extern "C" {
    /// `{ waitMs?, maxRequests?, fair? }`; what is left out is as the client has it by itself.
    pub type Patience;
    #[wasm_bindgen(method, getter, js_name = waitMs)]
    fn wait_ms(this: &Patience) -> Option<u32>;
    #[wasm_bindgen(method, getter, js_name = maxRequests)]
    fn max_requests(this: &Patience) -> Option<u32>;
    #[wasm_bindgen(method, getter)]
    fn fair(this: &Patience) -> Option<bool>;
}

impl Patience {
    fn of<T: Transport, R: Runtime>(&self, mut lock: edgelock::Lock<T, R>) -> edgelock::Lock<T, R> {
        if let Some(ms) = self.wait_ms() {
            lock = lock.wait(Duration::from_millis(ms.into()));
        }
        if let Some(requests) = self.max_requests() {
            lock = lock.max_requests(requests);
        }
        lock.fair(self.fair().unwrap_or(false))
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

    /// Takes the lock as soon as it is free.
    ///
    /// # Errors
    /// `held` if the wait is over, or no request left; those of the bridge.
    pub async fn acquire(&self) -> Result<Lease, JsValue> {
        self.0.acquire().await.map(Lease).map_err(to_js)
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
