//! A name that can be locked.

use edgelock::web::driven::{self as web, Held, JsOutcome, Steps};
use edgelock::{Error, Reply, Token};
use js_sys::{Array, Function};
use wasm_bindgen::prelude::*;

use crate::convert::{checked, commands, inspection, replies};
use crate::lease::{Lease, plain};

/// A name that one holder at a time may have.
#[wasm_bindgen]
pub struct Lock(web::Lock);

impl Lock {
    pub(crate) const fn new(lock: web::Lock) -> Self {
        Self(lock)
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
            taken => checked(taken.map(|(lease, _)| Lease::held(lease))),
        })
    }

    /// Takes the lock as soon as it is free: a lease.
    pub fn acquire(&self) -> Steps {
        self.0.acquire_steps(true, &[], |taken| {
            checked(taken.map(|(lease, _)| Lease::held(lease)))
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
            checked(tried.map(|(lease, read)| {
                let lease = lease.map_or(JsValue::NULL, Lease::held);
                Array::of2(&lease, &replies(&read)).into()
            }))
        })
    }

    /// As `acquireAndRead`. The reply to a read that failed is its error. `reads` returns what to
    /// read before each request that may take the lock, and does not throw.
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
        checked(self.0.check_reads(&commands(reads)))
    }

    /// Whether commands can run under a lease of it.
    ///
    /// # Errors
    /// `invalid_argument` if they cannot.
    #[wasm_bindgen(js_name = checkWrites)]
    pub fn check_writes(&self, writes: &Array) -> Result<(), JsValue> {
        checked(self.0.checked_writes(&commands(writes)))
    }

    /// Who holds the lock.
    pub fn inspect(&self) -> Steps {
        self.0
            .inspect_steps(|found| checked(found.map(|found| inspection(&found).into())))
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
        checked(lease.map(Lease::held))
    }
}

fn with_replies(taken: Result<(Held, Vec<Reply>), Error>) -> JsOutcome {
    checked(taken.map(|(lease, read)| Array::of2(&Lease::held(lease), &replies(&read)).into()))
}
