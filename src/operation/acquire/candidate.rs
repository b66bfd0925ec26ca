//! One acquisition under way: asks, waits for its turn, and cleans up after itself.

mod inquiry;
mod voted;
mod waiting;

use std::time::Duration;

use crate::acquisition::Place;
use crate::claim::Claim;
use crate::client::Client;
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::event::EventKind;
use crate::lease::{self, Lease, Terms};
use crate::operation::{Settled, Until};
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Acquired, Call, Contended, Reads, Waiter};
use crate::transport::Transport;
use crate::wait;

pub(crate) use inquiry::Inquiry;

/// How patient an acquisition is.
pub(crate) struct Patience {
    /// For how long it waits, if it does.
    pub(crate) wait: Option<Duration>,
    pub(crate) max_requests: u32,
    pub(crate) fair: bool,
    /// Whether it has what its reads found even if it is not granted.
    pub(crate) reads_in_any_case: bool,
}

/// Unless it settles, dropping it abandons its token, so that a request which is still on its way cannot take the lock for
/// nobody, and leaves the queue.
pub(crate) struct Attempt<T: Transport, R: Runtime> {
    claim: Claim<T, R>,
    call: Call,
    patience: Patience,
    /// What is to be read is asked for anew before each request.
    reads: Option<Inquiry>,
    waiter: Option<Waiter>,
    /// Where it may hear of its turn.
    channel: Option<String>,
    /// Whether a lease that was handed over is complete, or something is still to be asked for.
    takes_over: bool,
    /// Whether the lock may be, or may yet become, this token's, or it stands in the queue.
    exposed: bool,
    requests: u32,
    /// How often it asked several bridges.
    tries: u32,
    /// Its first request has had all the attempts that one has; those behind it are the wait's.
    has_asked: bool,
    /// It has begun to wait, and nothing has come of that yet.
    waits: bool,
}

/// The lock was granted.
struct Grant {
    deadline: Moment,
    fence: u64,
    replies: Vec<Reply>,
}

enum Asked {
    Granted(Grant),
    Held(Found),
}

/// What an answer said of a lock that another holds.
#[derive(Clone)]
struct Found {
    contended: Contended,
    /// Before the request left, and how long its answer took.
    asked_at: Moment,
    round_trip: Duration,
}

/// Asking, listening, asking again and leaving the queue: with fewer there is no point in standing in one.
const REQUESTS_OF_A_WAIT: u32 = 4;

impl<T: Transport, R: Runtime> Attempt<T, R> {
    /// One that always reads the same.
    pub(crate) fn reading(claim: Claim<T, R>, patience: Patience, reads: &[Command]) -> Self {
        Self::new(claim, patience, reads, None)
    }

    /// One that asks what it is to read.
    pub(crate) fn asking(claim: Claim<T, R>, patience: Patience, reads: Inquiry) -> Self {
        Self::new(claim, patience, &[], Some(reads))
    }

    fn new(
        mut claim: Claim<T, R>,
        mut patience: Patience,
        fixed: &[Command],
        reads: Option<Inquiry>,
    ) -> Self {
        let stands = patience.wait.is_some() && patience.max_requests >= REQUESTS_OF_A_WAIT;
        let channel = (stands && claim.client.may_push())
            .then(|| claim.kind.channel(&claim.name, claim.waits_as()))
            .flatten();
        let waiter = (stands && claim.kind.queues()).then(|| {
            let liveness = wait::liveness(claim.ttl);
            Waiter::new(
                &claim.token,
                claim.ttl.min(liveness),
                claim.ttl,
                liveness,
                patience.fair,
                &claim.label,
                channel.as_deref(),
            )
        });
        let own = Place {
            ttl: claim.ttl,
            label: claim.label.clone(),
            fair: patience.fair,
            waiter,
            channel,
        };
        let Place {
            ttl,
            label,
            fair,
            waiter,
            channel,
        } = match &claim.caller {
            Some(caller) => caller.stand(own),
            None => own,
        };
        (claim.ttl, claim.label, patience.fair) = (ttl, label, fair);
        let waiter_ = waiter.as_ref();
        Self {
            call: call(&claim, &patience, waiter_, fixed),
            takes_over: takes_over(&claim, waiter_, fixed),
            exposed: false,
            requests: 0,
            tries: 0,
            has_asked: false,
            waits: false,
            claim,
            patience,
            reads,
            waiter,
            channel,
        }
    }

