//! A name that can be locked.

use std::fmt;
use std::time::Duration;

use crate::client::{Client, Settled, Until};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::lease::{self, Lease};
use crate::name::Name;
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Acquired, Call, Inspection};
use crate::token::{Session, Token};
use crate::transport::Transport;
use crate::wait::Poll;

const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// A name that one holder at a time may have, and how to ask for it. Made by [`Client::lock`].
pub struct Lock<T, R> {
    pub(crate) client: Client<T, R>,
    pub(crate) name: Name,
    pub(crate) ttl: Duration,
    wait: Duration,
    max_requests: u32,
}

impl<T: Transport, R: Runtime> Lock<T, R> {
    pub(crate) const fn new(client: Client<T, R>, name: Name) -> Self {
        Self {
            client,
            name,
            ttl: Duration::from_secs(10),
            wait: Duration::from_secs(5),
            max_requests: 40,
        }
    }

    /// How long a lease lasts unless it is renewed: 1 ms to 24 h, in whole milliseconds. 10 s by itself.
    ///
    /// It is how long the others wait if a holder dies, and what a holder must get done within.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] out of that range, or with a fraction of a millisecond.
    pub fn ttl(mut self, ttl: Duration) -> Result<Self, Error> {
        if ttl.is_zero() || ttl > MAX_TTL || !ttl.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(Error::InvalidArgument(
                "a ttl is 1 ms to 24 h, in whole milliseconds".into(),
            ));
        }
        self.ttl = ttl;
        Ok(self)
    }

    /// How long [`Lock::acquire`] waits for another holder, at most; its requests end by then too. 5 s by itself. Zero is not to wait,
    /// as [`Lock::try_acquire`] does. 100 ms of a wait are kept for the last answer, so that it does not end unknown.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How many requests one acquisition may send before it gives up as when its wait is over; 0 counts as 1. 40 by itself: hosts
    /// of the edge count what a handler sends, and the smallest plans allow it 50.
    /// One that got lost is still repeated as [`Client::attempts`] says.
    #[must_use]
    pub const fn max_requests(mut self, requests: u32) -> Self {
        self.max_requests = requests;
        self
    }

    /// Takes the lock if it is free. One request, and only one unless requests get lost.
    ///
    /// # Errors
    /// [`Error::Held`] if another has it. [`Error::Expired`] if the answer took longer than the ttl. Those of the bridge
    /// otherwise; where [`Error::is_unknown`], the lock is abandoned in the background, and a request that arrives late cannot
    /// take it.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request and abandons the lock in the background.
    pub async fn try_acquire(&self) -> Result<Lease<T, R>, Error> {
        self.acquire_within(None, &[]).await.map(|(lease, _)| lease)
    }

    /// Takes the lock as soon as it is free, asking again at random pauses for up to [`Lock::wait`].
    ///
    /// # Errors
    /// As [`Lock::try_acquire`]; [`Error::Held`] when the wait is over, or [`Lock::max_requests`] are sent.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`].
    pub async fn acquire(&self) -> Result<Lease<T, R>, Error> {
        self.acquire_within(Some(self.wait), &[])
            .await
            .map(|(lease, _)| lease)
    }

    /// As [`Lock::acquire`], and reads what the critical section needs in the same request, under the lock.
    ///
    /// # Errors
    /// As [`Lock::acquire`]; [`Error::InvalidArgument`] if a command may write, since an acquisition is sent again when its
    /// reply is lost; [`Error::CommandFailed`] if a read failed, with the lock given back.
    ///
    /// # Cancel safety
    /// As [`Lock::try_acquire`].
    pub async fn acquire_and_read(
        &self,
        reads: &[Command],
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        script::check_reads(reads)?;
        self.acquire_within(Some(self.wait), reads).await
    }

    async fn acquire_within(
        &self,
        wait: Option<Duration>,
        reads: &[Command],
    ) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        let runtime = self.client.runtime();
        let wait = wait.filter(|wait| !wait.is_zero());
        let give_up = wait.map(|wait| runtime.now() + wait);
        let mut attempt = Attempt::new(self, reads)?;
        let mut poll = Poll::new();
        loop {
            let asked_at = runtime.now();
            let remaining = match attempt.ask(give_up).await? {
                Asked::Granted {
                    deadline,
                    fence,
                    replies,
                } => {
                    let (token, session) = attempt.settle();
                    let lease = Lease::new(self, token, session, fence, Some(deadline));
                    return Ok((lease, replies));
                }
                Asked::Held { remaining } => remaining,
            };
            if attempt.requests >= self.max_requests {
                return Err(Error::Held { remaining });
            }
            let now = runtime.now();
            let wait_left = give_up.map_or(Duration::ZERO, |give_up| give_up.since(now));
            let Some(pause) = poll.pause(runtime, remaining, wait_left, now.since(asked_at)) else {
                return Err(Error::Held { remaining });
            };
            runtime.sleep(pause).await;
        }
    }

    /// The lease behind a token that was handed over from another handler. Sends nothing: renew it to learn whether it is
    /// still held, and to give it a deadline; until then [`Lease::remaining`] is zero, and the fence is 0.
    ///
    /// Hand a lease over only when its calls have been answered: what the other handler sent and gave up on could be executed
    /// between this one's writes.
    ///
    /// # Errors
    /// [`Error::NoRandomness`] where the host gives none.
    pub fn resume(&self, token: Token) -> Result<Lease<T, R>, Error> {
        let session = Session::random(self.client.runtime())?;
        Ok(Lease::new(self, token, session, 0, None))
    }

    /// Who holds the lock, for how long yet, and the last fence. It may have changed when the answer arrives, so it is for
    /// people and for monitoring; to decide by, acquire.
    ///
    /// # Errors
    /// [`Error::WrongType`] if the key is no lock of this kind; those of the bridge.
    pub async fn inspect(&self) -> Result<Inspection, Error> {
        self.client
            .call_once(&Call::inspect(&self.name), script::inspected)
            .await
    }

    /// Frees the lock, whoever holds it; whether anybody did. The holder learns it at its next call.
    ///
    /// For an operator who knows that the holder is gone. It deletes the key, whatever is stored there.
    ///
    /// # Errors
    /// Those of the bridge.
    pub async fn force_release(&self) -> Result<bool, Error> {
        self.client
            .call_once(&Call::force_release(&self.name), script::yes_or_no)
            .await
    }
}

