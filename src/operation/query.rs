//! What is asked, and how that ended.

use std::sync::Arc;

use crate::error::{BadResponse, Error, Fault};
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::script::{Answer, Call};
use crate::token::Session;
use crate::topology::Topology;
use crate::transport::TransportError;

/// What is asked, of whom, and for which session.
#[derive(Clone)]
pub(super) struct Query {
    pub(super) topology: Arc<Topology>,
    pub(super) call: Arc<Call>,
    pub(super) session: Session,
}

impl Query {
    /// How long a request may take. One that waits for replicas may take that much longer.
    pub(super) fn longest(&self) -> Nanos {
        let timeout = Nanos::of(self.topology.request_timeout);
        match self.call.replicas() {
            Some(replicas) => timeout + Nanos::of(replicas.within()),
            None => timeout,
        }
    }
}

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

/// What it means for the script that no response came within `timeout`.
pub(super) fn unanswered(error: TransportError, timeout: Nanos) -> Fault {
    match error {
        TransportError::NotSent(message) => Fault::unavailable(message, false),
        TransportError::NoResponse(message) => Fault::unavailable(message, true),
        TransportError::TimedOut => Fault::timed_out(timeout.duration()),
        TransportError::TooLarge => Fault::bad(BadResponse::TooLarge),
        why @ TransportError::Interrupted(_) => Fault::from(Error::BadResponse {
            lock: None,
            kind: BadResponse::Truncated,
            source: Some(why),
            can_repeat: false,
        }),
    }
}
