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

use crate::command::Command;
use crate::operation::{Background, Cx, Id, Input, Operation, Wish};
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
    let mut driven = Driven::new(host.clone(), operation);
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
    let mut driven = Driven::new(host.clone(), operation);
    let task = poll_fn(move |cx| driven.poll(cx, &mut Vec::new));
    host.runtime.spawn(Box::pin(task));
}

/// An operation, what it waits for, and its host.
struct Driven<O: Operation, T: Transport, R: Runtime> {
    operation: O,
    state: State,
    flights: Flights,
    host: Arc<Host<T, R>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Begun,
    Done,
}

impl<O: Operation, T: Transport, R: Runtime> Driven<O, T, R> {
    fn new(host: Arc<Host<T, R>>, operation: O) -> Self {
        Self { operation, state: State::New, flights: Flights::default(), host }
    }

    /// Tells the operation all that has happened, until it is done or nothing is left.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        reads: &mut dyn FnMut() -> Vec<Command>,
    ) -> Poll<O::Outcome> {
        let mut next = (self.state == State::New).then_some(Input::Started);
        self.state = State::Begun;
        while let Some(input) = next.take().or_else(|| self.flights.land(cx)) {
            let outcome =
                self.tell(Some(cx.waker()), reads, |operation, cx| operation.on(cx, input));
            if let Some(outcome) = outcome {
                self.state = State::Done;
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    }

    /// Tells it something, and does what it wishes for then.
    fn tell<P>(
        &mut self,
        waker: Option<&Waker>,
        reads: &mut dyn FnMut() -> Vec<Command>,
        tell: impl FnOnce(&mut O, &mut Cx<'_>) -> P,
    ) -> P {
        let mut wishes = Vec::new();
        let runtime = &self.host.runtime;
        let now = runtime.now();
        let mut cx = Cx::new(now, runtime, reads, &mut self.flights.ids, &mut wishes);
        let told = tell(&mut self.operation, &mut cx);
        for wish in wishes {
            self.flights.grant(&self.host, wish, waker);
        }
        told
    }
}

impl<O: Operation, T: Transport, R: Runtime> Drop for Driven<O, T, R> {
    fn drop(&mut self) {
        if self.state == State::Begun {
            // First of all, abort what was sent.
            self.flights = Flights::default();
            self.tell(None, &mut Vec::new, |operation, cx| operation.cancel(cx));
        }
    }
}

type Answer = Result<Response, TransportError>;
type Ended = Result<u16, TransportError>;

/// Bytes that the transport received, and of which the operation was not told yet.
type Received = Arc<Mutex<Vec<u8>>>;

/// A future that an operation waits for.
type Boxed<O> = Pin<Box<dyn Future<Output = O> + Send>>;

#[derive(Default)]
struct Flights {
    /// The last id that was given out.
    ids: u32,
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
    /// Does what an operation wishes for. It does not know the operation's type, so its code exists
    /// once for all.
    fn grant<T: Transport, R: Runtime>(
        &mut self,
        host: &Arc<Host<T, R>>,
        wish: Wish,
        waker: Option<&Waker>,
    ) {
        let on = host.clone();
        match wish {
            Wish::Send(id, mut mail) => {
                let answer = async move { on.transport.send(mail.request()).await };
                self.answers.push((id, Box::pin(answer)));
            }
            Wish::Wake(id, time) => {
                let timer = async move { on.runtime.sleep(time).await };
                self.timers.push((id, Box::pin(timer)));
            }
            Wish::Listen(id, mut mail) => {
                let received = Received::default();
                let to = received.clone();
                let ended = Box::pin(async move {
                    let mut hear = |piece: &[u8]| locked(&to).extend_from_slice(piece);
                    on.transport.listen(mail.request(), &mut hear).await
                });
                let stream = Stream { received, has_ended: None, ended };
                self.streams.push((id, stream));
            }
            Wish::Stop(id) => drop(self.split_off(&[id])),
            Wish::Detach(operation, ids) => self.detach(host, operation, &ids, waker),
        }
    }

    /// When this returns, the transport has the first request of the operation, if there is a task
    /// to wake.
    fn detach<T: Transport, R: Runtime>(
        &mut self,
        host: &Arc<Host<T, R>>,
        operation: Background,
        ids: &[Id],
        waker: Option<&Waker>,
    ) {
        let state = if ids.is_empty() { State::New } else { State::Begun };
        let flights = self.split_off(ids);
        let mut detached = Driven { operation, state, flights, host: host.clone() };
        let mut go_on = move |cx: &mut Context<'_>| detached.poll(cx, &mut Vec::new);
        let is_done = waker.is_some_and(|waker| go_on(&mut Context::from_waker(waker)).is_ready());
        if !is_done {
            host.runtime.spawn(Box::pin(poll_fn(go_on)));
        }
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
            ids: self.ids,
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
