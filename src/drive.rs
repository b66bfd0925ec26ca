//! Driving operations on a host: sends what they say, wakes them, lets them listen, and tells them what came of it.
//!
//! What an operation waits for are futures of the host's [`Transport`] and [`Runtime`], polled in the task of whoever waits for the
//! operation. Dropping that drops them, so nothing outlives its caller but what the operation detached.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::command::Command;
use crate::operation::{Background, Cx, Id, Input, Mail, Operation, Wish};
use crate::runtime::{Runtime, SendOutsideWasm};
use crate::transport::{Response, Transport, TransportError};

/// What operations are driven on.
pub(crate) struct Host<T, R> {
    pub(crate) transport: T,
    pub(crate) runtime: R,
}

/// Does `operation`.
pub(crate) async fn drive<O: Operation + 'static, T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    operation: O,
) -> O::Outcome {
    drive_reading(host, operation, Vec::new).await
}

/// Does `operation`, which asks for what it is to read by now.
pub(crate) async fn drive_reading<O: Operation + 'static, T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    operation: O,
    mut reads: impl FnMut() -> Vec<Command>,
) -> O::Outcome {
    let mut driven = driven(host.clone(), operation);
    poll_fn(|cx| driven.poll(cx, &mut reads)).await
}

/// Has `operation` done in the host's background.
pub(crate) fn drive_in_background<T: Transport, R: Runtime>(
    host: &Arc<Host<T, R>>,
    operation: impl Operation<Outcome = ()> + Send + 'static,
) {
    let mut driven = driven(host.clone(), operation);
    let task = poll_fn(move |cx| driven.poll(cx, &mut Vec::new));
    host.runtime.spawn(Box::pin(task));
}

fn driven<O: Operation + 'static, T: Transport, R: Runtime>(
    host: Arc<Host<T, R>>,
    operation: O,
) -> Driven<O, T, R, impl Flight<Answer>, impl Flight<()>, impl Flight<Ended>> {
    Driven {
        operation,
        state: State::New,
        flights: Flights::none(),
        ids: 0,
        send: sending::<T, R>,
        sleep: sleeping::<T, R>,
        listen: listening::<T, R>,
        host,
    }
}

type Answer = Result<Response, TransportError>;
type Ended = Result<u16, TransportError>;

/// Something that an operation waits for, on its way.
trait Flight<O>: Future<Output = O> + SendOutsideWasm + 'static {}

impl<O, F: Future<Output = O> + SendOutsideWasm + 'static> Flight<O> for F {}

/// What was heard and not told yet: the transport puts it in.
type Heard = Arc<Mutex<Vec<u8>>>;

async fn sending<T: Transport, R>(host: Arc<Host<T, R>>, mut mail: Mail) -> Answer {
    host.transport.send(mail.request()).await
}

async fn listening<T: Transport, R>(host: Arc<Host<T, R>>, mut mail: Mail, heard: Heard) -> Ended {
    let mut hear = |piece: &[u8]| locked(&heard).extend_from_slice(piece);
    host.transport.listen(mail.request(), &mut hear).await
}

async fn sleeping<T, R: Runtime>(host: Arc<Host<T, R>>, time: Duration) {
    host.runtime.sleep(time).await;
}

/// An operation, and what it waits for.
struct Driven<O, T, R, A, S, L>
where
    O: Operation,
    T: Transport,
    R: Runtime,
    A: Flight<Answer>,
    S: Flight<()>,
    L: Flight<Ended>,
{
    operation: O,
    state: State,
    flights: Flights<A, S, L>,
    /// The last that was given to something it waits for.
    ids: u32,
    host: Arc<Host<T, R>>,
    send: fn(Arc<Host<T, R>>, Mail) -> A,
    sleep: fn(Arc<Host<T, R>>, Duration) -> S,
    listen: fn(Arc<Host<T, R>>, Mail, Heard) -> L,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Begun,
    Done,
}

