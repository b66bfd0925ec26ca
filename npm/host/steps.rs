//! Operations that JavaScript drives. It has requests, timers and signals itself, so the wasm needs
//! no futures.
//!
//! A driver tells [`Steps`] what happened, and reads their wishes out of a text. It is
//! `npm/ts/driver.ts`.

use std::fmt::Write;
use std::time::Duration;

use super::driven::{Held, JsHost};
use super::fetch::answer;
use crate::bridge::array;
use crate::command::{Command, Reply};
use crate::error::Fault;
use crate::operation::{Background, Cx, Id, Input, Mail, Operation, Wish};
use crate::runtime::Runtime;
use crate::script::Inspection;

/// What an operation came to.
pub enum Came {
    /// It was done, and nothing is to be said.
    Done,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(u64),
    /// A time, or none.
    Time(Option<Duration>),
    /// What Redis replied to commands.
    Replies(Vec<Reply>),
    /// A turn of one request. It ran under this fence, and its writes replied that. Or it did not,
    /// after so many requests: its reads found that at this time of Redis's, or another has the
    /// lock, or waits for it.
    Turn(Option<u64>, Option<u32>, Vec<Reply>),
    /// A lease, if there is one, and replies to reads.
    Taken(Option<Held>, Vec<Reply>),
    /// A lease for a shared turn, how many waited ahead of it, and replies to its reads; or to
    /// those of the last holder, as their words, at this time of Redis's.
    ForTurn(Held, u64, Option<(u64, Vec<Vec<String>>)>, Vec<Reply>),
    /// A result that is kept.
    Kept(String),
    /// The state of a lock.
    Found(Inspection),
}

/// How an operation ended.
pub type Outcome = Result<Came, Fault>;

/// An operation, as far as it has come.
pub struct Steps {
    operation: Box<dyn Operation<Outcome = Outcome>>,
    place: JsHost,
    reads: Box<dyn FnMut() -> Vec<Command>>,
    /// The last id that was given out.
    ids: u32,
}

/// What happened, as `npm/ts/driver.ts` says it.
pub enum Told {
    /// It is to begin.
    Begin,
    /// A request was answered, or got lost: the number that exchange.js has for it, the status, and
    /// the header that matters and the body with a line break between them.
    Answered(u32, u8, u16, String),
    /// The time of a timer is over.
    Woken(u32),
    /// A piece of a response that goes on.
    Heard(u32, String),
    /// That has ended, as in [`Told::Answered`].
    Ended(u32, u8, u16, String),
    /// Nobody waits for it any more, and what it waited for was aborted.
    Cancel,
}

impl Steps {
    /// `read` says what an outcome comes to. It captures nothing, so that its code is there once
    /// for each kind of operation, and not for each caller.
    pub(super) fn new<O: Operation + 'static>(
        place: &JsHost,
        operation: Result<O, Fault>,
        read: fn(&JsHost, O::Outcome) -> Outcome,
    ) -> Self {
        let place = place.clone();
        match operation {
            Ok(operation) => {
                let host = place.clone();
                let reading = Reading { operation, host, read };
                Self::of(place, Box::new(reading))
            }
            Err(error) => Self::of(place, Box::new(NotBegun(Some(error)))),
        }
    }

    /// Nobody is told what `operation` comes to.
    pub(super) fn silent(place: &JsHost, operation: Background) -> Self {
        Self::new(place, Ok(operation), |_, ()| Ok(Came::Done))
    }

    /// They ask `reads` for their reads each time.
    pub(super) fn inquiring(mut self, reads: impl FnMut() -> Vec<Command> + 'static) -> Self {
        self.reads = Box::new(reads);
        self
    }

    fn of(place: JsHost, operation: Box<dyn Operation<Outcome = Outcome>>) -> Self {
        let reads = Box::new(Vec::new);
        Self { operation, place, reads, ids: 0 }
    }

    /// Goes on. The wishes are appended to `out`, a line for each, with lines of their own for what
    /// they carry. What others are to go on with is appended to `detached`.
    pub fn tell(
        &mut self,
        told: Told,
        out: &mut String,
        detached: &mut Vec<Self>,
    ) -> Option<Outcome> {
        let mut wishes = Vec::new();
        let runtime = &self.place.runtime;
        let now = runtime.now();
        let mut cx = Cx::new(now, runtime, &mut *self.reads, &mut self.ids, &mut wishes);
        let outcome = match input(told) {
            Some(input) => self.operation.on(&mut cx, input),
            None => {
                self.operation.cancel(&mut cx);
                None
            }
        };
        for wish in wishes {
            self.write(wish, out, detached);
        }
        outcome
    }

    fn write(&self, wish: Wish, out: &mut String, detached: &mut Vec<Self>) {
        match wish {
            Wish::Send(id, mail) => mailed(out, "send", id, mail),
            Wish::Listen(id, mail) => mailed(out, "listen", id, mail),
            Wish::Wake(id, time) => line(out, "wake", &[id.number().into(), milliseconds(time)]),
            Wish::Stop(id) => line(out, "stop", &[id.number().into()]),
            Wish::Detach(operation, ids) => {
                let ids: Vec<_> = ids.into_iter().map(|id| id.number().into()).collect();
                line(out, "detach", &ids);
                detached.push(Self { ids: self.ids, ..Self::silent(&self.place, operation) });
            }
        }
    }
}

