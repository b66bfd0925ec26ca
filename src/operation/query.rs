//! What is asked, and how that ended.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Fault;
use crate::replicas::Replicas;
use crate::runtime::Instant;
use crate::script::{Answer, Call};
use crate::token::Session;
use crate::topology::Topology;

/// What is asked, of whom, and for which session.
#[derive(Clone)]
pub(super) struct Query {
    pub(super) topology: Topology,
    pub(super) call: Arc<Call>,
    pub(super) session: Session,
}

impl Query {
    /// How long a request may take. One that waits for replicas may take that much longer.
    pub(super) fn longest(&self) -> Duration {
        let replicas = self.call.replicas();
        let wait = replicas.map_or(Duration::ZERO, Replicas::within);
        self.topology.request_timeout.saturating_add(wait)
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
