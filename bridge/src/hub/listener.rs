//! A listener: its own end, and the hub's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::body::Bytes;
use redis::ServerError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::topic::Topic;

/// How much a listener may have unread, in bytes, when another message comes.
const BACKLOG: usize = 256 * 1024;

/// What a message counts for, in bytes, besides its own bytes.
const MESSAGE: usize = 64;

/// The messages on one topic, for one listener. Dropping it ends the listening.
pub(crate) struct Listener {
    pub(super) topic: Topic,
    pub(super) messages: UnboundedReceiver<Bytes>,
    pub(super) backlog: Arc<AtomicUsize>,
    pub(super) requests: UnboundedSender<Request>,
}

/// What a listener asks of the hub.
pub(super) enum Request {
    Join(Topic, Subscriber),
    /// By the backlog, which is the listener's own.
    Leave(Topic, Arc<AtomicUsize>),
}

/// The hub's end of a listener.
pub(super) struct Subscriber {
    pub(super) messages: UnboundedSender<Bytes>,
    pub(super) backlog: Arc<AtomicUsize>,
    /// Until Redis has answered the subscription.
    pub(super) waits: Option<oneshot::Sender<Result<(), ServerError>>>,
}

impl Listener {
    /// The next event, or `None`: Redis is gone, or this listener was too slow.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        let event = self.messages.recv().await?;
        (self.backlog).fetch_sub(event.len() + MESSAGE, Ordering::Relaxed);
        Some(event)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let leave = Request::Leave(self.topic.clone(), Arc::clone(&self.backlog));
        let _ = self.requests.send(leave);
    }
}

impl Subscriber {
    /// What Redis answered to the subscription.
    pub(super) fn told(&mut self, answer: Result<(), ServerError>) {
        if let Some(waits) = self.waits.take() {
            let _ = waits.send(answer);
        }
    }

    /// Whether it still listens, and reads.
    pub(super) fn hear(&self, event: &Bytes) -> bool {
        if self.backlog.load(Ordering::Relaxed) > BACKLOG {
            return false;
        }
        (self.backlog).fetch_add(event.len() + MESSAGE, Ordering::Relaxed);
        self.messages.send(event.clone()).is_ok()
    }
}
