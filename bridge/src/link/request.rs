//! A request on its way, and what may become of it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::{Pipeline, Value};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How to treat the other end.
pub(crate) struct Terms {
    /// How long to wait for an answer.
    pub(crate) timeout: Duration,
    /// The largest answer that passes, in bytes.
    pub(crate) largest: usize,
}

/// Why there is no answer to a request that was sent.
#[derive(Clone, Copy)]
pub(crate) enum Unanswered {
    Late,
    Broken(io::ErrorKind),
}

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
    pub(super) answer: Option<oneshot::Sender<Result<Vec<Value>, Unanswered>>>,
}

/// For the log.
impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("timed out"),
            Self::Broken(kind) => kind.fmt(f),
        }
    }
}