impl<O, T, R, A, S, L> Driven<O, T, R, A, S, L>
where
    O: Operation,
    T: Transport,
    R: Runtime,
    A: Flight<Answer>,
    S: Flight<()>,
    L: Flight<Ended>,
{
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        reads: &mut dyn FnMut() -> Vec<Command>,
    ) -> Poll<O::Outcome> {
        let mut next = (self.state == State::New).then_some(Input::Started);
        self.state = State::Begun;
        while let Some(input) = next.take().or_else(|| self.flights.land(cx)) {
            let tell = |operation: &mut O, cx: &mut Cx<'_>| operation.on(cx, input);
            if let Some(outcome) = self.tell(Some(cx.waker()), reads, tell) {
                self.state = State::Done;
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    }

    /// Tells the operation something, and does as it wishes.
    fn tell<P>(
        &mut self,
        waker: Option<&Waker>,
        reads: &mut dyn FnMut() -> Vec<Command>,
        tell: impl FnOnce(&mut O, &mut Cx<'_>) -> P,
    ) -> P {
        let mut wishes = Vec::new();
        let runtime = &self.host.runtime;
        let now = runtime.now();
        let mut cx = Cx::new(now, runtime, reads, &mut self.ids, &mut wishes);
        let told = tell(&mut self.operation, &mut cx);
        for wish in wishes {
            self.grant(wish, waker);
        }
        told
    }

    fn grant(&mut self, wish: Wish, waker: Option<&Waker>) {
        let host = self.host.clone();
        match wish {
            Wish::Send(id, mail) => {
                let answer = (self.send)(host, mail);
                self.flights.answers.push((id, Box::pin(answer)));
            }
            Wish::Wake(id, time) => {
                let timer = (self.sleep)(host, time);
                self.flights.timers.push((id, Box::pin(timer)));
            }
            Wish::Listen(id, mail) => {
                let heard = Heard::default();
                let ended = (self.listen)(host, mail, heard.clone());
                let stream = Stream {
                    heard,
                    has_ended: None,
                    ended: Box::pin(ended),
                };
                self.flights.streams.push((id, stream));
            }
            Wish::Stop(id) => drop(self.flights.split_off(&[id])),
            Wish::Detach(operation, ids) => self.detach(operation, &ids, waker),
        }
    }

    /// A request that it begins with is with the transport when this comes back, if there is somebody to wake.
    fn detach(&mut self, operation: Background, ids: &[Id], waker: Option<&Waker>) {
        let mut detached = Driven {
            operation,
            state: match ids {
                [] => State::New,
                _ => State::Begun,
            },
            flights: self.flights.split_off(ids),
            ids: self.ids,
            host: self.host.clone(),
            send: self.send,
            sleep: self.sleep,
            listen: self.listen,
        };
        let mut go_on = move |cx: &mut Context<'_>| detached.poll(cx, &mut Vec::new);
        let is_done = waker.is_some_and(|waker| go_on(&mut Context::from_waker(waker)).is_ready());
        if !is_done {
            self.host.runtime.spawn(Box::pin(poll_fn(go_on)));
        }
    }
}

impl<O, T, R, A, S, L> Drop for Driven<O, T, R, A, S, L>
where
    O: Operation,
    T: Transport,
    R: Runtime,
    A: Flight<Answer>,
    S: Flight<()>,
    L: Flight<Ended>,
{
    fn drop(&mut self) {
        if self.state == State::Begun {
            // First of all, what was sent is aborted.
            self.flights = Flights::none();
            self.tell(None, &mut Vec::new, O::cancel);
        }
    }
}

/// What an operation waits for.
struct Flights<A, S, L> {
    answers: Vec<(Id, Pin<Box<A>>)>,
    timers: Vec<(Id, Pin<Box<S>>)>,
    streams: Vec<(Id, Stream<L>)>,
}

struct Stream<L> {
    heard: Heard,
    /// Once it has, as soon as what was heard before is told.
    has_ended: Option<Ended>,
    ended: Pin<Box<L>>,
}

impl<A, S, L> Flights<A, S, L> {
    const fn none() -> Self {
        Self {
            answers: Vec::new(),
            timers: Vec::new(),
            streams: Vec::new(),
        }
    }
}

impl<A, S, L> Flights<A, S, L>
where
    A: Future<Output = Answer>,
    S: Future<Output = ()>,
    L: Future<Output = Ended>,
{
    /// The next thing that has happened. An answer goes before a timer that is over at the same time, and that before what is heard.
    fn land(&mut self, cx: &mut Context<'_>) -> Option<Input> {
        let answered = land(&mut self.answers, |answer| answer.as_mut().poll(cx));
        if let Some((id, answer)) = answered {
            return Some(Input::Answered(id, answer));
        }
        if let Some((id, ())) = land(&mut self.timers, |timer| timer.as_mut().poll(cx)) {
            return Some(Input::Woken(id));
        }
        let heard = self.streams.iter_mut().find_map(|(id, stream)| {
            let piece = stream.hear(cx);
            (!piece.is_empty()).then_some(Input::Heard(*id, piece))
        });
        heard.or_else(|| {
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

impl<L: Future<Output = Ended>> Stream<L> {
    fn hear(&mut self, cx: &mut Context<'_>) -> Vec<u8> {
        if self.has_ended.is_none()
            && let Poll::Ready(ended) = self.ended.as_mut().poll(cx)
        {
            self.has_ended = Some(ended);
        }
        std::mem::take(&mut *locked(&self.heard))
    }

    fn end(&mut self) -> Poll<Ended> {
        match self.has_ended.take() {
            Some(ended) => Poll::Ready(ended),
            None => Poll::Pending,
        }
    }
}

/// Takes out the first that is ready.
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
    if ids.is_empty() {
        return Vec::new();
    }
    let (theirs, kept) = std::mem::take(flights)
        .into_iter()
        .partition(|(id, _)| ids.contains(id));
    *flights = kept;
    theirs
}

/// Nothing is left half-changed under this mutex.
fn locked(heard: &Mutex<Vec<u8>>) -> std::sync::MutexGuard<'_, Vec<u8>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
