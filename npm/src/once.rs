//! Work that is executed once, and whose result is kept.

use edgelock::Error;
use edgelock::web::{self, Steps};
use wasm_bindgen::prelude::*;

use crate::convert::{duration, failure};
use crate::lease::{Lease, all, told};

/// Work that is executed once for a key.
#[wasm_bindgen]
pub struct Once(web::Once);

#[wasm_bindgen]
extern "C" {
    /// The options of the work and of its result. A missing option has the client's default.
    pub type Keeping;
    #[wasm_bindgen(method, getter, js_name = keepMs)]
    fn keep_ms(this: &Keeping) -> Option<f64>;
    #[wasm_bindgen(method, getter)]
    fn fingerprint(this: &Keeping) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = maxBytes)]
    fn max_bytes(this: &Keeping) -> Option<u32>;
    #[wasm_bindgen(method, getter, js_name = ttlMs)]
    fn ttl_ms(this: &Keeping) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = waitMs)]
    fn wait_ms(this: &Keeping) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = maxRequests)]
    fn max_requests(this: &Keeping) -> Option<u32>;
}

impl Once {
    pub(crate) fn new(mut once: web::Once, keeping: &Keeping) -> Result<Self, JsValue> {
        let build = || {
            if let Some(ms) = keeping.keep_ms() {
                once = once.keep(duration(ms)?);
            }
            if let Some(fingerprint) = keeping.fingerprint() {
                once = once.fingerprint(&fingerprint);
            }
            if let Some(bytes) = keeping.max_bytes() {
                once = once.max_bytes(bytes as usize);
            }
            if let Some(ms) = keeping.ttl_ms() {
                once = once.ttl(duration(ms)?);
            }
            if let Some(ms) = keeping.wait_ms() {
                once = once.wait(duration(ms)?);
            }
            if let Some(requests) = keeping.max_requests() {
                once = once.max_requests(requests);
            }
            once.check().map(|()| once)
        };
        build().map(Self).map_err(|error: Error| failure(&error))
    }
}

#[wasm_bindgen]
impl Once {
    /// Before the work: a lease under which it is to be done, or the text that is kept of it.
    pub fn begin(&self) -> Steps {
        self.0.begin_steps(|begun| {
            told(begun.map(|begun| match begun {
                Ok(lease) => Lease::held(lease),
                Err(kept) => kept.into(),
            }))
        })
    }

    /// Behind the work: stores what it came to, and gives the lock back.
    ///
    /// # Errors
    /// `result_too_large`.
    pub fn store(&self, lease: &Lease, result: &str) -> Result<Steps, JsValue> {
        let stored = self.0.store(lease.inner(), result, all);
        stored.map_err(|error| failure(&error))
    }
}
