//! How a call ended: its answer, and when its requests left.

use crate::error::Fault;
use crate::runtime::Instant;
use crate::script::Answer;

/// How a call ended.
pub(crate) struct Completed {
    pub(crate) outcome: Result<Answer, Fault>,
    /// Read before its first request left.
    pub(crate) begun_at: Instant,
    /// Read before the request left that was answered. Deadlines are computed from it.
    pub(crate) asked_at: Instant,
    /// Whether a request before the last one may still be executed.
    pub(crate) earlier_may_run: bool,
    /// How often it was sent.
    pub(crate) requests: u32,
}
