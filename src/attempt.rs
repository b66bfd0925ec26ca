//! One acquisition under way: asks, waits for its turn, and cleans up after itself.

mod voted;

use std::pin::pin;
use std::time::Duration;

use crate::claim::Claim;
use crate::client::{Client, Settled, Until};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::event::EventKind;
use crate::lease::{self, Lease};
use crate::line::{Came, Line, Mailbox};
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Acquired, Call, Contended, Waiter};
use crate::transport::Transport;
use crate::wait::{self, Wait};

/// How patient an acquisition is.
pub(crate) struct Patience {
    /// For how long it waits, if it does.
    pub(crate) wait: Option<Duration>,
    pub(crate) max_requests: u32,
    pub(crate) fair: bool,
}

/// Unless it settles, dropping it abandons its token, so that a request which is still on its way cannot take the lock for
/// nobody, and leaves the queue.
pub(crate) struct Attempt<T: Transport, R: Runtime> {
    claim: Claim<T, R>,
    call: Call,
    patience: Patience,
    give_up: Option<Moment>,
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
struct Found {
    contended: Contended,
    /// Before the request left, and how long its answer took.
    asked_at: Moment,
    round_trip: Duration,
}

/// Asking, listening, asking again and leaving the queue: with fewer there is no point in standing in one.
const REQUESTS_OF_A_WAIT: u32 = 4;

/// A subscription that takes longer is still taken, but meanwhile the waiter polls.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);

impl<T: Transport, R: Runtime> Attempt<T, R> {
    pub(crate) fn new(claim: Claim<T, R>, patience: Patience, reads: &[Command]) -> Self {
        let wait = patience.wait.filter(|wait| {
            Wait::is_worthwhile(*wait) && patience.max_requests >= REQUESTS_OF_A_WAIT
        });
        let channel = wait
            .filter(|_| claim.client.may_push())
            .and_then(|_| claim.kind.channel(&claim.name, &claim.session));
        let waiter = wait.filter(|_| claim.kind.queues()).map(|wait| {
            let liveness = wait::liveness(claim.ttl, wait, patience.max_requests);
            Waiter::new(
                &claim.token,
                claim.ttl.min(liveness),
                liveness,
                patience.fair,
                channel.as_deref(),
            )
        });
        let whole = waiter
            .as_ref()
            .is_some_and(|waiter| claim.ttl <= waiter.liveness);
        Self {
            call: Call::acquire(
                claim.subject(),
                claim.ttl,
                waiter.as_ref(),
                patience.fair,
                reads,
            )
            .replicated(claim.replicas.as_ref()),
            give_up: patience.wait.map(|wait| claim.since + wait),
            // Whoever hands it over waits for no replicas.
            takes_over: whole && reads.is_empty() && claim.replicas.is_none(),
            exposed: false,
            requests: 0,
            tries: 0,
            claim,
            patience,
            waiter,
            channel,
        }
    }

    /// Takes the lock, or waits for it.
    pub(crate) async fn acquire(mut self) -> Result<(Lease<T, R>, Vec<Reply>), Error> {
        match self.be_granted().await {
            Ok(grant) => Ok(self.settle(grant)),
            Err(error) => {
                // Before anybody learns of it, and goes on as if this one did not wait any more.
                if let Some(call) = self.giving_up() {
                    self.claim.call_ahead(call).await;
                }
                Err(error)
            }
        }
    }

    async fn be_granted(&mut self) -> Result<Grant, Error> {
        match self.ask().await? {
            Asked::Granted(grant) => Ok(grant),
            Asked::Held(found) => self.wait(found).await,
        }
    }

    /// Asks whenever there is reason to, until the lock is granted or the wait is over.
    async fn wait(&mut self, mut found: Found) -> Result<Grant, Error> {
        let (Some(wait), Some(give_up)) = (self.patience.wait, self.give_up) else {
            return Err(self.held(&found.contended, None));
        };
        let Contended {
            remaining, ahead, ..
        } = found.contended;
        self.claim
            .observe(EventKind::Contended { remaining, ahead });
        let client = self.claim.client.clone();
        let liveness = wait::liveness(self.claim.ttl, wait, self.patience.max_requests);
        let tries = self.patience.max_requests / self.claim.kind.requests_of_a_try();
        let mut plan = Wait::new(give_up, wait, liveness, tries);

        let mailbox = Mailbox::default();
        let mut hear = |push| mailbox.put(push);
        let channel = self.channel.take().filter(|_| client.pushes());
        let limit = give_up.since(client.runtime().now());
        let stream = pin!(client.listen(channel.as_deref().unwrap_or_default(), limit, &mut hear));
        let mut line = Line::new(stream, &mailbox);
        if channel.is_some() {
            self.requests += 1;
            line.open();
        }
        let connected_by = client.runtime().now() + CONNECTED_WITHIN;

        loop {
            let now = client.runtime().now();
            let connecting = line.is_connecting() && now < connected_by;
            let hears = line.is_listening() || connecting;
            let pause = if self.requests_left() > 0 {
                let left = self.requests_left() / self.claim.kind.requests_of_a_try();
                plan.pause(
                    client.runtime(),
                    &found.contended,
                    found.round_trip,
                    hears,
                    left,
                )
            } else {
                plan.rest(now).filter(|_| hears && self.takes_over)
            };
            let Some(mut pause) = pause else {
                let estimate = plan.estimate(&found.contended, now);
                return Err(self.held(&found.contended, estimate));
            };
            if connecting {
                pause = pause.min(connected_by.since(now));
            }
            match line.during(client.runtime().sleep(pause)).await {
                Came::Message(message) => {
                    if let Some(grant) = self.take_over(&message, &found) {
                        return Ok(grant);
                    }
                }
                // From now on it polls.
                Came::Closed => continue,
                // Whoever is ahead takes a lock that was freed meanwhile, and hands it on.
                Came::Listening if found.contended.ahead > 0 => continue,
                Came::Listening if self.requests_left() == 0 => continue,
                // The lock may have been freed before anybody could be told.
                Came::Listening | Came::Done(()) => {}
            }
            if self.requests_left() == 0 {
                let estimate = plan.estimate(&found.contended, client.runtime().now());
                return Err(self.held(&found.contended, estimate));
            }
            match self.ask_while_listening(&mut line, &found).await? {
                Asked::Granted(grant) => return Ok(grant),
                Asked::Held(still) => found = still,
            }
        }
    }

