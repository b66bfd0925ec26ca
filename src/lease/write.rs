//! Writes of a lease: what they send, and what their answers say of it.

use std::time::Duration;

use super::Lease;
use super::phase::{Why, Writing};
use crate::command::{Command, Reply};
use crate::drive::drive;
use crate::error::Error;
use crate::event::EventKind;
use crate::operation::{Settled, Until, deadline};
use crate::runtime::Runtime;
use crate::script::{Call, Renewed, Write};
use crate::topology::Judged;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Lease<T, R> {
    /// A write that gives the lock back.
    pub(super) async fn finish(
        &self,
        writing: Writing<'_, T, R>,
        until: Until,
        number: u64,
        commands: &[Command],
    ) -> Result<Vec<Reply>, Error> {
        let write = Write {
            session: &self.claim.session,
            number,
            // What gives back, and does nothing else, ends whatever hold the token has.
            fence: match commands {
                [] => 0,
                _ => self.known_fence(),
            },
            commands,
        };
        let call = Call::release(self.claim.subject(), &write);
        let Settled {
            outcome, asked_at, ..
        } = self.call(call, until).await;
        let told = writing.settle(outcome);
        match &told {
            Ok(_) | Err(Error::CommandFailed { .. }) => {
                let claim = &self.claim;
                claim.observe_release(&self.host.runtime, self.now(), asked_at);
            }
            Err(Error::Lost { .. }) => self.tell_loss(),
            Err(_) => {}
        }
        told
    }

    /// A write after which the lease goes on, with its full ttl, or that which is `asked` for.
    pub(super) async fn write(
        &self,
        write: &Write<'_>,
        asked: Option<Duration>,
        until: Until,
    ) -> Result<Vec<Reply>, Error> {
        let told = asked.or_else(|| self.terms.ttl());
        let ttl = told.unwrap_or(self.claim.ttl);
        let call = Call::renew(self.claim.subject(), ttl, told.is_some(), write)
            .replicated(self.claim.replicas.as_ref());
        let Settled {
            outcome,
            begun_at,
            asked_at,
            ..
        } = self.call::<Option<Renewed>>(call, until).await;
        // The answer to a repeat is that of the first to arrive, which was what gave the full ttl.
        let renewed_at = if write.number == 0 {
            asked_at
        } else {
            begun_at
        };
        // For how long that was, which need not be what another renewal learned meanwhile.
        let given = match &outcome {
            Ok(Some(renewed)) => {
                self.terms.learn(renewed, asked.is_some());
                Some(renewed.ttl)
            }
            // A failure does not say it.
            _ => told,
        };
        match outcome {
            Ok(Some(_)) | Err(Error::CommandFailed { .. }) => {
                let mut state = self.state();
                if let Some(ttl) = given {
                    state.renew_until(deadline(renewed_at, ttl));
                }
                let is_held = state.is_held();
                drop(state);
                if is_held {
                    let took = self.now().since(asked_at);
                    self.observe(EventKind::Renewed { took });
                }
            }
            Ok(None) => {
                let why = self.state().why_not_held();
                if why == Why::Lost {
                    self.lose();
                }
                return Err(self.error(why));
            }
            Err(_) => {}
        }
        let renewed = outcome?.ok_or_else(|| self.error(Why::Lost))?;
        Ok(renewed.replies)
    }

    /// By which the scripts tell the hold; 0 if they cannot. Each of several servers had a fence of its own before the vote was over.
    pub(super) fn known_fence(&self) -> u64 {
        match self.claim.kind.is_voted() {
            true => 0,
            false => self.terms.fence(),
        }
    }

    async fn call<O: Judged>(&self, call: Call, until: Until) -> Settled<O> {
        drive(&self.host, self.claim.ask(call.into(), until)).await
    }
}
