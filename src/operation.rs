//! Operations, as machines without I/O.
//!
//! An operation is a plain value. It is told what happened, and says what it waits for next. It has
//! no future, no clock, no random source and no transport. A driver ([`crate::drive`]) has all of
//! these, and knows nothing of locks. So an operation does the same over every transport and every
//! runtime, and cancelling it is one more input.
//!
//! The idea is that of quinn-proto and str0m. <https://sans-io.readthedocs.io> gave it the name.

mod acquire;
mod ask;
mod backoff;
mod claim;
mod guess;
mod hold;
mod keep;
mod paced;
mod schedule;
mod slot;
mod subscription;
mod time_limit;
mod write;

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::Post;
use crate::command::Command;
use crate::event::{Event, EventKind};
use crate::nanos::Nanos;
use crate::runtime::{Instant, Runtime};
use crate::topology::Endpoint;
use crate::transport::{Request, Response, TransportError};

pub(crate) use acquire::{Acquire, AcquireOptions, Grant, Granted, OfTurn, Taken};
pub(crate) use ask::Ask;
pub(crate) use claim::{Claim, GiveBack};
pub(crate) use guess::{RunGuess, RunOrLock};
pub(crate) use hold::{Hold, Why};
pub(crate) use keep::{BeginKeeping, EndKeeping, Keep};
pub(crate) use paced::{Pass, Settle};
pub(crate) use slot::Completed;
pub(crate) use time_limit::{TimeLimit, deadline, drift, surely};
pub(crate) use write::Write;
#[allow(unreachable_pub)] // `web::driven` has it for the npm package.
pub use write::Writes;

/// Names something that an operation waits for: the answer to a request, a timer, a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(u32);

#[cfg(npm)]
impl Id {
    pub(crate) const fn of(number: u32) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }
}

/// An input: what happened.
pub(crate) enum Input {
    /// The operation is to begin.
    Started,
    /// A request was answered, or got lost.
    Answered(Id, Result<Response, TransportError>),
    /// A timer has ended.
    Woken(Id),
    /// A piece of a streamed response came.
    Received(Id, Vec<u8>),
    /// A streamed response has ended, with this status.
    Ended(Id, Result<u16, TransportError>),
}

/// A task that takes several steps.
pub(crate) trait Operation {
    type Outcome;

    /// Goes on until it waits for something else, or is done. An input that it does not wait for
    /// changes nothing.
    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome>;

    /// Nobody waits for its outcome any more, and it gets no more inputs. What it waited for is
    /// aborted.
    fn cancel(&mut self, cx: &mut Cx<'_>) {
        let _ = cx;
    }
}

impl<O: Operation + ?Sized> Operation for Box<O> {
    type Outcome = O::Outcome;

    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<O::Outcome> {
        (**self).on(cx, input)
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        (**self).cancel(cx);
    }
}

/// An operation that goes on although nobody waits for it any more.
pub(crate) type Background = Box<dyn Operation<Outcome = ()> + Send>;

/// What an operation asks its driver for.
pub(crate) enum Wish {
    /// To send a request, and report the answer.
    Send(Id, Mail),
    /// To report when this time is over.
    Wake(Id, Duration),
    /// To send a request, and report each piece of the streamed response.
    Listen(Id, Mail),
    /// To drop what has this id.
    Stop(Id),
    /// To drive another operation in the background. It takes over what has these ids, or begins if
    /// there are none.
    Detach(Background, Vec<Id>),
}

/// What to send, and to which bridge.
pub(crate) struct Mail {
    endpoint: Arc<Endpoint>,
    post: Post,
}

impl Mail {
    /// The request in the transport's form. Call it once: it moves the body out.
    pub(crate) fn request(&mut self) -> Request<'_> {
        let body = std::mem::take(&mut self.post.body);
        self.endpoint.bridge.request(&self.post, body)
    }
}

/// What an operation sees of its driver, and its wishes.
pub(crate) struct Cx<'a> {
    /// Read before anything that the operation sends now leaves.
    pub(crate) now: Instant,
    host: &'a dyn Runtime,
    reads: &'a mut dyn FnMut() -> Vec<Command>,
    ids: &'a mut u32,
    wishes: &'a mut Vec<Wish>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(
        now: Instant,
        host: &'a dyn Runtime,
        reads: &'a mut dyn FnMut() -> Vec<Command>,
        ids: &'a mut u32,
        wishes: &'a mut Vec<Wish>,
    ) -> Self {
        Self { now, host, reads, ids, wishes }
    }

    /// Sends `post` once.
    pub(crate) fn send(&mut self, endpoint: &Arc<Endpoint>, post: Post) -> Id {
        let (id, endpoint) = (self.id(), endpoint.clone());
        self.wishes.push(Wish::Send(id, Mail { endpoint, post }));
        id
    }

    pub(crate) fn wake_in(&mut self, time: Nanos) -> Id {
        let id = self.id();
        self.wishes.push(Wish::Wake(id, time.duration()));
        id
    }

    /// `operation` waits for these ids, and goes on in the background.
    pub(crate) fn detach(&mut self, operation: Background, ids: Vec<Id>) {
        self.wishes.push(Wish::Detach(operation, ids));
    }

    /// Sends `post`, and listens to its streamed response.
    pub(crate) fn listen(&mut self, endpoint: &Arc<Endpoint>, post: Post) -> Id {
        let (id, endpoint) = (self.id(), endpoint.clone());
        self.wishes.push(Wish::Listen(id, Mail { endpoint, post }));
        id
    }

    pub(crate) fn stop(&mut self, id: Id) {
        self.wishes.push(Wish::Stop(id));
    }

    pub(crate) fn begin_in_background(
        &mut self,
        operation: impl Operation<Outcome = ()> + Send + 'static,
    ) {
        self.detach(Box::new(operation), Vec::new());
    }

    /// The commands to read now, from the caller that drives the operation.
    pub(crate) fn reads(&mut self) -> Vec<Command> {
        (self.reads)()
    }

    pub(crate) fn observe(&self, name: &str, kind: EventKind<'_>) {
        self.host.observe(&Event { lock: name, kind });
    }

    /// The host, for random bytes and for events.
    pub(crate) fn host(&self) -> &'a dyn Runtime {
        self.host
    }

    fn id(&mut self) -> Id {
        *self.ids = self.ids.wrapping_add(1);
        Id(*self.ids)
    }
}
