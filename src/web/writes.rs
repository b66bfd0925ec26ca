//! What is written under a lease of the npm package, and how the lease is kept, as [`Steps`].

use std::time::Duration;

use super::held::Held;
use super::steps::{Came, Steps};
use crate::error::Fault;
use crate::operation::{BeginKeeping, EndKeeping, Keep, Why, Write, Writes};
use crate::runtime::{Instant, Runtime};
use crate::token::Token;

impl Held {
    /// Writes under it.
    pub fn write(&self, writes: Writes) -> Steps {
        let write = Write::new(self.hold.clone(), writes);
        Steps::new(&self.place, Ok(write), |_, written| written.map(Came::Replies))
    }

    /// Has it kept by one at a time, until [`Held::quit_keeping`].
    ///
    /// # Errors
    /// As [`Lease::run`](crate::Lease::run), with the work not begun.
    pub fn start_keeping(&self) -> Result<(), Fault> {
        self.hold.start_keeping()
    }

    /// Nobody keeps it any more.
    pub fn quit_keeping(&self) {
        self.hold.quit_keeping();
    }

    /// Before the work: comes to until when it is kept at most, as [`Held::keep`] takes it.
    pub fn begin_keeping(&self, max_hold: Option<Duration>) -> Steps {
        let begin = BeginKeeping::new(self.hold.clone(), max_hold);
        Steps::new(&self.place, Ok(begin), |_, until| {
            let until = until?.since(ORIGIN);
            let micros = until.as_secs().saturating_mul(1_000_000);
            let micros = micros.saturating_add(until.subsec_micros().into());
            Ok(Came::Number(micros.min(LATEST)))
        })
    }

    /// Runs beside the work. The outcome is a number: why there is nothing left to keep, or 0 if
    /// the lease was given back.
    pub fn keep(&self, until: u64) -> Steps {
        let keep = Keep::new(self.hold.clone(), ORIGIN + Duration::from_micros(until));
        Steps::new(&self.place, Ok(keep), |_, why| {
            let at = STOPPED.iter().position(|stopped| *stopped == why);
            Ok(Came::Number(at.map_or(0, |at| at as u64 + 1)))
        })
    }

    /// Behind the work, which ended if `why` is 0, and was else stopped because of that.
    pub fn end_keeping(&self, why: u64) -> Steps {
        let at = usize::try_from(why).unwrap_or_default().checked_sub(1);
        let stopped = at.and_then(|at| STOPPED.get(at)).copied();
        let end = EndKeeping::new(self.hold.clone(), stopped);
        Steps::new(&self.place, Ok(end), |_, ended| ended.map(|()| Came::Done))
    }

    /// As [`Lease::hand_over`](crate::Lease::hand_over).
    ///
    /// # Errors
    /// As there.
    pub fn hand_over(&self) -> Result<Token, Fault> {
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

/// The largest whole number that JavaScript hands back as it is: centuries.
const LATEST: u64 = (1 << 53) - 1;
