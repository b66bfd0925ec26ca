//! A critical section in two requests: acquire and read, then write and release.

use std::time::Duration;

use edgelock::{Command, Decision, Error, Lease, Lock, Reply, Runtime, Transport};

use crate::problem::Problem;
use crate::shop::Shop;

/// How long a section may take before others may go on. It takes two round trips. The ttl is for a
/// Worker that died in it.
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// How long a request may wait for replicas. They are milliseconds behind, or away.
const REPLICATED: Duration = Duration::from_secs(1);

/// How long a caller waits for its turn.
pub(crate) const WAIT: Duration = Duration::from_secs(5);

impl<T: Transport, R: Runtime> Shop<T, R> {
    /// Runs `decide` on what `reads` found and on the lock's fence, and writes what it decided.
    /// Meanwhile nobody else is in a section of the same name. It writes exactly once. If the lock
    /// was lost in between, it writes nothing.
    ///
    /// # Errors
    /// The refusal of `decide`; 503 if the lock was not free in time, was lost, or the bridge is
    /// away.
    pub(crate) async fn section<A>(
        &self,
        name: &str,
        reads: &[Command],
        decide: impl FnOnce(&[Reply], u64) -> Result<Decision<A>, Problem>,
    ) -> Result<A, Problem> {
        let (answer, _) = self.section_with_replies(name, reads, decide).await?;
        Ok(answer)
    }

    /// As [`Shop::section`], and returns the replies to the commands that were written.
    ///
    /// # Errors
    /// As [`Shop::section`].
    pub(crate) async fn section_with_replies<A>(
        &self,
        name: &str,
        reads: &[Command],
        decide: impl FnOnce(&[Reply], u64) -> Result<Decision<A>, Problem>,
    ) -> Result<(A, Vec<Reply>), Problem> {
        section_under(&self.section_lock(name).wait_timeout(WAIT), reads, decide).await
    }

    /// Takes the lock of a section, with what `reads` found, without a wait. `None` if another is
    /// in it.
    ///
    /// # Errors
    /// As [`Shop::section`].
    pub(crate) async fn enter_if_free(
        &self,
        name: &str,
        reads: &[Command],
    ) -> Result<Option<(Lease<T, R>, Vec<Reply>)>, Problem> {
        let lock = self.section_lock(name).wait_timeout(Duration::ZERO);
        match lock.acquire_and_read(reads).await {
            Ok(entered) => Ok(Some(entered)),
            Err(Error::Held { .. }) => Ok(None),
            Err(error) => Err(Problem::of(error)),
        }
    }

    /// The lock of a section.
    pub(crate) fn section_lock(&self, name: &str) -> Lock<T, R> {
        self.of_section(self.client.lock(name))
    }

    /// The locks of several sections at once.
    pub(crate) fn section_locks(&self, names: &[String]) -> Lock<T, R> {
        self.of_section(self.client.lock_all(names))
    }

    fn of_section(&self, lock: Lock<T, R>) -> Lock<T, R> {
        let label = self.isolate.label(self.client.runtime());
        self.replicated(lock.ttl(TTL).label(label))
    }

    /// So many replicas must have `lock`, and what is written under it, as this Worker is told to
    /// wait for.
    pub(crate) fn replicated(&self, lock: Lock<T, R>) -> Lock<T, R> {
        match self.replicas {
            Some(count) => lock.wait_for_replicas(count, REPLICATED),
            None => lock,
        }
    }
}

/// As [`Shop::section_with_replies`], under `lock`.
///
/// # Errors
/// As [`Shop::section`].
pub(crate) async fn section_under<T: Transport, R: Runtime, A>(
    lock: &Lock<T, R>,
    reads: &[Command],
    decide: impl FnOnce(&[Reply], u64) -> Result<Decision<A>, Problem>,
) -> Result<(A, Vec<Reply>), Problem> {
    let (lease, replies) = lock.acquire_and_read(reads).await.map_err(Problem::of)?;
    finish(lease, &replies, decide).await
}

/// Decides, and does what was decided. If nothing is committed, dropping the lease releases it, and
/// the answer need not wait for that. After a commit with an unknown outcome, dropping also makes
/// sure that none runs late.
async fn finish<T: Transport, R: Runtime, A>(
    lease: Lease<T, R>,
    replies: &[Reply],
    decide: impl FnOnce(&[Reply], u64) -> Result<Decision<A>, Problem>,
) -> Result<(A, Vec<Reply>), Problem> {
    match decide(replies, lease.fence())? {
        Decision::Write(commands, answer) => {
            let replies = lease.commit(&commands).await.map_err(Problem::of_write)?;
            Ok((answer, replies))
        }
        Decision::Leave(answer) => Ok((answer, Vec::new())),
    }
}
