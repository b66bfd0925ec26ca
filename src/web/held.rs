//! A lease for the npm package: what is written under it, and how it is kept, as [`Steps`].

use std::sync::Arc;
use std::time::Duration;

use super::steps::{JsHost, Report, Steps};
use crate::command::{Command, Reply};
use crate::error::Error;
use crate::operation::{BeginKeeping, EndKeeping, Granted, Hold, Keep, Why, Write};
use crate::runtime::{Instant, Runtime};
use crate::token::Token;

/// A [`Lease`](crate::Lease) that is left to its ttl when it is dropped. JavaScript may lose one
/// while its holder still counts on the ttl, and the garbage collector must not end it.
pub struct Held {
    pub(super) place: JsHost,
    pub(super) hold: Arc<Hold>,
}

/// What is written under a lease, as its methods say it.
pub enum Writes {
    /// [`Lease::renew`](crate::Lease::renew), or [`Lease::renew_for`](crate::Lease::renew_for).
    Renew(Option<Duration>),
    /// [`Lease::downgrade`](crate::Lease::downgrade).
    Downgrade,
    /// [`Lease::exec`](crate::Lease::exec).
    Exec(Vec<Command>),
    /// [`Lease::commit`](crate::Lease::commit).
    Commit(Vec<Command>),
    /// The same, where a command that failed is a reply, and not the error of all.
    CommitEach(Vec<Command>),
    /// [`Lease::release`](crate::Lease::release).
    Release,
}

impl Held {
    pub(super) fn by(place: &JsHost, granted: Granted) -> (Self, Vec<Reply>) {
        let (hold, replies) = granted.into_hold();
        let (place, hold) = (place.clone(), hold.into());
        (Self { place, hold }, replies)
    }

    /// As [`Lease::fence`](crate::Lease::fence).
    pub fn fence(&self) -> u64 {
        self.hold.fence()
    }

    /// As [`Lease::token`](crate::Lease::token).
    pub fn token(&self) -> &Token {
        &self.hold.claim.token
    }

    /// As [`Lease::remaining`](crate::Lease::remaining).
    pub fn remaining(&self) -> Duration {
        self.hold.remaining(self.place.runtime.now())
    }

    /// Writes under it.
    pub fn write(&self, writes: Writes, report: Report<Vec<Reply>>) -> Steps {
        let hold = self.hold.clone();
        let write = match writes {
            Writes::Renew(Some(ttl)) => Write::renew_for(hold, ttl),
            Writes::Renew(None) => Write::renew(hold),
            Writes::Downgrade => Write::downgrade(hold),
            Writes::Exec(commands) => Write::exec(hold, commands),
            Writes::Commit(commands) => Write::commit(hold, commands),
            Writes::CommitEach(commands) => Write::commit_each(hold, commands),
            Writes::Release => Write::release(hold),
        };
        Steps::new(&self.place, Ok(write), |_, written| written, report)
    }

    /// Has it kept by one at a time, until [`Held::quit_keeping`].
    ///
    /// # Errors
    /// As [`Lease::run`](crate::Lease::run), with the work not begun.
    pub fn start_keeping(&self) -> Result<(), Error> {
        self.hold.start_keeping()
    }

    /// Nobody keeps it any more.
    pub fn quit_keeping(&self) {
        self.hold.quit_keeping();
    }

    /// Before the work: comes to until when it is kept at most, as [`Held::keep`] takes it.
    pub fn begin_keeping(&self, max_hold: Option<Duration>, report: Report<f64>) -> Steps {
        let begin = BeginKeeping::new(self.hold.clone(), max_hold);
        let until_ms = |_: &JsHost, until: Result<Instant, Error>| {
            Ok(until?.since(ORIGIN).as_secs_f64() * 1000.0)
        };
        Steps::new(&self.place, Ok(begin), until_ms, report)
    }

    /// Runs beside the work. The outcome is a number: why there is nothing left to keep, or 0 if
    /// the lease was given back.
    pub fn keep(&self, until_ms: f64, report: Report<f64>) -> Steps {
        // The cast bounds it to centuries. std would bring 0.5 kB for its own conversion.
        let until = Duration::from_nanos((until_ms * 1e6) as u64);
        let keep = Keep::new(self.hold.clone(), ORIGIN + until);
        let number = |_: &JsHost, why: Why| {
            let at = STOPPED.iter().position(|stopped| *stopped == why);
            Ok(at.map_or(0.0, |at| at as f64 + 1.0))
        };
        Steps::new(&self.place, Ok(keep), number, report)
    }

    /// Behind the work, which ended if `why` is 0, and was else stopped because of that.
    pub fn end_keeping(&self, why: usize, report: Report<()>) -> Steps {
        let hold = self.hold.clone();
        let end = match why.checked_sub(1).and_then(|at| STOPPED.get(at)) {
            Some(why) => EndKeeping::stopped(hold, *why),
            None => EndKeeping::behind_work(hold),
        };
        Steps::new(&self.place, Ok(end), |_, ended| ended, report)
    }

    /// As [`Lease::hand_over`](crate::Lease::hand_over).
    ///
    /// # Errors
    /// As there.
    pub fn hand_over(&self) -> Result<Token, Error> {
        let runtime = &self.place.runtime;
        self.hold.hand_over(runtime, runtime.now())
    }

    /// What gives it back in the background, if there is anything to give back.
    pub fn give_back(&self) -> Option<Steps> {
        let release = self.hold.give_back()?;
        Some(Steps::silent(&self.place, Box::new(release)))
    }
}

/// The reasons for which a lease may be taken from its work.
const STOPPED: [Why; 3] = [Why::Lost, Why::Expired, Why::MaxHoldExceeded];

const ORIGIN: Instant = Instant::from_origin(Duration::ZERO);
