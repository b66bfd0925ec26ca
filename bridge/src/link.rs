//! One connection to Redis that many requests share.
//!
//! Requests leave in the order in which they were made, all that wait in one piece. Redis answers
//! them in that order. A request that was made is sent, even if nobody waits for its answer any
//! more: it may be on its way already.

mod driver;
mod reader;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis::{Pipeline, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::driver::{Awaited, Driver, Request};
pub(crate) use self::reader::{TOO_LARGE, cost, too_large};
use crate::budget::Limits;
use crate::command;
use crate::reused::Reusable;
use crate::topic::Message;

/// At this many bytes of unanswered requests the connection takes no more.
const UNANSWERED: usize = 32 * 1024 * 1024;

/// Each user has a clone. The connection closes when the last one is dropped.
#[derive(Clone)]
pub(crate) struct Link {
    requests: UnboundedSender<Request>,
    /// In bytes.
    unanswered: Arc<AtomicUsize>,
}

impl Link {
    /// Redis sends messages, besides answers, if they have a receiver.
    pub(crate) fn on(
        wire: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        limits: &Limits,
        messages: Option<UnboundedSender<Message>>,
    ) -> Self {
        let (requests, asked) = mpsc::unbounded_channel();
        let unanswered = Arc::<AtomicUsize>::default();
        let driver = Driver::new(wire, limits, asked, Arc::clone(&unanswered), messages);
        tokio::spawn(driver);
        Self { requests, unanswered }
    }

    /// Whether the unanswered requests have reached the bound. Those of clients that are gone count
    /// too.
    pub(crate) fn is_full(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) > UNANSWERED
    }

    /// Sends the commands in one piece, and returns a reply for each. The error `TimedOut` means
    /// that there was none in time, any other that the connection broke.
    ///
    /// Once this was polled, the commands are sent even if it is dropped.
    pub(crate) async fn ask(&self, commands: Arc<Pipeline>) -> Result<Vec<Value>, io::ErrorKind> {
        self.go_on(commands, 0).await
    }

    /// The same for a piece of a request. The replies to the pieces before it cost `spent`.
    pub(crate) async fn go_on(
        &self,
        commands: Arc<Pipeline>,
        spent: usize,
    ) -> Result<Vec<Value>, io::ErrorKind> {
        let (answer, answered) = oneshot::channel();
        let bytes = command::size(&commands);
        self.unanswered.fetch_add(bytes, Ordering::Relaxed);
        let awaited = Awaited {
            replies: commands.len(),
            came: Vec::with_capacity(commands.len()),
            cost: spent,
            bytes,
            since: Instant::now(),
            answer: Some(answer),
        };
        let _ = self.requests.send(Request { commands, awaited });
        answered.await.unwrap_or(Err(io::ErrorKind::NotConnected))
    }
}

impl Reusable for Link {
    fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }
}

#[cfg(test)]
mod tests;
