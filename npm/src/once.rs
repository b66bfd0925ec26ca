//! Work that is executed once, and whose result is kept.

use edgelock::web::driven::{self as web, Steps};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::convert::{checked, count, time, values};
use crate::lease::{Lease, all, plain};

/// Work that is executed once for a key.
#[wasm_bindgen]
pub struct Once(web::Once);

impl Once {
    /// `config` is a `RawOnceConfig`. What it does not set has the client's default.
    pub(crate) fn new(mut once: web::Once, config: &Array) -> Result<Self, JsValue> {
        let [keep, fingerprint, max_bytes, ttl, wait, max_requests] = values(config);
        if let Some(keep) = time(&keep) {
            once = once.keep(keep);
        }
        if let Some(fingerprint) = fingerprint.as_string() {
            once = once.fingerprint(&fingerprint);
        }
        if let Some(bytes) = count(&max_bytes) {
            once = once.max_bytes(bytes as usize);
        }
        if let Some(ttl) = time(&ttl) {
            once = once.ttl(ttl);
        }
        if let Some(wait) = time(&wait) {
            once = once.wait_timeout(wait);
        }
        if let Some(requests) = count(&max_requests) {
            once = once.max_requests(requests);
        }
        checked(once.check())?;
        Ok(Self(once))
    }
}

#[wasm_bindgen]
impl Once {
    /// Before the work: a lease under which it is to be done, or the text that is kept of it.
    pub fn begin(&self) -> Steps {
        self.0.begin_steps(|begun| {
            checked(begun.map(|begun| match begun {
                Ok(lease) => Lease::held(lease),
                Err(kept) => kept.into(),
            }))
        })
    }

    /// Forgets what is kept; whether anything was.
    pub fn forget(&self) -> Steps {
        self.0.forget_steps(plain)
    }

    /// Behind the work: stores what it came to, and gives the lock back.
    ///
    /// # Errors
    /// `result_too_large`.
    pub fn store(&self, lease: &Lease, result: &str) -> Result<Steps, JsValue> {
        checked(self.0.store(lease.inner(), result, all))
    }
}
