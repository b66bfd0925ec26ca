//! Drives operations on a host. The driver sends what they ask for, wakes them, listens for them,
//! and tells them what happened.
//!
//! An operation waits for futures of the host's [`Transport`] and [`Runtime`]. They are polled in
//! the task that awaits the operation. Dropping the operation drops them. So nothing outlives its
//! caller, except what the operation detached.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::command::Command;
use crate::operation::{Background, Cx, Id, Input, Mail, Operation, Wish};
use crate::runtime::{Runtime, Task};
use crate::tasks::{Either, GoingOn, locked, select};
use crate::transport::{Response, Transport, TransportError};

/// The host on which operations are driven.
pub(crate) struct Host<T, R> {
    pub(crate) transport: T,
    pub(crate) runtime: R,
    /// Work whose outcome others get, so that it outlives its caller.
    pub(crate) going_on: GoingOn,
}

impl<T, R> Host<T, R> {
    pub(crate) fn new(transport: T, runtime: R) -> Self {
        Self { transport, runtime, going_on: GoingOn::default() }
    }
}

impl<T: Transport, R: Runtime> Host<T, R> {
    /// As [`Runtime::gone`], for what does not belong to work that goes on.
    pub(crate) fn gone(self: &Arc<Self>) -> Option<Task> {
        let gone = self.runtime.gone()?;
        let host = self.clone();
        Some(Box::pin(async move {
            gone.await;
            host.going_on.over().await;
        }))
    }
}

/// Drives `operation` to its outcome.
pub(crate) async fn drive<O: Operation + 'static, T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    operation: O,
) -> O::Outcome {
    drive_reading(host, operation, Vec::new).await
}

/// Drives `operation`, which asks `reads` for its reads each time.
pub(crate) async fn drive_reading<O: Operation + 'static, T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    operation: O,
    mut reads: impl FnMut() -> Vec<Command>,
) -> O::Outcome {
    let _stay = host.runtime.stay();
    let mut driven = driven(host.clone(), operation);
    poll_fn(|cx| driven.poll(cx, &mut reads)).await
}

/// Awaits `call` until the caller is `gone`: then there is no outcome. The call is `Unpin`, since a
/// future that is moved into another takes its place twice.
pub(crate) async fn unless_gone<P>(
    gone: Option<Task>,
    call: impl Future<Output = P> + Unpin,
) -> Option<P> {
    let Some(gone) = gone else {
        return Some(call.await);
    };
    match select(call, gone).await {
        Either::Left(outcome) => Some(outcome),
        Either::Right(()) => None,
    }
}

/// Drives `operation` in the host's background.
pub(crate) fn drive_in_background<T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    operation: impl Operation<Outcome = ()> + Send + 'static,
) {
    let mut driven = driven(host.clone(), operation);
    let task = poll_fn(move |cx| driven.poll(cx, &mut Vec::new));
    host.runtime.spawn(Box::pin(task));
}

fn driven<O: Operation, T: Transport, R: Runtime>(
    host: Arc<Host<T, R>>,
    operation: O,
) -> Driven<O, T, R> {
    Driven {
        told: Running { operation, outcome: None },
        driver: Driver { state: State::New, flights: Flights::none(), ids: 0, host },
    }
}

async fn sending<T: Transport, R>(host: Arc<Host<T, R>>, mut mail: Mail) -> Answer {
    host.transport.send(mail.request()).await
}

async fn listening<T: Transport, R>(host: Arc<Host<T, R>>, mut mail: Mail, to: Received) -> Ended {
    let mut hear = |piece: &[u8]| locked(&to).extend_from_slice(piece);
    host.transport.listen(mail.request(), &mut hear).await
}

async fn sleeping<T, R: Runtime>(host: Arc<Host<T, R>>, time: Duration) {
    host.runtime.sleep(time).await;
}

/// An operation with its driver.
struct Driven<O: Operation, T: Transport, R: Runtime> {
    told: Running<O>,
    driver: Driver<T, R>,
}

