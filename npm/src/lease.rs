//! A lock that is held.

use edgelock::web::driven::{Held, JsOutcome, Steps, Writes};
use edgelock::{Error, Reply};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::convert::{checked, commands, duration, replies};

/// A lock that is held. One that JavaScript forgets is left to its ttl.
#[wasm_bindgen]
pub struct Lease(Held);

impl Lease {
    pub(crate) fn held(held: Held) -> JsValue {
        Self(held).into()
    }

    pub(crate) const fn inner(&self) -> &Held {
        &self.0
    }
}

#[wasm_bindgen]
impl Lease {
    /// Grows with every lease of the name.
    #[wasm_bindgen(getter)]
    pub fn fence(&self) -> f64 {
        // Below 2^53, where every integer is exact.
        self.0.fence() as f64
    }

    /// The proof of this acquisition.
    #[wasm_bindgen(getter)]
    pub fn token(&self) -> String {
        self.0.token().expose().to_owned()
    }

    /// Milliseconds that the lease surely lasts yet, to the fraction of one.
    #[wasm_bindgen(getter)]
    pub fn remaining(&self) -> f64 {
        self.0.remaining().as_secs_f64() * 1000.0
    }

    /// Gives the lease its full ttl again, or `ttl_ms` this once.
    pub fn renew(&self, ttl_ms: Option<f64>) -> Steps {
        self.0.write(Writes::Renew(ttl_ms.map(duration)), all)
    }

    /// Goes on as a reader, of a writer's lease.
    pub fn downgrade(&self) -> Steps {
        self.0.write(Writes::Downgrade, all)
    }

    /// Runs commands if the lease is still held, and renews it: their replies.
    pub fn exec(&self, list: &Array) -> Steps {
        self.0.write(Writes::Exec(commands(list)), all)
    }

    /// Runs commands if the lease is still held, and releases it: their replies.
    pub fn commit(&self, list: &Array) -> Steps {
        self.0.write(Writes::Commit(commands(list)), all)
    }

    /// As `commit`. The reply to a command that failed is its error.
    #[wasm_bindgen(js_name = commitEach)]
    pub fn commit_each(&self, list: &Array) -> Steps {
        self.0.write(Writes::CommitEach(commands(list)), all)
    }

    /// Gives the lock back.
    pub fn release(&self) -> Steps {
        self.0.write(Writes::Release, all)
    }

    /// Has it kept for one work at a time, until [`Lease::quit_keeping`].
    ///
    /// # Errors
    /// `busy` if it is kept already; why it is over, if it is.
    #[wasm_bindgen(js_name = startKeeping)]
    pub fn start_keeping(&self) -> Result<(), JsValue> {
        checked(self.0.start_keeping())
    }

    /// Nobody keeps it any more.
    #[wasm_bindgen(js_name = quitKeeping)]
    pub fn quit_keeping(&self) {
        self.0.quit_keeping();
    }

    /// Before the work: until when it is kept at most, for [`Lease::keep`].
    #[wasm_bindgen(js_name = beginKeeping)]
    pub fn begin_keeping(&self, max_hold_ms: Option<f64>) -> Steps {
        self.0.begin_keeping(max_hold_ms.map(duration), plain)
    }

    /// Renews it beside the work. Returns a number: why there is nothing left to renew, 0 if it was
    /// given back.
    pub fn keep(&self, until_ms: f64) -> Steps {
        self.0.keep(until_ms, plain)
    }

    /// Gives it back behind the work, or because of the number that [`Lease::keep`] came to.
    #[wasm_bindgen(js_name = endKeeping)]
    pub fn end_keeping(&self, why: u32) -> Steps {
        self.0.end_keeping(why as usize, |ended| {
            checked(ended.map(|()| JsValue::UNDEFINED))
        })
    }

    /// Ends the lease here, and leaves the lock held: the token.
    ///
    /// # Errors
    /// `busy` while a write is under way; why the lease is over, if it is.
    #[wasm_bindgen(js_name = handOver)]
    pub fn hand_over(&self) -> Result<String, JsValue> {
        let token = checked(self.0.hand_over())?;
        Ok(token.expose().to_owned())
    }

    /// What gives the lock back in the background, unless nothing is to be given back.
    #[wasm_bindgen(js_name = giveBack)]
    pub fn give_back(&self) -> Option<Steps> {
        self.0.give_back()
    }
}

pub(crate) fn all(outcome: Result<Vec<Reply>, Error>) -> JsOutcome {
    checked(outcome.map(|read| replies(&read).into()))
}

pub(crate) fn plain(outcome: Result<impl Into<JsValue>, Error>) -> JsOutcome {
    checked(outcome).map(Into::into)
}
