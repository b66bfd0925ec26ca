//! A critical section in two requests: acquire and read, then write and release.

use std::time::Duration;

use edgelock::{Command, Decision, Lock, Reply, Runtime, Transport};

use crate::problem::Problem;

/// How long a section may take before others may go on. It takes two round trips. The ttl is for a
/// Worker that died in it.
pub const TTL: Duration = Duration::from_secs(10);

/// How long a caller waits for its turn.
pub const WAIT: Duration = Duration::from_secs(5);

/// For a decision that is made without the lock. One that writes is void.
pub const NO_FENCE: u64 = 0;

/// Runs `decide` on what `reads` found and on the lock's fence, and writes what it decided.
/// Meanwhile nobody else is in a section of the same name. It writes exactly once. If the lock was
/// lost in between, it writes nothing. Returns the replies to what was written, too.
///
/// If nothing is committed, dropping the lease releases it, and the answer need not wait for that.
/// After a commit with an unknown outcome, dropping also makes sure that none runs late.
///
/// # Errors
/// The refusal of `decide`; 503 if the lock was not free in time, was lost, or the bridge is away.
pub async fn section<T: Transport, R: Runtime, A>(
    lock: &Lock<T, R>,
    reads: &[Command],
    decide: impl FnOnce(&[Reply], u64) -> Result<Decision<A>, Problem>,
) -> Result<(A, Vec<Reply>), Problem> {
    let (lease, replies) = lock.acquire_and_read(reads).await.map_err(Problem::of)?;
    match decide(&replies, lease.fence())? {
        Decision::Write(commands, answer) => {
            let replies = lease.commit(&commands).await.map_err(Problem::of_write)?;
            Ok((answer, replies))
        }
        Decision::Leave(answer) => Ok((answer, Vec::new())),
    }
}
