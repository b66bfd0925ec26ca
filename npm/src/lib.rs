//! The client as JavaScript can hold it: one class, whose objects are asked in words.
//!
//! It is made to be called by the TypeScript in `npm/ts`, which has checked the types of what it
//! says. Nothing here panics on what a caller passes, and no method keeps its object borrowed
//! while it waits, so that calls may overlap. One text goes in and one comes out: for each method,
//! option and member of an outcome wasm-bindgen would bring code of its own.

#![cfg(target_family = "wasm")]

mod client;
mod json;
mod words;

use edgelock::web::driven::{self as web, Came, Fault, Guessed, Held, Steps, Told, Writes};
use edgelock::{Acquisition, Command, Token};
use js_sys::Function;
use wasm_bindgen::prelude::*;

use words::Words;

/// Half of the size of the default one.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Something that JavaScript holds.
#[wasm_bindgen]
pub struct Thing(Kind);

enum Kind {
    Client(web::Client),
    Lock(web::Lock),
    Acquisition(Acquisition),
    Once(web::Once),
    Throttle(web::Throttle),
    Debounce(web::Debounce),
    /// One that JavaScript forgets is left to its ttl.
    Lease(Held),
    Call(Call),
}

/// An operation, and what it made that JavaScript has yet to take.
struct Call {
    steps: Steps,
    made: Vec<Thing>,
    /// By which it may come to a lease, if that must be known before.
    token: Option<Token>,
}

/// What a method throws: a failure as JSON.
type Thrown = String;

#[wasm_bindgen]
impl Thing {
    /// A client, which tells `on_event` what happens; or an acquisition that several callers ask
    /// for, one after the other.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid address, credential or setting.
    #[wasm_bindgen(constructor)]
    pub fn new(words: &str, on_event: Option<Function>) -> Result<Self, Thrown> {
        let mut words = Words::of(words);
        Ok(Self(match &*words.text() {
            "client" => Kind::Client(checked(client::client(words, on_event))?),
            "acquisition" => Kind::Acquisition(Acquisition::default()),
            _ => return Err(unknown()),
        }))
    }

    /// Makes what the words say: a lock of a client, a call of a lock. Nothing if nothing is to be
    /// done.
    ///
    /// # Errors
    /// `invalid_argument` for a name or an option out of range; for a lease, why it is over.
    pub fn make(&self, words: &str) -> Result<Option<Self>, Thrown> {
        let mut words = Words::of(words);
        let what = &*words.text();
        let steps = match (&self.0, what) {
            (Kind::Client(client), "read") => {
                let of = match words.maybe_text() {
                    Some(name) => client.shard_of(&name),
                    None => client.clone(),
                };
                let tells_each = words.flag();
                of.read_steps(&words.commands(), tells_each)
            }
            (Kind::Client(client), what) => {
                let made = checked(client::make(client, what, words))?;
                return made.map(|made| Some(Self(made))).ok_or_else(unknown);
            }
            (Kind::Lock(lock), what) => return of_lock(lock, what, words).map(Some),
            (Kind::Lease(held), what) => return of_lease(held, what, words),
            (Kind::Once(once), "begin") => once.begin_steps(),
            (Kind::Once(once), "forget") => once.forget_steps(),
            (Kind::Throttle(throttle), "call") => throttle.try_pass_steps(),
            (Kind::Debounce(debounce), "call") => debounce.settle_steps(),
            _ => return Err(unknown()),
        };
        Ok(Some(steps.into()))
    }

    /// A call of two: of a lock, for an acquisition, after so many requests; or of a lease, which
    /// has the result of work that is executed once stored. `reads` returns what to read before
    /// each request that may take the lock, and does not throw.
    ///
    /// # Errors
    /// `result_too_large`.
    #[wasm_bindgen(js_name = makeWith)]
    pub fn make_with(
        &self,
        other: &Self,
        words: &str,
        reads: Option<Function>,
    ) -> Result<Self, Thrown> {
        let mut words = Words::of(words);
        match (&self.0, &other.0, reads) {
            (Kind::Lock(lock), Kind::Acquisition(acquisition), Some(reads)) => {
                let (sent, guesses, listens) = (words.count(), words.flag(), words.flag());
                let reads = move || asked(&reads);
                let steps = lock.acquire_as_steps(acquisition, sent, guesses, listens, reads);
                Ok(steps.into())
            }
            (Kind::Lease(held), Kind::Once(once), None) => {
                Ok(checked(once.store(held, &words.text()))?.into())
            }
            _ => Err(unknown()),
        }
    }

    /// Answers or does at once what the words say.
    ///
    /// # Errors
    /// `invalid_argument` if commands cannot run so; for a lease, why it is over, or `busy`.
    pub fn ask(&self, words: &str) -> Result<String, Thrown> {
        let mut words = Words::of(words);
        let answered = match (&self.0, &*words.text()) {
            (Kind::Lock(lock), "checkReads") => lock.checked_reads(&words.commands()),
            (Kind::Lock(lock), "checkWrites") => lock.checked_writes(&words.commands()),
            (Kind::Lock(lock), "mayGuess") => {
                return Ok(lock.may_guess(words.count()).to_string());
            }
            (Kind::Call(call), "token") => {
                return Ok(call.token.as_ref().map_or("", Token::expose).to_owned());
            }
            (Kind::Lease(held), "fence") => return Ok(held.fence().to_string()),
            (Kind::Lease(held), "startKeeping") => held.start_keeping(),
            (Kind::Lease(held), "quitKeeping") => {
                held.quit_keeping();
                Ok(())
            }
            (Kind::Lease(held), "handOver") => held.hand_over().map(drop),
            _ => return Err(unknown()),
        };
        checked(answered.map(|()| String::new()))
    }

