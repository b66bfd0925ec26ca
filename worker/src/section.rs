//! A critical section in two requests: acquire and read, then write and release.

use std::time::Duration;

use edgelock::{Command, Reply, Runtime, Transport};

use crate::http::Response;
use crate::problem::Problem;
use crate::shop::Shop;

/// How long a section may take before others may go on. It takes two round trips; this is for a Worker that died in it.
const TTL: Duration = Duration::from_secs(10);

/// How long a caller is kept waiting for its turn.
const WAIT: Duration = Duration::from_secs(5);

/// What a section comes to.
pub(crate) enum Decision {
    /// All of these commands, and then this answer.
    Write(Vec<Command>, Response),
    /// Nothing is written.
    Leave(Response),
}

impl<T: Transport, R: Runtime> Shop<T, R> {
    /// Runs `decide` on what `reads` found and on the lock's fence, while nobody else is in a section of the same name, and
    /// writes what it decided. Exactly once: if the lock was lost in between, nothing is written.
    ///
    /// # Errors
    /// What `decide` refuses with; 503 if the lock could not be had, was lost, or the bridge is away.
    pub(crate) async fn section(
        &self,
        name: &str,
        reads: &[Command],
        decide: impl FnOnce(&[Reply], u64) -> Result<Decision, Problem>,
    ) -> Result<Response, Problem> {
        let lock = self
            .client
            .lock(name)
            .and_then(|lock| lock.ttl(TTL))
            .map_err(Problem::of)?
            .wait(WAIT);
        let (lease, replies) = lock.acquire_and_read(reads).await.map_err(Problem::of)?;
        // Where nothing is committed, dropping the lease releases it, and the answer need not wait for it. After a commit with an
        // unknown outcome that also makes sure that none comes late.
        match decide(&replies, lease.fence())? {
            Decision::Write(commands, answer) => {
                lease.commit(&commands).await.map_err(Problem::of_write)?;
                Ok(answer)
            }
            Decision::Leave(answer) => Ok(answer),
        }
    }
}
