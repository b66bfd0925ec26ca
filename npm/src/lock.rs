//! A name that can be locked.

use edgelock::web::{self, Held, JsOutcome, Steps};
use edgelock::{Error, Reply, Token};
use js_sys::{Array, Function};
use wasm_bindgen::prelude::*;

use crate::convert::{commands, duration, failure, inspection, replies};
use crate::lease::{Lease, plain, told};

/// A name that one holder at a time may have.
#[wasm_bindgen]
pub struct Lock(web::Lock);

#[wasm_bindgen]
extern "C" {
    /// `{ waitMs?, maxRequests?, fair?, signalList?, label?, replicas?, replicasWithinMs? }`. A
    /// missing option has the client's default.
    pub type LockConfig;
    #[wasm_bindgen(method, getter, js_name = waitMs)]
    fn wait_ms(this: &LockConfig) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = maxRequests)]
    fn max_requests(this: &LockConfig) -> Option<u32>;
    #[wasm_bindgen(method, getter)]
    fn fair(this: &LockConfig) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = signalList)]
    fn signal_list(this: &LockConfig) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn label(this: &LockConfig) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn replicas(this: &LockConfig) -> Option<u32>;
    #[wasm_bindgen(method, getter, js_name = replicasWithinMs)]
    fn replicas_within_ms(this: &LockConfig) -> Option<f64>;
}

impl Lock {
    pub(crate) fn new(
        mut lock: web::Lock,
        ttl_ms: Option<f64>,
        patience: Option<&LockConfig>,
    ) -> Result<Self, JsValue> {
        let build = || {
            if let Some(ms) = ttl_ms {
                lock = lock.ttl(duration(ms)?);
            }
            let Some(patience) = patience else {
                return lock.check().map(|()| lock);
            };
            if let Some(ms) = patience.wait_ms() {
                lock = lock.wait(duration(ms)?);
            }
            if let Some(requests) = patience.max_requests() {
                lock = lock.max_requests(requests);
            }
            if let Some(key) = patience.signal_list() {
                lock = lock.signal_list(key);
            }
            if let Some(label) = patience.label() {
                lock = lock.label(&label);
            }
            if let (Some(count), Some(ms)) = (patience.replicas(), patience.replicas_within_ms()) {
                lock = lock.wait_for_replicas(count, duration(ms)?);
            }
            if let Some(fair) = patience.fair() {
                lock = lock.fair(fair);
            }
            lock.check().map(|()| lock)
        };
        build().map(Self).map_err(|error| failure(&error))
    }
}

/// One acquisition that several callers ask for, one after the other.
#[wasm_bindgen]
#[derive(Default)]
pub struct Acquisition(edgelock::Acquisition);

#[wasm_bindgen]
impl Acquisition {
    /// One that nobody has asked for yet.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }
}

#[wasm_bindgen]
impl Lock {
    /// Takes the lock if it is free: a lease, or `null` if another has it.
    #[wasm_bindgen(js_name = tryAcquire)]
    pub fn try_acquire(&self) -> Steps {
        self.0.acquire_steps(false, &[], |taken| match taken {
            Err(Error::Held { .. }) => Ok(JsValue::NULL),
            taken => told(taken.map(|(lease, _)| Lease::held(lease))),
        })
    }

    /// Takes the lock as soon as it is free: a lease.
    pub fn acquire(&self) -> Steps {
        self.0.acquire_steps(true, &[], |taken| {
            told(taken.map(|(lease, _)| Lease::held(lease)))
        })
    }

    /// As `acquire`, and reads in the same request: a lease and the replies.
    #[wasm_bindgen(js_name = acquireAndRead)]
    pub fn acquire_and_read(&self, reads: &Array) -> Steps {
        self.0.acquire_steps(true, &commands(reads), with_replies)
    }

    /// Takes the lock if it is free, and reads in any case. Returns a lease and the replies, or
    /// null and the replies if another holder has the lock.
    #[wasm_bindgen(js_name = tryAcquireAndRead)]
    pub fn try_acquire_and_read(&self, reads: &Array) -> Steps {
        self.0.try_acquire_steps(&commands(reads), |tried| {
            told(tried.map(|(lease, read)| {
                let lease = lease.map_or(JsValue::NULL, Lease::held);
                Array::of2(&lease, &replies(&read)).into()
            }))
        })
    }

    /// As `acquireAndRead`. `reads` returns what to read before each request that may take the
    /// lock, and does not throw.
    #[wasm_bindgen(js_name = acquireAs)]
    pub fn acquire_as(&self, acquisition: &Acquisition, reads: Function) -> Steps {
        let asked = move || {
            let said = reads.call0(&JsValue::UNDEFINED).unwrap_or_default();
            said.dyn_ref().map_or_else(Vec::new, commands)
        };
        self.0.acquire_as_steps(&acquisition.0, asked, with_replies)
    }

    /// Whether commands can ride on an acquisition.
    ///
    /// # Errors
    /// `invalid_argument` if they cannot.
    #[wasm_bindgen(js_name = checkReads)]
    pub fn check_reads(&self, reads: &Array) -> Result<(), JsValue> {
        let checked = self.0.check_reads(&commands(reads));
        checked.map_err(|error| failure(&error))
    }

    /// Who holds the lock.
    pub fn inspect(&self) -> Steps {
        self.0
            .inspect_steps(|found| told(found.map(|found| inspection(&found).into())))
    }

    /// Frees the lock, whoever holds it; whether anybody did.
    #[wasm_bindgen(js_name = forceRelease)]
    pub fn force_release(&self) -> Steps {
        self.0.force_release_steps(plain)
    }

    /// The lease behind a token.
    ///
    /// # Errors
    /// `invalid_argument` if it cannot be one, `entropy_unavailable` where the host gives none.
    pub fn resume(&self, token: &str) -> Result<JsValue, JsValue> {
        let lease = Token::parse(token).and_then(|token| self.0.resume_held(token));
        lease.map(Lease::held).map_err(|error| failure(&error))
    }
}

fn with_replies(taken: Result<(Held, Vec<Reply>), Error>) -> JsOutcome {
    told(taken.map(|(lease, read)| Array::of2(&Lease::held(lease), &replies(&read)).into()))
}
