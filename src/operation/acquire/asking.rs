//! Asking for a lock that several bridges have.

use super::{Asked, Attempt, Grant};
use crate::error::Error;
use crate::operation::Until;
use crate::runtime::Runtime;
use crate::script::{Call, Reads};
use crate::token::Session;
use crate::transport::Transport;
use crate::wait::Backoff;

/// One try in so many asks all bridges at once, even if it was in vain before.
const ALL_AT_ONCE: u32 = 4;

impl<T: Transport, R: Runtime> Attempt<T, R> {
    /// The first time all bridges at once. If that was in vain, from then on first the one that all who want this lock ask first,
    /// and the others only if it is free there: so they do not split the vote, and who waits costs each bridge next to
    /// nothing. Now and then all the same, since that one alone may still know of a holder who is gone.
    pub(super) async fn ask_several(&mut self) -> Result<Asked, Error> {
        let several = self.claim.client.clone();
        let asks_one_first = !self.tries.is_multiple_of(ALL_AT_ONCE);
        self.tries += 1;
        if asks_one_first {
            let first = several.first_of(&self.claim.name);
            // As much of the ttl as each of them may take for a vote.
            let until = Until::Ttl {
                ttl: self.claim.ttl / 4,
                requests: 1,
            };
            if let Ok(held @ Asked::Held(_)) = self.ask_by(&first, until).await {
                return Ok(held);
            }
        }
        let attempts = match self.has_asked {
            true => 1,
            false => several.attempt_limit(),
        };
        let mut backoff = Backoff::new(attempts, several.request_limit());
        loop {
            let until = Until::Ttl {
                ttl: self.claim.ttl,
                requests: self.requests_left().max(1),
            };
            let asked = match self.ask_by(&several, until).await {
                Ok(Asked::Granted(grant)) => return self.raise(grant).await.map(Asked::Granted),
                asked => asked,
            };
            self.start_over().await?;
            let pause = match &asked {
                Err(error) if error.is_passing() && self.requests_left() > 0 => {
                    backoff.pause(several.runtime(), error)
                }
                _ => None,
            };
            match pause {
                Some(pause) => several.runtime().sleep(pause).await,
                None => return asked,
            }
        }
    }

    /// Each bridge issued a fence of its own. The highest counts, once a majority will issue none below it: any later majority
    /// has one of those.
    async fn raise(&mut self, grant: Grant) -> Result<Grant, Error> {
        let client = &self.claim.client;
        let call = Call::raise(self.claim.subject(), grant.fence, self.claim.ttl);
        let until = Until::Deadline(grant.deadline);
        let settled = client.call::<bool>(&call, &self.claim.session, until).await;
        self.requests += settled.requests;
        if !settled.outcome? {
            return Err(Error::Lost {
                lock: self.claim.lock(),
            });
        }
        if grant.deadline <= client.runtime().now() {
            return Err(Error::Expired {
                lock: self.claim.lock(),
            });
        }
        Ok(grant)
    }

    /// Gives back what it got, so that a split vote does not stay split, and goes on with a token that nobody has heard of.
    async fn start_over(&mut self) -> Result<(), Error> {
        if let Some(call) = self.giving_up() {
            self.claim.call_ahead(call).await;
        }
        self.requests += 1;
        let (session, token) = Session::with_token(self.claim.client.runtime())?;
        self.claim.session = session;
        self.claim.token = token;
        self.call = Call::acquire(
            self.claim.subject(),
            self.claim.ttl,
            None,
            false,
            Reads::NONE,
        );
        Ok(())
    }
}
