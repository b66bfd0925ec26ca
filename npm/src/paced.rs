//! Calls of which some go through, and that hold nothing.

use edgelock::web::{self, Steps};
use wasm_bindgen::prelude::*;

use crate::convert::{checked, perhaps_milliseconds};
use crate::lease::plain;

/// Lets one call through in a window.
#[wasm_bindgen]
pub struct Throttle(web::Throttle);

/// Lets the last of the calls through that come close together.
#[wasm_bindgen]
pub struct Debounce(web::Debounce);

impl Throttle {
    pub(crate) fn new(throttle: web::Throttle) -> Result<Self, JsValue> {
        checked(throttle.check())?;
        Ok(Self(throttle))
    }
}

impl Debounce {
    pub(crate) fn new(debounce: web::Debounce) -> Result<Self, JsValue> {
        checked(debounce.check())?;
        Ok(Self(debounce))
    }
}

#[wasm_bindgen]
impl Throttle {
    /// For how many milliseconds no other passes, or `null` if this call did.
    #[wasm_bindgen(js_name = tryPass)]
    pub fn try_pass(&self) -> Steps {
        self.0
            .try_pass_steps(|passed| checked(passed.map(perhaps_milliseconds)))
    }
}

#[wasm_bindgen]
impl Debounce {
    /// Before the work: whether it is to be done.
    pub fn settle(&self) -> Steps {
        self.0.settle_steps(plain)
    }
}
