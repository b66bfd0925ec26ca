//! Calls of which some go through, and that hold nothing.

use edgelock::web::{self, Steps};
use wasm_bindgen::prelude::*;

use crate::convert::{duration, failure, perhaps_milliseconds};
use crate::lease::{plain, told};

/// Lets one call through in a window.
#[wasm_bindgen]
pub struct Throttle(web::Throttle);

/// Lets the last of the calls through that come close together.
#[wasm_bindgen]
pub struct Debounce(web::Debounce);

impl Throttle {
    pub(crate) fn new(client: &web::Client, name: &str, window_ms: f64) -> Result<Self, JsValue> {
        let throttle = duration(window_ms).and_then(|window| {
            let throttle = client.throttle(name, window);
            throttle.check().map(|()| throttle)
        });
        throttle.map(Self).map_err(|error| failure(&error))
    }
}

impl Debounce {
    pub(crate) fn new(
        client: &web::Client,
        name: &str,
        wait_ms: f64,
        max_wait_ms: Option<f64>,
    ) -> Result<Self, JsValue> {
        let build = || {
            let mut debounce = client.debounce(name, duration(wait_ms)?);
            if let Some(ms) = max_wait_ms {
                debounce = debounce.max_wait(duration(ms)?);
            }
            debounce.check().map(|()| debounce)
        };
        build().map(Self).map_err(|error| failure(&error))
    }
}

#[wasm_bindgen]
impl Throttle {
    /// For how many milliseconds no other passes, or `null` if this call did.
    #[wasm_bindgen(js_name = tryPass)]
    pub fn try_pass(&self) -> Steps {
        self.0
            .try_pass_steps(|passed| told(passed.map(perhaps_milliseconds)))
    }
}

#[wasm_bindgen]
impl Debounce {
    /// Before the work: whether it is to be done.
    pub fn settle(&self) -> Steps {
        self.0.settle_steps(plain)
    }
}