/// One acquisition under way. Unless it settles, dropping it abandons its token, so that a request which is still on its
/// way cannot take the lock for nobody.
struct Attempt<'a, T: Transport, R: Runtime> {
    lock: &'a Lock<T, R>,
    token: Token,
    session: Session,
    call: Call,
    /// Whether the lock may be, or may yet become, this token's.
    exposed: bool,
    requests: u32,
}

enum Asked {
    Granted {
        deadline: Moment,
        fence: u64,
        replies: Vec<Reply>,
    },
    Held {
        remaining: Option<Duration>,
    },
}

impl<'a, T: Transport, R: Runtime> Attempt<'a, T, R> {
    fn new(lock: &'a Lock<T, R>, reads: &[Command]) -> Result<Self, Error> {
        let (session, token) = Session::with_token(lock.client.runtime())?;
        let call = Call::acquire(&lock.name, &token, lock.ttl, reads);
        Ok(Self {
            lock,
            token,
            session,
            call,
            exposed: false,
            requests: 0,
        })
    }

    async fn ask(&mut self, give_up: Option<Moment>) -> Result<Asked, Error> {
        let client = &self.lock.client;
        let was_exposed = std::mem::replace(&mut self.exposed, true);
        let Settled {
            outcome,
            asked_at,
            strays,
            requests,
        } = client
            .call(
                &self.call,
                &self.session,
                Until::Ttl(self.lock.ttl, give_up),
                script::acquired,
            )
            .await;
        self.requests += requests;
        match outcome {
            Ok(Acquired::Granted { fence, replies }) => {
                let deadline = lease::deadline(asked_at, self.lock.ttl);
                if deadline <= client.runtime().now() {
                    return Err(Error::Expired);
                }
                Ok(Asked::Granted {
                    deadline,
                    fence,
                    replies,
                })
            }
            Ok(Acquired::Held { remaining }) => {
                self.exposed = was_exposed || strays;
                Ok(Asked::Held { remaining })
            }
            Ok(Acquired::Gone) => Err(Error::Lost),
            Err(error) => {
                let ran = error.is_unknown() || matches!(error, Error::CommandFailed { .. });
                self.exposed = was_exposed || strays || ran;
                Err(error)
            }
        }
    }

    /// The token and its session, which a lease now answers for.
    fn settle(mut self) -> (Token, Session) {
        self.exposed = false;
        (self.token.clone(), self.session.clone())
    }
}

impl<T: Transport, R: Runtime> Drop for Attempt<'_, T, R> {
    fn drop(&mut self) {
        if self.exposed {
            let client = self.lock.client.clone();
            let session = self.session.clone();
            let call = Call::abandon(&self.lock.name, &self.token);
            self.lock.client.runtime().spawn(Box::pin(async move {
                // Nobody is left to be told; what cannot be abandoned ends with its ttl.
                let _ = client
                    .call(&call, &session, Until::Timeout, script::yes_or_no)
                    .await;
            }));
        }
    }
}

impl<T, R> Clone for Lock<T, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: self.name.clone(),
            ttl: self.ttl,
            wait: self.wait,
            max_requests: self.max_requests,
        }
    }
}

impl<T, R> fmt::Debug for Lock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", &self.name.key())
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}