    /// Milliseconds that a lease surely lasts yet, to the fraction of one.
    #[wasm_bindgen(getter)]
    pub fn remaining(&self) -> f64 {
        match &self.0 {
            Kind::Lease(held) => held.remaining().as_secs_f64() * 1000.0,
            _ => 0.0,
        }
    }

    /// Tells a call what happened. It says what it waits for next, a line for each and its lines
    /// behind it, and at last what it came to.
    pub fn tell(&mut self, what: u32, id: u32, failure: u8, status: u16, text: String) -> String {
        let mut out = String::new();
        let Kind::Call(call) = &mut self.0 else {
            return out;
        };
        let told = match what {
            0 => Told::Begin,
            1 => Told::Answered(id, failure, status, text),
            2 => Told::Woken(id),
            3 => Told::Heard(id, text),
            4 => Told::Ended(id, failure, status, text),
            _ => Told::Cancel,
        };
        let mut detached = Vec::new();
        let outcome = call.steps.tell(told, &mut out, &mut detached);
        call.made.extend(detached.into_iter().map(Self::from));
        match outcome {
            Some(Ok(came)) => {
                out.push_str("done\n");
                out.push_str(&json::came(&came));
                if let Came::Taken(Some(held), _) | Came::ForTurn(held, ..) = came {
                    call.made.push(Self(Kind::Lease(held)));
                }
            }
            Some(Err(error)) => {
                out.push_str("fail\n");
                out.push_str(&json::failure(&error));
            }
            None => return out,
        }
        out.push('\n');
        out
    }

    /// What a call made, in the order in which it said so.
    pub fn made(&mut self) -> Option<Self> {
        match &mut self.0 {
            Kind::Call(call) if !call.made.is_empty() => Some(call.made.remove(0)),
            _ => None,
        }
    }
}

/// What [`Thing::make`] makes of a lock.
#[inline(never)]
fn of_lock(lock: &web::Lock, what: &str, mut words: Words) -> Result<Thing, Thrown> {
    let steps = match what {
        "acquire" => lock.acquire_steps(&words.commands()),
        "tryAndRead" => lock.try_and_read_steps(&words.commands()),
        "inspect" => lock.inspect_steps(),
        "forceRelease" => lock.force_release_steps(),
        "guess" => {
            let (steps, token) = checked(lock.guess_steps(&guessed(words)))?;
            return Ok(Thing::call(steps, Some(token)));
        }
        "resume" => {
            let token = checked(Token::parse(&words.text()).map_err(Fault::from))?;
            return Ok(Thing(Kind::Lease(checked(lock.resume_held(token))?)));
        }
        _ => return Err(unknown()),
    };
    Ok(steps.into())
}

/// What [`Thing::make`] makes of a lease.
#[inline(never)]
fn of_lease(held: &Held, what: &str, mut words: Words) -> Result<Option<Thing>, Thrown> {
    let steps = match what {
        "renew" => held.write(Writes::Renew(words.maybe_time())),
        "downgrade" => held.write(Writes::Downgrade),
        "exec" => held.write(Writes::Exec(words.commands())),
        "commit" => held.write(Writes::Commit(words.commands())),
        "commitEach" => {
            let (commands, told) = (words.commands(), words.count() as usize);
            held.write(Writes::CommitEach(commands, told))
        }
        "turn" => checked(held.turn_steps(&guessed(words)))?,
        "release" => held.write(Writes::Release),
        "beginKeeping" => held.begin_keeping(words.maybe_time()),
        "keep" => held.keep(words.number()),
        "endKeeping" => held.end_keeping(words.number()),
        "giveBack" => match held.give_back() {
            Some(steps) => steps,
            None => return Ok(None),
        },
        _ => return Err(unknown()),
    };
    Ok(Some(steps.into()))
}

fn guessed(mut words: Words) -> Guessed {
    Guessed {
        sent: words.count(),
        reads: words.commands(),
        found: words.values(),
        writes: words.commands(),
        told: words.count(),
        until_us: words.number(),
        takes: words.flag(),
    }
}

impl Thing {
    fn call(steps: Steps, token: Option<Token>) -> Self {
        let made = Vec::new();
        Self(Kind::Call(Call { steps, made, token }))
    }
}

impl From<Steps> for Thing {
    fn from(steps: Steps) -> Self {
        Self::call(steps, None)
    }
}

/// The commands that `reads` says.
fn asked(reads: &Function) -> Vec<Command> {
    let said = reads.call0(&JsValue::UNDEFINED).unwrap_or_default();
    Words::of(&said.as_string().unwrap_or_default()).commands()
}

fn checked<T>(result: Result<T, Fault>) -> Result<T, Thrown> {
    result.map_err(|error| json::failure(&error))
}

/// The two sides of the border are not of one build.
fn unknown() -> Thrown {
    r#"{"code":"internal","message":"the module knows no such call","isOutcomeUnknown":false}"#
        .to_owned()
}
