//! The operations of a client and of what it makes, for the npm package: [`Steps`] that JavaScript
//! drives, in place of futures.

use std::time::Duration;

use super::driven::{Outside, Sent};
use super::held::{Held, Writes};
use super::steps::{JsHost, Report, Steps};
use crate::acquisition::Acquisition;
use crate::client::Client;
use crate::command::{Command, Reply};
use crate::debounce::Debounce;
use crate::error::Error;
use crate::lock::Lock;
use crate::once::Once;
use crate::operation::{Completed, Granted, Taken};
use crate::read::{reading, replies};
use crate::script::Inspection;
use crate::throttle::Throttle;
use crate::token::Token;

#[doc(hidden)]
impl Client<Sent, Outside> {
    /// As [`Client::read`]. With `tells_each` the reply to a read that failed is its error.
    pub fn read_steps(
        &self,
        reads: &[Command],
        tells_each: bool,
        report: Report<Vec<Reply>>,
    ) -> Steps {
        let place = self.host();
        let checked = self.check();
        let reading =
            checked.and_then(|()| reading(&place.runtime, self.topology(), reads, tells_each));
        Steps::new(place, reading, |_, settled| replies(settled), report)
    }
}

#[doc(hidden)]
impl Lock<Sent, Outside> {
    /// As [`Lock::acquire_and_read`], or as [`Lock::try_acquire`] if it does not wait.
    pub fn acquire_steps(
        &self,
        waits: bool,
        reads: &[Command],
        report: Report<(Held, Vec<Reply>)>,
    ) -> Steps {
        let acquire = self.acquiring(waits.then(|| self.longest_wait()), reads);
        Steps::new(self.host(), acquire, holding, report)
    }

    /// As [`Lock::acquire_as`]. The reply to a read that failed is its error.
    pub fn acquire_as_steps(
        &self,
        acquisition: &Acquisition,
        reads: impl FnMut() -> Vec<Command> + 'static,
        report: Report<(Held, Vec<Reply>)>,
    ) -> Steps {
        let acquire = self.acquiring_as(acquisition, true);
        Steps::new(self.host(), acquire, holding, report).inquiring(reads)
    }

    /// As [`Lock::try_acquire_and_read`].
    pub fn try_acquire_steps(
        &self,
        reads: &[Command],
        report: Report<(Option<Held>, Vec<Reply>)>,
    ) -> Steps {
        let tried = |place: &JsHost, tried: Result<_, Error>| {
            Ok(match tried? {
                Ok(granted) => {
                    let (held, replies) = Held::by(place, granted);
                    (Some(held), replies)
                }
                Err(replies) => (None, replies),
            })
        };
        Steps::new(self.host(), self.trying(reads), tried, report)
    }

    /// Whether a lease of it could have these run.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if not.
    pub fn checked_writes(&self, writes: &[Command]) -> Result<(), Error> {
        self.check_writes(writes)
    }

    /// As [`Lock::inspect`].
    pub fn inspect_steps(&self, report: Report<Inspection>) -> Steps {
        let found = |_: &JsHost, settled: Completed| Ok(settled.outcome?.inspection()?);
        Steps::new(self.host(), self.inspecting(), found, report)
    }

    /// As [`Lock::force_release`].
    pub fn force_release_steps(&self, report: Report<bool>) -> Steps {
        let freed = |_: &JsHost, settled: Completed| Ok(settled.outcome?.done()?);
        Steps::new(self.host(), self.forcing(), freed, report)
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

#[doc(hidden)]
impl Once<Sent, Outside> {
    /// Comes before the work. The outcome is the lease under which to do it, or the kept result.
    pub fn begin_steps(&self, report: Report<Result<Held, String>>) -> Steps {
        let begun = |place: &JsHost, begun: Result<Taken<Granted>, Error>| {
            Ok(match begun? {
                Taken::Lock(granted) => Ok(Held::by(place, granted).0),
                Taken::Result(kept) => Err(kept),
            })
        };
        Steps::new(self.lock().host(), self.beginning(), begun, report)
    }

    /// As [`Once::forget`].
    pub fn forget_steps(&self, report: Report<bool>) -> Steps {
        let forgotten = |_: &JsHost, settled: Completed| Ok(settled.outcome?.done()?);
        Steps::new(self.lock().host(), self.forgetting(), forgotten, report)
    }

    /// What comes behind the work: stores `result`, and gives the lease back.
    ///
    /// # Errors
    /// [`Error::ResultTooLarge`].
    pub fn store(
        &self,
        held: &Held,
        result: &str,
        report: Report<Vec<Reply>>,
    ) -> Result<Steps, Error> {
        let store = self.storing(result)?;
        Ok(held.write(Writes::Commit(vec![store]), report))
    }
}

#[doc(hidden)]
impl Throttle<Sent, Outside> {
    /// As [`Throttle::try_pass`]: for how long no other passes, or `None` if this call did.
    pub fn try_pass_steps(&self, report: Report<Option<Duration>>) -> Steps {
        Steps::new(
            self.paced().host(),
            self.passing(),
            |_, passed| passed,
            report,
        )
    }
}

#[doc(hidden)]
impl Debounce<Sent, Outside> {
    /// What comes before the work: whether it is to be done.
    pub fn settle_steps(&self, report: Report<bool>) -> Steps {
        Steps::new(
            self.paced().host(),
            self.settling(),
            |_, settled| settled,
            report,
        )
    }
}

/// An acquisition comes to a lease.
fn holding(place: &JsHost, granted: Result<Granted, Error>) -> Result<(Held, Vec<Reply>), Error> {
    granted.map(|granted| Held::by(place, granted))
}