/// An operation and its outcome. A driver need not know the operation's type, so its code exists
/// once for all.
struct Running<O: Operation> {
    operation: O,
    outcome: Option<O::Outcome>,
}

trait Tell {
    /// Returns whether the operation is done.
    fn tell(&mut self, cx: &mut Cx<'_>, input: Input) -> bool;

    fn cancel(&mut self, cx: &mut Cx<'_>);
}

impl<O: Operation> Tell for Running<O> {
    fn tell(&mut self, cx: &mut Cx<'_>, input: Input) -> bool {
        self.outcome = self.operation.on(cx, input);
        self.outcome.is_some()
    }

    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.operation.cancel(cx);
    }
}

impl<O: Operation, T: Transport, R: Runtime> Driven<O, T, R> {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        reads: &mut dyn FnMut() -> Vec<Command>,
    ) -> Poll<O::Outcome> {
        self.driver.poll(&mut self.told, cx, reads);
        self.told.outcome.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<O: Operation, T: Transport, R: Runtime> Drop for Driven<O, T, R> {
    fn drop(&mut self) {
        self.driver.cancel(&mut self.told);
    }
}

/// The host of an operation, and what the operation waits for.
struct Driver<T, R> {
    state: State,
    flights: Flights,
    /// The last id that was given out.
    ids: u32,
    host: Arc<Host<T, R>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Begun,
    Done,
}

impl<T: Transport, R: Runtime> Driver<T, R> {
    /// Tells the operation all that has happened, until it is done or nothing is left.
    fn poll(
        &mut self,
        told: &mut dyn Tell,
        cx: &mut Context<'_>,
        reads: &mut dyn FnMut() -> Vec<Command>,
    ) {
        let mut next = (self.state == State::New).then_some(Input::Started);
        self.state = State::Begun;
        while let Some(input) = next.take().or_else(|| self.flights.land(cx)) {
            let mut is_done = false;
            self.wishes(Some(cx.waker()), reads, |cx| is_done = told.tell(cx, input));
            if is_done {
                self.state = State::Done;
                return;
            }
        }
    }

    fn cancel(&mut self, told: &mut dyn Tell) {
        if self.state == State::Begun {
            // First of all, abort what was sent.
            self.flights = Flights::none();
            self.wishes(None, &mut Vec::new, |cx| told.cancel(cx));
        }
    }

    /// Does what the operation wishes for after an input.
    fn wishes(
        &mut self,
        waker: Option<&Waker>,
        reads: &mut dyn FnMut() -> Vec<Command>,
        tell: impl FnOnce(&mut Cx<'_>),
    ) {
        let mut wishes = Vec::new();
        let runtime = &self.host.runtime;
        let now = runtime.now();
        tell(&mut Cx::new(now, runtime, reads, &mut self.ids, &mut wishes));
        for wish in wishes {
            self.grant(wish, waker);
        }
    }

    fn grant(&mut self, wish: Wish, waker: Option<&Waker>) {
        let host = self.host.clone();
        match wish {
            Wish::Send(id, mail) => self.flights.send(id, sending(host, mail)),
            Wish::Wake(id, time) => self.flights.wake(id, sleeping(host, time)),
            Wish::Listen(id, mail) => {
                let received = Received::default();
                let ended = listening(host, mail, received.clone());
                self.flights.listen(id, received, ended);
            }
            Wish::Stop(id) => drop(self.flights.split_off(&[id])),
            Wish::Detach(operation, ids) => self.detach(operation, &ids, waker),
        }
    }

    /// When this returns, the transport has the first request of the operation, if there is a task
    /// to wake.
    fn detach(&mut self, operation: Background, ids: &[Id], waker: Option<&Waker>) {
        let mut detached = driven(self.host.clone(), operation);
        detached.driver.ids = self.ids;
        if !ids.is_empty() {
            detached.driver.state = State::Begun;
            detached.driver.flights = self.flights.split_off(ids);
        }
        let mut go_on = move |cx: &mut Context<'_>| detached.poll(cx, &mut Vec::new);
        let is_done = waker.is_some_and(|waker| go_on(&mut Context::from_waker(waker)).is_ready());
        if !is_done {
            self.host.runtime.spawn(Box::pin(poll_fn(go_on)));
        }
    }
}

type Answer = Result<Response, TransportError>;
type Ended = Result<u16, TransportError>;

/// Bytes that the transport received, and of which the operation was not told yet.
type Received = Arc<Mutex<Vec<u8>>>;

/// A future that an operation waits for.
trait Flight<O>: Future<Output = O> + Send + 'static {}

impl<O, F: Future<Output = O> + Send + 'static> Flight<O> for F {}

type Boxed<O> = Pin<Box<dyn Flight<O>>>;

struct Flights {
    answers: Vec<(Id, Boxed<Answer>)>,
    timers: Vec<(Id, Boxed<()>)>,
    streams: Vec<(Id, Stream)>,
}

struct Stream {
    received: Received,
    /// Set at the end of the stream. It is reported once the bytes before it are.
    has_ended: Option<Ended>,
    ended: Boxed<Ended>,
}

impl Flights {
    const fn none() -> Self {
        Self { answers: Vec::new(), timers: Vec::new(), streams: Vec::new() }
    }

    fn send(&mut self, id: Id, answer: impl Flight<Answer>) {
        self.answers.push((id, Box::pin(answer)));
    }

    fn wake(&mut self, id: Id, timer: impl Flight<()>) {
        self.timers.push((id, Box::pin(timer)));
    }

    fn listen(&mut self, id: Id, received: Received, ended: impl Flight<Ended>) {
        let stream = Stream { received, has_ended: None, ended: Box::pin(ended) };
        self.streams.push((id, stream));
    }

    /// The next thing that has happened. If several have, an answer comes before a timer, and a
    /// timer before a stream.
    fn land(&mut self, cx: &mut Context<'_>) -> Option<Input> {
        let answered = land(&mut self.answers, |answer| answer.as_mut().poll(cx));
        if let Some((id, answer)) = answered {
            return Some(Input::Answered(id, answer));
        }
        if let Some((id, ())) = land(&mut self.timers, |timer| timer.as_mut().poll(cx)) {
            return Some(Input::Woken(id));
        }
        let received = self.streams.iter_mut().find_map(|(id, stream)| {
            let piece = stream.hear(cx);
            (!piece.is_empty()).then_some(Input::Received(*id, piece))
        });
        received.or_else(|| {
            let ended = land(&mut self.streams, Stream::end)?;
            Some(Input::Ended(ended.0, ended.1))
        })
    }

    fn split_off(&mut self, ids: &[Id]) -> Self {
        Self {
            answers: split_off(&mut self.answers, ids),
            timers: split_off(&mut self.timers, ids),
            streams: split_off(&mut self.streams, ids),
        }
    }
}

impl Stream {
    fn hear(&mut self, cx: &mut Context<'_>) -> Vec<u8> {
        if self.has_ended.is_none()
            && let Poll::Ready(ended) = self.ended.as_mut().poll(cx)
        {
            self.has_ended = Some(ended);
        }
        std::mem::take(&mut *locked(&self.received))
    }

    fn end(&mut self) -> Poll<Ended> {
        match self.has_ended.take() {
            Some(ended) => Poll::Ready(ended),
            None => Poll::Pending,
        }
    }
}

/// Removes the first one that is ready.
fn land<F, P>(
    flights: &mut Vec<(Id, F)>,
    mut poll: impl FnMut(&mut F) -> Poll<P>,
) -> Option<(Id, P)> {
    let mut all = flights.iter_mut().enumerate();
    let (at, output) = all.find_map(|(at, (_, flight))| match poll(flight) {
        Poll::Ready(output) => Some((at, output)),
        Poll::Pending => None,
    })?;
    Some((flights.swap_remove(at).0, output))
}

fn split_off<F>(flights: &mut Vec<(Id, F)>, ids: &[Id]) -> Vec<(Id, F)> {
    let (theirs, kept) = std::mem::take(flights).into_iter().partition(|(id, _)| ids.contains(id));
    *flights = kept;
    theirs
}