    /// Has the next request read what is to be read by now.
    async fn update(&mut self) -> Result<(), Error> {
        if !self.claim.is_own() {
            return Err(Error::Lost {
                lock: self.claim.lock(),
            });
        }
        let Some(reads) = &self.reads else {
            return Ok(());
        };
        let reads = reads.ask().await;
        script::check_reads(&reads)?;
        self.claim.kind.check_commands(&reads)?;
        let waiter = self.waiter.as_ref();
        self.call = call(&self.claim, &self.patience, waiter, &reads);
        self.takes_over = takes_over(&self.claim, waiter, &reads);
        Ok(())
    }

    /// Takes the lock, or waits for it.
    pub(crate) async fn acquire(mut self) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        match self.be_granted().await {
            Ok(grant) => Ok(self.settle(grant)),
            Err(error) => {
                self.leave().await;
                Err(error)
            }
        }
    }

    /// Takes the lock if it is free, and has what was read in any case, if `patience` says so.
    pub(crate) async fn acquire_if_free(
        mut self,
    ) -> Result<(Option<Lease<T, R>>, Vec<Reply>), Error> {
        match self.ask().await {
            Ok(Asked::Granted(grant)) => {
                let (lease, replies) = self.settle(grant);
                Ok((Some(lease), replies))
            }
            Ok(Asked::Held(found)) => {
                self.leave().await;
                Ok((None, found.contended.replies))
            }
            Err(error) => {
                self.leave().await;
                Err(error)
            }
        }
    }

    /// Before anybody learns that it came to nothing, and goes on as if this one did not wait any more.
    async fn leave(&mut self) {
        if let Some(call) = self.giving_up() {
            self.requests = self.requests.saturating_add(1);
            self.claim.call_ahead(call).await;
        }
    }

    /// The first time with all that an attempt without a wait has: a wait is for another holder, not for the way to the bridge.
    async fn be_granted(&mut self) -> Result<Grant, Error> {
        let last = match self.ask().await {
            Ok(Asked::Granted(grant)) => return Ok(grant),
            Ok(Asked::Held(found)) => Ok(found),
            Err(error) => Err(error),
        };
        self.has_asked = true;
        let may_pass = last.as_ref().err().is_none_or(Error::ends);
        match self.patience.wait.filter(|_| may_pass) {
            Some(wait) => self.wait(wait, last).await,
            None => Err(match last {
                Ok(found) => self.held(found.contended, None),
                Err(error) => error,
            }),
        }
    }

    async fn ask(&mut self) -> Result<Asked, Error> {
        self.update().await?;
        if self.claim.kind.is_voted() {
            self.ask_several().await
        } else {
            let client = self.claim.client.clone();
            // A wait sends again by its own rules.
            let most = if self.has_asked { 1 } else { u32::MAX };
            let until = Until::Ttl {
                ttl: self.claim.ttl,
                requests: self.requests_left().clamp(1, most),
            };
            self.ask_by(&client, until).await
        }
    }

    /// Asks once by `client`, however often that sends.
    async fn ask_by(&mut self, client: &Client<T, R>, until: Until) -> Result<Asked, Error> {
        let was_exposed = std::mem::replace(&mut self.exposed, true);
        let Settled {
            outcome,
            asked_at,
            strays,
            requests,
            ..
        } = client.call(&self.call, &self.claim.session, until).await;
        self.requests += requests;
        let now = client.runtime().now();
        match outcome {
            Ok(Acquired::Granted { fence, replies }) => {
                let deadline = lease::deadline(asked_at, self.claim.ttl);
                if deadline <= now {
                    return Err(Error::Expired {
                        lock: self.claim.lock(),
                    });
                }
                Ok(Asked::Granted(Grant {
                    deadline,
                    fence,
                    replies,
                }))
            }
            Ok(Acquired::Held(contended)) => {
                self.exposed = was_exposed || strays || self.waiter.is_some();
                Ok(Asked::Held(Found {
                    contended,
                    asked_at,
                    round_trip: now.since(asked_at),
                }))
            }
            Ok(Acquired::Quarantined(retry_after)) => {
                self.exposed = was_exposed || strays;
                Err(Error::Quarantined {
                    lock: self.claim.lock(),
                    retry_after,
                })
            }
            Ok(Acquired::Gone) => Err(Error::Lost {
                lock: self.claim.lock(),
            }),
            Err(error) => {
                let ran = error.is_unknown()
                    || matches!(
                        error,
                        Error::CommandFailed { .. } | Error::Unreplicated { .. }
                    );
                self.exposed = was_exposed || strays || ran;
                Err(error)
            }
        }
    }

    /// What to say when the wait was in vain, with an estimate of when to come back, or without: then when the holder's time is up.
    fn held(&self, found: Contended, estimate: Option<Duration>) -> Error {
        let at_expiry = found.remaining.unwrap_or(Duration::from_secs(60));
        Error::Held {
            lock: self.claim.lock(),
            remaining: found.remaining,
            ahead: found.ahead,
            label: found.label,
            retry_after: estimate.unwrap_or(at_expiry),
            requests: self.requests.saturating_add(self.exposed.into()),
        }
    }

    /// What gives up all that was asked for with its token, whatever became of it, if there is anything.
    fn giving_up(&mut self) -> Option<Call> {
        (std::mem::take(&mut self.exposed) && self.claim.is_own())
            .then(|| Call::abandon(self.claim.subject(), self.waiter.as_ref()))
    }

    /// What it may still send, with one kept for leaving the queue.
    fn requests_left(&self) -> u32 {
        let kept = u32::from(self.waiter.is_some());
        self.patience
            .max_requests
            .saturating_sub(self.requests.saturating_add(kept))
    }

    /// How often it may still ask.
    fn tries_left(&self) -> u32 {
        self.requests_left() / self.claim.kind.requests_of_a_try()
    }

    /// A lease now answers for the token.
    fn settle(mut self, grant: Grant) -> (Lease<T, R>, Vec<Reply>) {
        self.exposed = false;
        self.waits = false;
        let now = self.claim.client.runtime().now();
        self.claim.observe(EventKind::Acquired {
            waited: now.since(self.claim.since),
            requests: self.requests,
        });
        let claim = Claim {
            since: now,
            ..self.claim.clone()
        };
        let terms = Terms::new(grant.fence, Some(claim.ttl));
        let lease = Lease::new(claim, terms, Some(grant.deadline));
        (lease, grant.replies)
    }
}

fn call<T: Transport, R: Runtime>(
    claim: &Claim<T, R>,
    patience: &Patience,
    waiter: Option<&Waiter>,
    reads: &[Command],
) -> Call {
    let subject = claim.subject();
    let reads = Reads {
        commands: reads,
        in_any_case: patience.reads_in_any_case,
    };
    Call::acquire(subject, claim.ttl, waiter, patience.fair, reads)
        .replicated(claim.replicas.as_ref())
}

fn takes_over<T, R>(claim: &Claim<T, R>, waiter: Option<&Waiter>, reads: &[Command]) -> bool {
    let is_whole = waiter.is_some_and(|waiter| claim.ttl <= waiter.liveness);
    // Whoever hands it over waits for no replicas.
    is_whole && reads.is_empty() && claim.replicas.is_none()
}

impl<T: Transport, R: Runtime> Drop for Attempt<T, R> {
    fn drop(&mut self) {
        if let Some(call) = self.giving_up() {
            self.requests = self.requests.saturating_add(1);
            self.claim.call_in_background(call, |_, _| {});
        }
        if self.waits {
            self.claim.observe(EventKind::GaveUp {
                waited: self.claim.age(),
                requests: self.requests,
            });
        }
    }
}
