//! Driving operations on a host: sends what they say, wakes them, and tells them what came of it.
//!
//! What an operation waits for are futures of the host's [`Transport`] and [`Runtime`], polled in the task of whoever waits for the
//! operation. Dropping it drops them, so nothing that a caller began outlives the caller, but what the operation detached.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::bridge::Post;
use crate::operation::{Background, Cx, Id, Input, Operation, Wish};
use crate::runtime::Runtime;
use crate::topology::Topology;
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
    let mut driven = driven(host.clone(), operation);
    poll_fn(move |cx| driven.poll(cx)).await
}

fn driven<O: Operation + 'static, T: Transport, R: Runtime>(
    host: Arc<Host<T, R>>,
    operation: O,
) -> Driven<O, T, R, impl Future<Output = Answer>, impl Future<Output = ()>> {
    Driven {
        operation,
        begun: false,
        flights: Flights {
            answers: Vec::new(),
            timers: Vec::new(),
        },
        ids: 0,
        send: sending::<T, R>,
        sleep: sleeping::<T, R>,
        host,
    }
}

type Answer = Result<Response, TransportError>;

async fn sending<T: Transport, R>(
    host: Arc<Host<T, R>>,
    topology: Topology,
    node: usize,
    mut post: Post,
) -> Answer {
    let body = std::mem::take(&mut post.body);
    let bridge = &topology.nodes()[node].bridge;
    host.transport.send(bridge.request(&post, body)).await
}

async fn sleeping<T, R: Runtime>(host: Arc<Host<T, R>>, time: Duration) {
    host.runtime.sleep(time).await;
}

/// An operation, and what it waits for.
struct Driven<O, T, R, A, S> {
    operation: O,
    begun: bool,
    flights: Flights<A, S>,
    /// The last that was given to something it waits for.
    ids: u32,
    host: Arc<Host<T, R>>,
    send: fn(Arc<Host<T, R>>, Topology, usize, Post) -> A,
    sleep: fn(Arc<Host<T, R>>, Duration) -> S,
}

impl<O, T, R, A, S> Driven<O, T, R, A, S>
where
    O: Operation,
    T: Transport,
    R: Runtime,
    A: Future<Output = Answer> + 'static,
    S: Future<Output = ()> + 'static,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<O::Outcome> {
        let mut next = (!std::mem::replace(&mut self.begun, true)).then_some(Input::Started);
        loop {
            let Some(input) = next.take().or_else(|| self.flights.land(cx)) else {
                return Poll::Pending;
            };
            if let Some(outcome) = self.tell(input, cx.waker()) {
                return Poll::Ready(outcome);
            }
        }
    }

    /// Tells the operation what happened, and does as it wishes.
    fn tell(&mut self, input: Input, waker: &Waker) -> Option<O::Outcome> {
        let mut wishes = Vec::new();
        let runtime = &self.host.runtime;
        let mut cx = Cx::new(runtime.now(), runtime, &mut self.ids, &mut wishes);
        let outcome = self.operation.on(&mut cx, input);
        for wish in wishes {
            match wish {
                Wish::Send(id, topology, node, post) => {
                    let answer = (self.send)(self.host.clone(), topology, node, post);
                    self.flights.answers.push((id, Box::pin(answer)));
                }
                Wish::Wake(id, time) => {
                    let timer = (self.sleep)(self.host.clone(), time);
                    self.flights.timers.push((id, Box::pin(timer)));
                }
                Wish::Detach(operation, ids) => self.detach(operation, &ids, waker),
            }
        }
        outcome
    }

    /// A request that it begins with is with the transport when this comes back.
    fn detach(&mut self, operation: Background, ids: &[Id], waker: &Waker) {
        let mut detached = Driven {
            operation,
            begun: !ids.is_empty(),
            flights: self.flights.split_off(ids),
            ids: self.ids,
            host: self.host.clone(),
            send: self.send,
            sleep: self.sleep,
        };
        let polled = detached.poll(&mut Context::from_waker(waker));
        if polled.is_pending() {
            let task = poll_fn(move |cx| detached.poll(cx));
            self.host.runtime.spawn(Box::pin(task));
        }
    }
}

/// What an operation waits for.
struct Flights<A, S> {
    answers: Vec<(Id, Pin<Box<A>>)>,
    timers: Vec<(Id, Pin<Box<S>>)>,
}

impl<A: Future<Output = Answer>, S: Future<Output = ()>> Flights<A, S> {
    /// The next that has come. An answer goes before a timer that is over at the same time.
    fn land(&mut self, cx: &mut Context<'_>) -> Option<Input> {
        let answered = land(&mut self.answers, cx);
        answered
            .map(|(id, answer)| Input::Answered(id, answer))
            .or_else(|| land(&mut self.timers, cx).map(|(id, ())| Input::Woken(id)))
    }

    fn split_off(&mut self, ids: &[Id]) -> Self {
        Self {
            answers: split_off(&mut self.answers, ids),
            timers: split_off(&mut self.timers, ids),
        }
    }
}

fn land<F: Future>(
    flights: &mut Vec<(Id, Pin<Box<F>>)>,
    cx: &mut Context<'_>,
) -> Option<(Id, F::Output)> {
    let polled = flights
        .iter_mut()
        .enumerate()
        .find_map(|(at, (id, flight))| match flight.as_mut().poll(cx) {
            Poll::Ready(output) => Some((at, *id, output)),
            Poll::Pending => None,
        });
    let (at, id, output) = polled?;
    flights.swap_remove(at);
    Some((id, output))
}

fn split_off<F>(flights: &mut Vec<(Id, F)>, ids: &[Id]) -> Vec<(Id, F)> {
    let (theirs, kept) = std::mem::take(flights)
        .into_iter()
        .partition(|(id, _)| ids.contains(id));
    *flights = kept;
    theirs
}