/// A request: its id, time and limit, its address, its headers, and its body. None has a line
/// break inside: bodies are JSON, or percent-encoded.
fn mailed(out: &mut String, word: &str, id: Id, mut mail: Mail) {
    let request = mail.request();
    let headers = request.headers.iter();
    let headers: Vec<&str> = headers.flat_map(|(name, value)| [*name, value.as_str()]).collect();
    let time = milliseconds(request.timeout);
    let limit = request.body_limit as u64;
    line(out, word, &[id.number().into(), time, limit]);
    for text in [request.url, &array(&headers), &request.body] {
        out.push_str(text);
        out.push('\n');
    }
}

fn line(out: &mut String, word: &str, numbers: &[u64]) {
    out.push_str(word);
    for number in numbers {
        // Writing to a text cannot fail.
        let _ = write!(out, " {number}");
    }
    out.push('\n');
}

/// Whole milliseconds, rounded up: a caller that waits for so long does not come too early.
pub const fn milliseconds(time: Duration) -> u64 {
    let part = time.subsec_nanos().div_ceil(1_000_000) as u64;
    time.as_secs().saturating_mul(1000).saturating_add(part)
}

fn input(told: Told) -> Option<Input> {
    Some(match told {
        Told::Begin => Input::Started,
        Told::Answered(id, failure, status, text) => {
            let (header, body) = text.split_once('\n').unwrap_or_default();
            let header = (!header.is_empty()).then(|| header.to_owned());
            Input::Answered(Id::of(id), answer(failure, status, header, body.to_owned()))
        }
        Told::Woken(id) => Input::Woken(Id::of(id)),
        Told::Heard(id, piece) => Input::Received(Id::of(id), piece.into_bytes()),
        Told::Ended(id, failure, status, said) => {
            let ended = answer(failure, status, None, said);
            Input::Ended(Id::of(id), ended.map(|response| response.status))
        }
        Told::Cancel => return None,
    })
}

/// An operation whose outcome is read.
struct Reading<O: Operation> {
    operation: O,
    host: JsHost,
    read: fn(&JsHost, O::Outcome) -> Outcome,
}

impl<O: Operation> Operation for Reading<O> {
    type Outcome = Outcome;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Outcome> {
        let outcome = self.operation.on(cx, input)?;
        Some((self.read)(&self.host, outcome))
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.operation.cancel(cx);
    }
}

/// The reason why there is no operation.
struct NotBegun(Option<Fault>);

impl Operation for NotBegun {
    type Outcome = Outcome;

    fn on(&mut self, _: &mut Cx<'_>, _: Input) -> Option<Outcome> {
        self.0.take().map(Err)
    }
}
