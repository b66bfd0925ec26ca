//! A lock that is held, until a deadline.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::client::{Client, Settled, Until};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::lock::Lock;
use crate::name::Name;
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Call, Write};
use crate::token::{Session, Token};
use crate::transport::Transport;

/// The proof of a held lock, and what may be done under it.
///
/// A lease ends by [`release`](Lease::release) or [`commit`](Lease::commit), by its deadline, or by being lost. Dropping it
/// does not release: Redis frees the lock when the ttl is over.
///
/// Calls on one lease may overlap, except that of [`exec`](Lease::exec), [`commit`](Lease::commit) and
/// [`release`](Lease::release) one at a time runs.
#[must_use = "a lease that is not released keeps others out until its ttl is over"]
pub struct Lease<T, R> {
    client: Client<T, R>,
    name: Name,
    token: Token,
    fence: u64,
    ttl: Duration,
    /// Tells this lease's writes from those of another that resumed the same token.
    session: Session,
    state: Mutex<State>,
}

struct State {
    /// `None` for a resumed lease that was not renewed yet.
    deadline: Option<Moment>,
    writes: u64,
    writing: bool,
    ended: Option<Error>,
}

/// When a lease is over by the holder's clock: `ttl` after its request left, less a margin for clocks that run at different
/// rates and for Redis's own granularity. 1 % and 2 ms are those of Redlock
/// (<https://redis.io/docs/latest/develop/use/patterns/distributed-locks/>).
pub(crate) fn deadline(asked_at: Moment, ttl: Duration) -> Moment {
    let drift = ttl / 100 + Duration::from_millis(2);
    asked_at + ttl.saturating_sub(drift)
}

/// Nothing of a lease is written behind its release.
const LAST_WRITE: u64 = (1 << 53) - 1;

impl<T: Transport, R: Runtime> Lease<T, R> {
    pub(crate) fn new(
        lock: &Lock<T, R>,
        token: Token,
        session: Session,
        fence: u64,
        deadline: Option<Moment>,
    ) -> Self {
        let state = State {
            deadline,
            writes: 0,
            writing: false,
            ended: None,
        };
        Self {
            client: lock.client.clone(),
            name: lock.name.clone(),
            ttl: lock.ttl,
            token,
            session,
            fence,
            state: Mutex::new(state),
        }
    }

    /// A number that is higher than that of every earlier lease of this name, below 2^53. Storage outside of Redis can refuse
    /// a write whose fence is lower than the last it saw, and so be safe from a holder that outlived its lease
    /// (<https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html>).
    pub const fn fence(&self) -> u64 {
        self.fence
    }

    /// The proof of this acquisition, to hand the lease over: see [`crate::Lock::resume`].
    pub const fn token(&self) -> &Token {
        &self.token
    }

    /// How long the lease surely lasts yet, by the local clock; zero once that is over, or the lease has ended.
    ///
    /// In a deployed Worker the clock stands still between requests, so time spent computing is not seen.
    pub fn remaining(&self) -> Duration {
        let state = self.state();
        match (&state.ended, state.deadline) {
            (None, Some(deadline)) => deadline.since(self.client.runtime().now()),
            _ => Duration::ZERO,
        }
    }

    /// Gives the lease its full ttl again, from now.
    ///
    /// # Errors
    /// [`Error::Lost`] if it is no longer held, [`Error::Expired`] past the deadline: then it is not tried, since another may
    /// have been the holder in between. Those of the bridge otherwise; the lease is then as it was, and may be renewed again.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. The ttl in Redis may have been renewed; the deadline was not.
    pub async fn renew(&self) -> Result<(), Error> {
        let until = self.check_held()?;
        let write = Write {
            session: &self.session,
            number: 0,
            commands: &[],
        };
        let call = Call::renew(&self.name, &self.token, self.ttl, &write);
        self.write(&call, until).await.map(drop)
    }

