//! Calls of which some go through, and that hold nothing.

use edgelock::web::driven::{self as web, Steps};
use wasm_bindgen::prelude::*;

use crate::convert::{checked, perhaps_milliseconds};
use crate::lease::plain;

/// A throttle or a debounce.
#[wasm_bindgen]
pub struct Paced(Kind);

enum Kind {
    Throttle(web::Throttle),
    Debounce(web::Debounce),
}

impl Paced {
    pub(crate) fn throttle(throttle: web::Throttle) -> Result<Self, JsValue> {
        checked(throttle.check())?;
        Ok(Self(Kind::Throttle(throttle)))
    }

    pub(crate) fn debounce(debounce: web::Debounce) -> Result<Self, JsValue> {
        checked(debounce.check())?;
        Ok(Self(Kind::Debounce(debounce)))
    }
}

#[wasm_bindgen]
impl Paced {
    /// One call. Of a throttle it comes to how many milliseconds no other passes, or to `null` if
    /// this call did. Of a debounce it comes before the work, and to whether that is to be done.
    pub fn call(&self) -> Steps {
        match &self.0 {
            Kind::Throttle(throttle) => {
                throttle.try_pass_steps(|passed| checked(passed.map(perhaps_milliseconds)))
            }
            Kind::Debounce(debounce) => debounce.settle_steps(plain),
        }
    }
}
