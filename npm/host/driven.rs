//! Clients whose operations JavaScript drives, and their leases, for the npm package. It has their
//! requests, timers and background work itself, so these have only the rest of a host.

use std::future::{Future, pending, ready};
use std::sync::Arc;
use std::time::Duration;

use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::host;
use crate::command::{Command, Reply};
use crate::drive;
use crate::event::Event;
use crate::operation::{Granted, Hold};
use crate::resp;
use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};
use crate::token::Token;
use crate::transport::{Request, Response, Transport, TransportError};

pub use super::faces::{Guessed, client};
pub use super::steps::{Came, Outcome, Steps, Told, milliseconds};
pub use crate::bridge::quote_into;
pub use crate::error::fault::Fault;
pub use crate::operation::Writes;

/// What JavaScript says, in the form of Redis's replies; nothing if it is in no such form.
pub fn values(text: &str) -> Vec<Reply> {
    resp::parse(text).unwrap_or_default()
}

/// A text that JavaScript says.
pub fn text(value: Reply) -> Option<String> {
    match value {
        Reply::Bytes(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// A command that JavaScript says. Its keys are lists of one word.
pub fn command(said: impl Iterator<Item = Reply>) -> Command {
    let mut keys = Vec::new();
    let words = said.enumerate().map(|(place, word)| match word {
        Reply::Array(mut key) => {
            keys.push(place);
            key.pop()
        }
        word => Some(word),
    });
    let words = words.map(|word| word.and_then(text).unwrap_or_default());
    let words = words.collect();
    Command { words, keys }
}

/// A client that JavaScript drives.
pub type Client = crate::Client<Sent, Outside>;
/// Its locks.
pub type Lock = crate::Lock<Sent, Outside>;
/// What it executes once.
pub type Once = crate::Once<Sent, Outside>;
/// Its throttles.
pub type Throttle = crate::Throttle<Sent, Outside>;
/// Its debounces.
pub type Debounce = crate::Debounce<Sent, Outside>;

/// What JavaScript sends for a client.
#[derive(Default)]
pub struct Sent;

impl Transport for Sent {
    fn send(
        &self,
        _: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        ready(Err(TransportError::NotSent("JavaScript sends".into())))
    }
}

/// How an event is said to JavaScript.
pub type Say = fn(&Event<'_>) -> String;

/// The host's clock and random bytes, and who is told of events.
#[derive(Default)]
pub struct Outside(pub Option<(Function, Say)>);

impl Runtime for Outside {
    fn now(&self) -> Instant {
        host::now()
    }

    fn sleep(&self, _: Duration) -> impl Future<Output = ()> + Send {
        pending()
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        host::random(bytes)
    }

    fn spawn(&self, _: Task) {}

    fn observe(&self, event: &Event<'_>) {
        if let Some((on_event, say)) = &self.0 {
            // It only notes the event, and cannot fail.
            let _ = on_event.call1(&JsValue::UNDEFINED, &say(event).into());
        }
    }
}

pub(super) type JsHost = Arc<drive::Host<Sent, Outside>>;

/// A [`Lease`](crate::Lease) that is left to its ttl when it is dropped. JavaScript may lose one
/// while its holder still counts on the ttl, and the garbage collector must not end it.
pub struct Held {
    pub(super) place: JsHost,
    pub(super) hold: Arc<Hold>,
}

impl Held {
    pub(super) fn by(place: &JsHost, granted: Granted) -> (Self, Vec<Reply>) {
        let (hold, replies) = granted.into_hold();
        let (place, hold) = (place.clone(), hold.into());
        (Self { place, hold }, replies)
    }

    /// As [`Lease::fence`](crate::Lease::fence).
    pub fn fence(&self) -> u64 {
        self.hold.fence()
    }

    /// As [`Lease::token`](crate::Lease::token).
    pub fn token(&self) -> &Token {
        &self.hold.claim.token
    }

    /// As [`Lease::remaining`](crate::Lease::remaining).
    pub fn remaining(&self) -> Duration {
        self.hold.remaining(self.place.runtime.now())
    }
}