    /// Runs `commands` if the lease is still held, and renews it, in one request. They are applied exactly once, or, with an
    /// error other than [`Error::CommandFailed`] that is not [unknown](Error::is_unknown), not at all.
    ///
    /// # Errors
    /// Those of [`Lease::renew`], with nothing executed if it is [`Error::Lost`] or [`Error::Expired`]. [`Error::CommandFailed`]
    /// if a command failed; the others were executed. [`Error::Busy`] while another write of this lease is under way.
    /// [`Error::InvalidArgument`] for a command of over 1,000 words.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request, and whether the commands ran is unknown. They do not run after a later write.
    pub async fn exec(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        script::check_size(commands)?;
        let until = self.check_held()?;
        let writing = Writing::begin(self)?;
        let write = Write {
            session: &self.session,
            number: writing.number,
            commands,
        };
        let call = Call::renew(&self.name, &self.token, self.ttl, &write);
        self.write(&call, until).await
    }

    /// Runs `commands` if the lease is still held, and releases it, in one request. They are applied exactly once, or not at
    /// all, as with [`Lease::exec`].
    ///
    /// # Errors
    /// As [`Lease::exec`]. After [`Error::CommandFailed`] the lease is released all the same.
    ///
    /// # Cancel safety
    /// As [`Lease::exec`].
    pub async fn commit(&self, commands: &[Command]) -> Result<Vec<Reply>, Error> {
        script::check_size(commands)?;
        let until = self.check_held()?;
        let writing = Writing::begin(self)?;
        self.finish(until, writing.number, commands).await
    }

    /// Gives the lock back. Past the deadline it is tried too, since Redis may still keep others out.
    ///
    /// # Errors
    /// [`Error::Lost`] if it was no longer held, [`Error::Released`] the second time, [`Error::Busy`] while another write of this
    /// lease is under way. Those of the bridge otherwise; releasing again is then safe, and worth trying.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request; the lock may or may not be released.
    pub async fn release(&self) -> Result<(), Error> {
        if let Some(error) = &self.state().ended {
            return Err(error.clone());
        }
        let _writing = Writing::begin(self)?;
        self.finish(Until::Timeout, LAST_WRITE, &[]).await.map(drop)
    }

    async fn finish(
        &self,
        until: Until,
        number: u64,
        commands: &[Command],
    ) -> Result<Vec<Reply>, Error> {
        let write = Write {
            session: &self.session,
            number,
            commands,
        };
        let call = Call::release(&self.name, &self.token, &write);
        let outcome = self
            .client
            .call(&call, &self.session, until, script::written)
            .await
            .outcome;
        let mut state = self.state();
        match outcome {
            Ok(Some(_)) | Err(Error::CommandFailed { .. }) => state.ended = Some(Error::Released),
            Ok(None) => state.ended = Some(Error::Lost),
            Err(_) => {}
        }
        outcome?.ok_or(Error::Lost)
    }

    /// A write after which the lease goes on, with its full ttl.
    async fn write(&self, call: &Call, until: Until) -> Result<Vec<Reply>, Error> {
        let Settled {
            outcome, asked_at, ..
        } = self
            .client
            .call(call, &self.session, until, script::written)
            .await;
        let mut state = self.state();
        match outcome {
            Ok(Some(_)) | Err(Error::CommandFailed { .. }) => {
                // Overlapping calls may be answered out of order.
                state.deadline = state.deadline.max(Some(deadline(asked_at, self.ttl)));
            }
            Ok(None) if state.ended.is_none() => state.ended = Some(Error::Lost),
            _ => {}
        }
        outcome?.ok_or(Error::Lost)
    }

    /// Until when a request under this lease makes sense, or why none does.
    fn check_held(&self) -> Result<Until, Error> {
        let state = self.state();
        match (&state.ended, state.deadline) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(deadline)) if deadline <= self.client.runtime().now() => {
                Err(Error::Expired)
            }
            (None, Some(deadline)) => Ok(Until::Deadline(deadline)),
            (None, None) => Ok(Until::Timeout),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// Nothing is left half-changed under this mutex, so a panic elsewhere while it was held does not matter.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one write of a lease that may be under way: numbers tell Redis which came first, so they must be sent in order.
struct Writing<'a> {
    state: &'a Mutex<State>,
    number: u64,
}

impl<'a> Writing<'a> {
    fn begin<T: Transport, R: Runtime>(lease: &'a Lease<T, R>) -> Result<Self, Error> {
        let mut state = lease.state();
        if state.writing {
            return Err(Error::Busy);
        }
        state.writing = true;
        state.writes += 1;
        Ok(Self {
            state: &lease.state,
            number: state.writes,
        })
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        locked(self.state).writing = false;
    }
}

/// Without the token.
impl<T, R> fmt::Debug for Lease<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", &self.name.key())
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
