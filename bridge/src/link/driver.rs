//! Moves the bytes of a connection, in a task of its own.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use redis::{Pipeline, Value};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

use super::reader::{Malformed, Reader};
use crate::budget::Limits;
use crate::topic::Message;

/// How much is read at once, and how much room is kept for writing, in bytes.
const CHUNK: usize = 16 * 1024;
const KEPT: usize = 64 * 1024;

pub(super) struct Request {
    pub(super) commands: Arc<Pipeline>,
    pub(super) awaited: Awaited,
}

/// A request that was sent, or is about to be.
pub(super) struct Awaited {
    pub(super) replies: usize,
    pub(super) came: Vec<Value>,
    /// What the replies cost so far, with those to earlier pieces of the request.
    pub(super) cost: usize,
    pub(super) bytes: usize,
    /// When the request was made, or Redis was last heard of.
    pub(super) since: Instant,
    /// `None` once the answer is too late.
    pub(super) answer: Option<oneshot::Sender<Result<Vec<Value>, io::ErrorKind>>>,
}

pub(super) struct Driver<S> {
    wire: S,
    requests: UnboundedReceiver<Request>,
    messages: Option<UnboundedSender<Message>>,
    unanswered: Arc<AtomicUsize>,
    timeout: Duration,
    awaited: VecDeque<Awaited>,
    unsent: Vec<u8>,
    /// How much of that the system took.
    sent: usize,
    reader: Reader,
    /// What a reply that nobody awaits cost so far.
    unasked_cost: usize,
    /// For the oldest request, or an older one. A timer for each request would be set and cancelled
    /// as often as requests come.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> Driver<S> {
    pub(super) fn new(
        wire: S,
        limits: &Limits,
        requests: UnboundedReceiver<Request>,
        unanswered: Arc<AtomicUsize>,
        messages: Option<UnboundedSender<Message>>,
    ) -> Self {
        Self {
            wire,
            requests,
            unanswered,
            timeout: limits.timeout,
            awaited: VecDeque::new(),
            unsent: Vec::new(),
            sent: 0,
            reader: Reader::new(limits.max_reply, messages.is_some()),
            unasked_cost: 0,
            alarm: None,
            messages,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Driver<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let is_needed = this.take_requests(cx);
        // Does both, even if the other one cannot go on: otherwise each side would wait for the
        // other to read. Replies that came before the end count.
        let written = this.write(cx);
        let ended = match (this.read(cx), written) {
            (Poll::Ready(kind), _) | (Poll::Pending, Poll::Ready(Err(kind))) => Some(kind),
            (Poll::Pending, _) => None,
        };
        if let Some(kind) = ended {
            this.requests.close();
            while let Ok(request) = this.requests.try_recv() {
                this.awaited.push_back(request.awaited);
            }
            for answer in this.awaited.drain(..).filter_map(|request| request.answer) {
                let _ = answer.send(Err(kind));
            }
            return Poll::Ready(());
        }
        this.give_up_what_is_late(cx);
        match is_needed || this.awaited.iter().any(|request| request.answer.is_some()) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    /// Returns whether there may be more requests.
    fn take_requests(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(request) = self.requests.poll_recv(cx) {
            let Some(Request { commands, awaited }) = request else {
                return false;
            };
            for command in commands.cmd_iter() {
                command.write_packed_command(&mut self.unsent);
            }
            self.awaited.push_back(awaited);
        }
        true
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), io::ErrorKind>> {
        while self.sent < self.unsent.len() {
            let left = &self.unsent[self.sent..];
            match ready!(Pin::new(&mut self.wire).poll_write(cx, left)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero)),
                Ok(sent) => self.sent += sent,
                Err(error) => return Poll::Ready(Err(error.kind())),
            }
        }
        self.unsent.clear();
        self.unsent.shrink_to(KEPT);
        self.sent = 0;
        Pin::new(&mut self.wire).poll_flush(cx).map_err(|error| error.kind())
    }

    /// Reads until there is nothing more. Ready only at the end of the connection.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<io::ErrorKind> {
        let mut chunk = [MaybeUninit::uninit(); CHUNK];
        loop {
            let mut chunk = ReadBuf::uninit(&mut chunk);
            if let Err(error) = ready!(Pin::new(&mut self.wire).poll_read(cx, &mut chunk)) {
                return Poll::Ready(error.kind());
            }
            if chunk.filled().is_empty() {
                return Poll::Ready(io::ErrorKind::UnexpectedEof);
            }
            if let Err(Malformed) = self.came(chunk.filled()) {
                return Poll::Ready(io::ErrorKind::InvalidData);
            }
        }
    }

    fn came(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            let cost = match self.awaited.front_mut() {
                Some(request) if self.messages.is_none() => &mut request.cost,
                _ => &mut self.unasked_cost,
            };
            if let Some(reply) = self.reader.next(&mut bytes, cost)? {
                self.unasked_cost = 0;
                self.arrived(reply);
            }
        }
        Ok(())
    }

    fn arrived(&mut self, reply: Value) {
        let reply = match &self.messages {
            Some(messages) => match Message::of(reply) {
                Ok(message) => {
                    let _ = messages.send(message);
                    // Answers come behind messages, which may be many. A server that sends messages
                    // does not hang.
                    let now = Instant::now();
                    self.awaited.iter_mut().for_each(|asked| asked.since = now);
                    return;
                }
                // Stands for a reply that was too large. A listener's own name that is larger is
                // never confirmed.
                Err(Value::Nil) => return,
                Err(reply) => reply,
            },
            None => reply,
        };
        // Redis says without being asked that it has no place for this connection.
        let Some(request) = self.awaited.front_mut() else {
            return;
        };
        request.came.push(reply);
        if request.came.len() < request.replies {
            return;
        }
        if let Some(request) = self.awaited.pop_front() {
            self.unanswered.fetch_sub(request.bytes, Ordering::Relaxed);
            if let Some(answer) = request.answer {
                let _ = answer.send(Ok(request.came));
            }
        }
    }

    /// Replies to these requests are still counted.
    fn give_up_what_is_late(&mut self, cx: &mut Context<'_>) {
        loop {
            let mut waiting = (self.awaited.iter_mut()).filter(|request| request.answer.is_some());
            let Some(first) = waiting.next() else {
                return;
            };
            let ends = first.since + self.timeout;
            let alarm = (self.alarm).get_or_insert_with(|| Box::pin(sleep_until(ends)));
            if alarm.as_mut().poll(cx).is_pending() {
                return;
            }
            if alarm.deadline() < ends {
                alarm.as_mut().reset(ends);
            } else if let Some(answer) = first.answer.take() {
                let _ = answer.send(Err(io::ErrorKind::TimedOut));
            }
        }
    }
}
