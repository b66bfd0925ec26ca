//! The operations of a client and of what it makes, for the npm package: [`Steps`] that JavaScript
//! drives, in place of futures.

use std::time::Duration;

use super::held::{Held, Writes};
use super::steps::{JsHost, JsOutcome, Steps};
use super::{Fetch, Host};
use crate::acquisition::Acquisition;
use crate::client::Client;
use crate::command::{Command, Reply};
use crate::debounce::Debounce;
use crate::error::Error;
use crate::lock::Lock;
use crate::once::Once;
use crate::operation::{Completed, Granted, Taken};
use crate::read::reading;
use crate::script::{Inspection, Passage};
use crate::throttle::Throttle;
use crate::token::Token;

impl Client<Fetch, Host> {
    /// As [`Client::read`].
    pub fn read_steps(
        &self,
        reads: &[Command],
        told: impl FnOnce(Result<Vec<Reply>, Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let place = self.host();
        let checked = self.check();
        let reading = checked.and_then(|()| reading(&place.runtime, self.topology(), reads));
        Steps::new(place, reading, |settled| told(settled.and_then(outcome)))
    }
}

impl Lock<Fetch, Host> {
    /// As [`Lock::acquire_and_read`], or as [`Lock::try_acquire`] if it does not wait.
    pub fn acquire_steps(
        &self,
        waits: bool,
        reads: &[Command],
        told: impl FnOnce(Result<(Held, Vec<Reply>), Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let acquire = self.acquiring(waits.then(|| self.patience()), reads);
        Steps::new(self.host(), acquire, holding(self.host(), told))
    }

    /// As [`Lock::acquire_as`].
    pub fn acquire_as_steps(
        &self,
        acquisition: &Acquisition,
        reads: impl FnMut() -> Vec<Command> + 'static,
        told: impl FnOnce(Result<(Held, Vec<Reply>), Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let acquire = self.acquiring_as(acquisition);
        Steps::new(self.host(), acquire, holding(self.host(), told)).inquiring(reads)
    }

    /// As [`Lock::try_acquire_and_read`].
    pub fn try_acquire_steps(
        &self,
        reads: &[Command],
        told: impl FnOnce(Result<(Option<Held>, Vec<Reply>), Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let place = self.host().clone();
        Steps::new(self.host(), self.trying(reads), |tried| {
            told(tried.flatten().map(|tried| match tried {
                Ok(granted) => {
                    let (held, replies) = Held::by(place, granted);
                    (Some(held), replies)
                }
                Err(replies) => (None, replies),
            }))
        })
    }

    /// As [`Lock::inspect`].
    pub fn inspect_steps(
        &self,
        told: impl FnOnce(Result<Inspection, Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let told = |settled: Result<_, Error>| told(settled.and_then(outcome));
        Steps::new(self.host(), self.inspecting(), told)
    }

    /// As [`Lock::force_release`].
    pub fn force_release_steps(
        &self,
        told: impl FnOnce(Result<bool, Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let told = |settled: Result<_, Error>| told(settled.and_then(outcome));
        Steps::new(self.host(), self.forcing(), told)
    }

    /// As [`Lock::resume`].
    ///
    /// # Errors
    /// As there.
    pub fn resume_held(&self, token: Token) -> Result<Held, Error> {
        let hold = self.resumed(token)?.into();
        let place = self.host().clone();
        Ok(Held { place, hold })
    }
}

impl Once<Fetch, Host> {
    /// Comes before the work. The outcome is the lease under which to do it, or the kept result.
    pub fn begin_steps(
        &self,
        told: impl FnOnce(Result<Result<Held, String>, Error>) -> JsOutcome + 'static,
    ) -> Steps {
        let place = self.lock().host().clone();
        Steps::new(self.lock().host(), self.beginning(), |begun| {
            told(begun.flatten().map(|taken| match taken {
                Taken::Lock(granted) => Ok(Held::by(place, granted).0),
                Taken::Result(kept) => Err(kept),
            }))
        })
    }

    /// What comes behind the work: stores `result`, and gives the lease back.
    ///
    /// # Errors
    /// [`Error::ResultTooLarge`].
    pub fn store(
        &self,
        held: &Held,
        result: &str,
        told: impl FnOnce(Result<Vec<Reply>, Error>) -> JsOutcome + 'static,
    ) -> Result<Steps, Error> {
        let store = self.storing(result)?;
        Ok(held.write(Writes::Commit(vec![store]), told))
    }
}

impl Throttle<Fetch, Host> {
    /// As [`Throttle::try_pass`]: for how long no other passes, or `None` if this call did.
    pub fn try_pass_steps(
        &self,
        told: impl FnOnce(Result<Option<Duration>, Error>) -> JsOutcome + 'static,
    ) -> Steps {
        Steps::new(self.paced().host(), self.passing(), |passed| {
            told(passed.flatten().map(|passage| match passage {
                Passage::Passed => None,
                Passage::Throttled(left) => Some(left),
            }))
        })
    }
}

impl Debounce<Fetch, Host> {
    /// What comes before the work: whether it is to be done.
    pub fn settle_steps(
        &self,
        told: impl FnOnce(Result<bool, Error>) -> JsOutcome + 'static,
    ) -> Steps {
        Steps::new(self.paced().host(), self.settling(), |settled| {
            told(settled.flatten())
        })
    }
}

fn outcome<O>(settled: Completed<O>) -> Result<O, Error> {
    settled.outcome
}

/// Reports an acquisition by its lease.
fn holding(
    place: &JsHost,
    told: impl FnOnce(Result<(Held, Vec<Reply>), Error>) -> JsOutcome + 'static,
) -> impl FnOnce(Result<Result<Granted, Error>, Error>) -> JsOutcome + 'static {
    let place = place.clone();
    |granted| told(granted.flatten().map(|granted| Held::by(place, granted)))
}
