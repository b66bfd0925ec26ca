//! The answers, timers and streams that an operation waits for.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::locked::locked;
use crate::operation::{Id, Input};
use crate::transport::{Response, TransportError};

pub(super) type Answer = Result<Response, TransportError>;
pub(super) type Ended = Result<u16, TransportError>;

/// Bytes that the transport received, and of which the operation was not told yet.
pub(super) type Received = Arc<Mutex<Vec<u8>>>;

/// A future that an operation waits for.
pub(super) trait Flight<O>: Future<Output = O> + Send + 'static {}

impl<O, F: Future<Output = O> + Send + 'static> Flight<O> for F {}

type Boxed<O> = Pin<Box<dyn Flight<O>>>;

pub(super) struct Flights {
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
    pub(super) const fn none() -> Self {
        Self { answers: Vec::new(), timers: Vec::new(), streams: Vec::new() }
    }

    pub(super) fn send(&mut self, id: Id, answer: impl Flight<Answer>) {
        self.answers.push((id, Box::pin(answer)));
    }

    pub(super) fn wake(&mut self, id: Id, timer: impl Flight<()>) {
        self.timers.push((id, Box::pin(timer)));
    }

    pub(super) fn listen(&mut self, id: Id, received: Received, ended: impl Flight<Ended>) {
        let stream = Stream { received, has_ended: None, ended: Box::pin(ended) };
        self.streams.push((id, stream));
    }

    /// The next thing that has happened. If several have, an answer comes before a timer, and a
    /// timer before a stream.
    pub(super) fn land(&mut self, cx: &mut Context<'_>) -> Option<Input> {
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

    pub(super) fn split_off(&mut self, ids: &[Id]) -> Self {
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
