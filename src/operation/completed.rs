//! How a call ended: its outcome, and when its requests left.

use crate::error::Error;
use crate::runtime::Instant;

/// How a call ended.
pub(crate) struct Completed<O> {
    pub(crate) outcome: Result<O, Error>,
    /// Read before its first request left.
    pub(crate) begun_at: Instant,
    /// Read before the request left that was answered. Deadlines are computed from it.
    pub(crate) asked_at: Instant,
    /// Whether a request before the last one may still be executed.
    pub(crate) earlier_may_run: bool,
    /// How often it was sent.
    pub(crate) requests: u32,
}

impl<O> Completed<O> {
    pub(crate) fn and_then<P>(self, read: impl FnOnce(O) -> Result<P, Error>) -> Completed<P> {
        Completed {
            outcome: self.outcome.and_then(read),
            begun_at: self.begun_at,
            asked_at: self.asked_at,
            earlier_may_run: self.earlier_may_run,
            requests: self.requests,
        }
    }
}
