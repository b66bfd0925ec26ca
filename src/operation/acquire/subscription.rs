//! Listening for one's turn while something else goes on.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use crate::bridge::Push;

/// What was heard and not looked at yet. The stream puts it in, the waiter takes it out.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<Option<Push>>);

impl Mailbox {
    /// A later message says all that an earlier one did, and whoever has heard one listens: bridges have been seen to say the
    /// two in reverse.
    pub(crate) fn put(&self, push: Push) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if push != Push::Listening || heard.is_none() {
            *heard = Some(push);
        }
    }

    fn take(&self) -> Option<Push> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A subscription, and the next one once it has ended: futures that put what they hear into a mailbox until the stream ends.
pub(crate) struct Line<'a, F, L> {
    stream: Pin<&'a mut Option<F>>,
    connect: L,
    mailbox: &'a Mailbox,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    Listening,
    Closed,
}

/// What came while something else went on.
pub(crate) enum Came<O> {
    Done(O),
    /// Nothing is missed from now on.
    Listening,
    Message(String),
    /// The stream ended; until the next is open nothing is heard.
    Closed,
}

impl<'a, F: Future<Output = ()>, L: Fn() -> F> Line<'a, F, L> {
    /// Nothing is sent until [`Line::open`].
    pub(crate) const fn new(
        stream: Pin<&'a mut Option<F>>,
        connect: L,
        mailbox: &'a Mailbox,
    ) -> Self {
        Self {
            stream,
            connect,
            mailbox,
            state: State::Idle,
        }
    }

    pub(crate) fn open(&mut self) {
        self.stream.set(Some((self.connect)()));
        self.state = State::Connecting;
    }

    pub(crate) fn is_connecting(&self) -> bool {
        self.state == State::Connecting
    }

    pub(crate) fn is_listening(&self) -> bool {
        self.state == State::Listening
    }

    /// It has ended, and was not opened again.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Waits for `other`, or for something to be heard.
    pub(crate) async fn during<O>(&mut self, other: impl Future<Output = O>) -> Came<O> {
        let mut other = pin!(other);
        poll_fn(|cx| match other.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Came::Done(output)),
            Poll::Pending => self.poll(cx),
        })
        .await
    }

    fn poll<O>(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Came<O>> {
        let Some(stream) = self.stream.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let ended = stream.poll(cx).is_ready();
        if ended {
            self.stream.set(None);
            self.state = State::Closed;
        }
        match self.mailbox.take() {
            Some(Push::Message(message)) => {
                self.state = if ended {
                    State::Closed
                } else {
                    State::Listening
                };
                Poll::Ready(Came::Message(message))
            }
            _ if ended => Poll::Ready(Came::Closed),
            Some(Push::Listening) => {
                self.state = State::Listening;
                Poll::Ready(Came::Listening)
            }
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_does_not_hide_the_message_before_it() {
        let mailbox = Mailbox::default();
        mailbox.put(Push::Listening);
        mailbox.put(Push::Message("7 8".into()));
        mailbox.put(Push::Listening);
        assert_eq!(mailbox.take(), Some(Push::Message("7 8".into())));
        mailbox.put(Push::Listening);
        assert_eq!(mailbox.take(), Some(Push::Listening));
    }
}