    /// Asks, and again where what was heard meanwhile may have come after the answer.
    async fn ask_while_listening<F: Future<Output = ()>>(
        &mut self,
        line: &mut Line<'_, F>,
        before: &Found,
    ) -> Result<Asked, Error> {
        loop {
            let mut heard = None;
            let mut again = false;
            let mut asked = None;
            {
                let mut asking = pin!(self.ask());
                while asked.is_none() && heard.is_none() {
                    match line.during(asking.as_mut()).await {
                        Came::Done(answer) => asked = Some(answer?),
                        Came::Message(message) => heard = Some(message),
                        Came::Listening => again = true,
                        Came::Closed => {}
                    }
                }
            }
            if let Some(message) = heard {
                // What was asked is no longer waited for, but it was sent.
                self.requests += 1;
                if let Some(grant) = self.take_over(&message, before) {
                    return Ok(Asked::Granted(grant));
                }
            } else if let Some(asked) = asked {
                match &asked {
                    Asked::Held(found) if again && found.contended.ahead == 0 => {}
                    _ => return Ok(asked),
                }
            }
            if self.requests_left() == 0 {
                return Err(self.held(&before.contended, None));
            }
        }
    }

    async fn ask(&mut self) -> Result<Asked, Error> {
        if self.claim.kind.is_voted() {
            self.ask_several().await
        } else {
            let client = self.claim.client.clone();
            self.ask_by(&client).await
        }
    }

    /// Asks once by `client`, however often that sends.
    async fn ask_by(&mut self, client: &Client<T, R>) -> Result<Asked, Error> {
        let was_exposed = std::mem::replace(&mut self.exposed, true);
        let until = Until::Ttl {
            ttl: self.claim.ttl,
            give_up: self.give_up,
            requests: self.requests_left().max(1),
        };
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
    fn held(&self, found: &Contended, estimate: Option<Duration>) -> Error {
        let at_expiry = found.remaining.unwrap_or(Duration::from_secs(60));
        Error::Held {
            lock: self.claim.lock(),
            remaining: found.remaining,
            ahead: found.ahead,
            retry_after: estimate.unwrap_or(at_expiry),
            requests: self.requests.saturating_add(self.exposed.into()),
        }
    }

    /// What gives up all that was asked for with its token, whatever became of it, if there is anything.
    fn giving_up(&mut self) -> Option<Call> {
        std::mem::take(&mut self.exposed)
            .then(|| Call::abandon(self.claim.subject(), self.waiter.as_ref()))
    }

    /// The lease that a release handed over, if `message` says so and nothing more is to be asked for.
    ///
    /// When it is over is reckoned from this waiter's own last request, by Redis's clock: never from the arrival of a message that
    /// may have been on its way for long. Should that clock have jumped, from the arrival.
    fn take_over(&self, message: &str, found: &Found) -> Option<Grant> {
        let handover = script::handed_over(message).filter(|_| self.takes_over)?;
        // Whatever was before the last answer is superseded by it.
        let since_answer = handover
            .redis_us
            .checked_sub(found.contended.redis_us)
            .filter(|us| *us > 0)?;
        let ttl = self.claim.ttl;
        let now = self.claim.client.runtime().now();
        let reckoned = lease::deadline(
            found.asked_at,
            Duration::from_micros(since_answer).saturating_add(ttl),
        );
        let deadline = reckoned.min(lease::deadline(now, ttl));
        // One that is half over is worth a request that makes it whole.
        (deadline.since(now) >= ttl / 2).then_some(Grant {
            deadline,
            fence: handover.fence,
            replies: Vec::new(),
        })
    }

    /// What it may still send, with one kept for leaving the queue.
    fn requests_left(&self) -> u32 {
        let kept = u32::from(self.waiter.is_some());
        self.patience
            .max_requests
            .saturating_sub(self.requests.saturating_add(kept))
    }

    /// A lease now answers for the token.
    fn settle(mut self, grant: Grant) -> (Lease<T, R>, Vec<Reply>) {
        self.exposed = false;
        let now = self.claim.client.runtime().now();
        self.claim.observe(EventKind::Acquired {
            waited: now.since(self.claim.since),
            requests: self.requests,
        });
        let claim = Claim {
            since: now,
            ..self.claim.clone()
        };
        let lease = Lease::new(claim, grant.fence, Some(grant.deadline));
        (lease, grant.replies)
    }
}

impl<T: Transport, R: Runtime> Drop for Attempt<T, R> {
    fn drop(&mut self) {
        if let Some(call) = self.giving_up() {
            self.claim.call_in_background(call, |_, _| {});
        }
    }
}
