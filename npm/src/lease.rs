//! A lock that is held.

use std::cell::Cell;
use std::rc::Rc;

use edgelock::web::{self, settled};
use edgelock::{Command, Error, Reply};
use js_sys::{Array, Function, Promise};
use wasm_bindgen::prelude::*;

use crate::plain::{commands, duration, failure, promise, replies};

/// A lock that is held.
#[wasm_bindgen]
pub struct Lease(Rc<Held>);

/// JavaScript may forget a lease while its holder still counts on the ttl, and the garbage collector must not be who ends it: so it
/// is released only where that was asked for.
struct Held {
    lease: Option<web::Lease>,
    give_back: Cell<bool>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take()
            && !self.give_back.get()
        {
            lease.into_token();
        }
    }
}

impl Held {
    fn lease(&self) -> Result<&web::Lease, Error> {
        // There until it is dropped.
        self.lease.as_ref().ok_or_else(|| Error::Released {
            lock: String::new(),
        })
    }
}

impl Lease {
    pub(crate) fn held(lease: web::Lease) -> JsValue {
        let held = Held {
            lease: Some(lease),
            give_back: Cell::new(false),
        };
        Self(Rc::new(held)).into()
    }

    fn write<F>(
        &self,
        list: &Array,
        aborted: Option<Promise>,
        call: impl FnOnce(Rc<Held>, Vec<Command>) -> F + 'static,
    ) -> Promise
    where
        F: Future<Output = Result<Vec<Reply>, Error>> + 'static,
    {
        let written = call(self.0.clone(), commands(list));
        promise(aborted, async move { Ok(replies(&written.await?).into()) })
    }
}

/// Those that wait end, as if their futures were dropped, when `aborted` is settled.
#[wasm_bindgen]
impl Lease {
    /// Grows with every lease of the name.
    #[wasm_bindgen(getter)]
    pub fn fence(&self) -> f64 {
        // Below 2^53, where every integer is exact.
        self.0.lease().map_or(0.0, |lease| lease.fence() as f64)
    }

    /// The proof of this acquisition.
    #[wasm_bindgen(getter)]
    pub fn token(&self) -> String {
        let token = self.0.lease().map(edgelock::Lease::token);
        token.map_or_else(|_| String::new(), |token| token.expose().to_owned())
    }

    /// Milliseconds that the lease surely lasts yet, to the fraction of one.
    #[wasm_bindgen(getter)]
    pub fn remaining(&self) -> f64 {
        let lease = self.0.lease();
        lease.map_or(0.0, |lease| lease.remaining().as_secs_f64() * 1000.0)
    }

    /// Gives the lease its full ttl again, or `ttl_ms` this once.
    pub fn renew(&self, ttl_ms: Option<f64>, aborted: Option<Promise>) -> Promise {
        let held = self.0.clone();
        promise(aborted, async move {
            let lease = held.lease()?;
            match ttl_ms {
                Some(ms) => lease.renew_for(duration(ms)?).await?,
                None => lease.renew().await?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Runs commands if the lease is still held, and renews it: their replies.
    pub fn exec(&self, commands: &Array, aborted: Option<Promise>) -> Promise {
        self.write(commands, aborted, async |held, commands| {
            held.lease()?.exec(&commands).await
        })
    }

    /// Runs commands if the lease is still held, and releases it: their replies.
    pub fn commit(&self, commands: &Array, aborted: Option<Promise>) -> Promise {
        self.write(commands, aborted, async |held, commands| {
            held.lease()?.commit(&commands).await
        })
    }

    /// Gives the lock back.
    pub fn release(&self, aborted: Option<Promise>) -> Promise {
        let held = self.0.clone();
        promise(aborted, async move {
            held.lease()?.release().await.map(|()| JsValue::UNDEFINED)
        })
    }

    /// Renews the lease until the promise that `begin` returns is settled, and releases it then. If it is not held, `begin` is not
    /// called.
    pub fn keep(&self, begin: Function, max_hold_ms: Option<f64>) -> Promise {
        let held = self.0.clone();
        promise(None, async move {
            let max_hold = max_hold_ms.map(duration).transpose()?;
            let work = async {
                // How it ended is for those who know the work.
                if let Ok(work) = begin.call0(&JsValue::UNDEFINED) {
                    settled(work.unchecked_ref()).await;
                }
                Ok::<_, Error>(JsValue::UNDEFINED)
            };
            held.lease()?.run(max_hold, work).await
        })
    }

    /// Renews the lease until `stopped` is settled; rejects with why if nothing is left to renew before.
    #[wasm_bindgen(js_name = keepAlive)]
    pub fn keep_alive(&self, stopped: Promise, max_hold_ms: Option<f64>) -> Promise {
        let held = self.0.clone();
        promise(Some(stopped), async move {
            let max_hold = max_hold_ms.map(duration).transpose()?;
            match held.lease()?.keep_alive(max_hold).await? {}
        })
    }

    /// Ends the lease here, and leaves the lock held: the token.
    ///
    /// # Errors
    /// `busy` while a write is under way; why the lease is over, if it is.
    #[wasm_bindgen(js_name = handOver)]
    pub fn hand_over(&self) -> Result<String, JsValue> {
        let token = self.0.lease().and_then(edgelock::Lease::hand_over);
        let token = token.map_err(|error| failure(&error))?;
        Ok(token.expose().to_owned())
    }

    /// Gives the lock back in the background, once the calls that are under way have come back.
    #[wasm_bindgen(js_name = giveBack)]
    pub fn give_back(self) {
        self.0.give_back.set(true);
    }
}
