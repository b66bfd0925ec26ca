//! The rules of a lottery: decides an entry by what is recorded.

use edgelock::Decision;
use shared::body::Id;
use shared::problem::Problem;
use shared::section::TTL;

use crate::day::Day;
use crate::tickets::{LotteryNow, MOST_ENTRANTS, Tickets};

pub const LONGEST_AHEAD_MS: u64 = 31 * 24 * 60 * 60 * 1000;

/// Entries close before the draw, by more than an entry's lock can last and than clocks differ. So
/// no entry arrives after the draw.
pub const CLOSED_BEFORE_MS: u64 = 60 * 1000;
const _: () = assert!(CLOSED_BEFORE_MS > 2 * TTL.as_millis() as u64);

/// The decision about an entry.
#[derive(Debug, PartialEq, Eq)]
pub enum Entering {
    /// It is written. The replies say whether it came in time.
    Now,
    /// The entrant has entered before.
    Before,
    /// The lottery is full, and the entrant was one of the last to come. It is in, from this place
    /// on, or was cut off.
    AmongTheLast(u64),
}

/// `entered` is how many entrants there were before this one entered, if it did.
pub fn decide(
    day: Day,
    tickets: &Tickets,
    entrant: &Id,
    now: &LotteryNow,
    entered: Option<u64>,
) -> Result<Decision<Entering>, Problem> {
    let draw_at_ms = day.noon_ms();
    // First of all: an entrant is told that it is in, even after the draw.
    if let Some(since) = entered {
        // A list that is not full cut off nobody.
        return Ok(Decision::Leave(match now.entrants < MOST_ENTRANTS {
            true => Entering::Before,
            false => Entering::AmongTheLast(since),
        }));
    }
    if now.drawn.is_some() || now.now_ms.saturating_add(CLOSED_BEFORE_MS) >= draw_at_ms {
        let told = "a lottery is open until a minute before noon of its day, in UTC";
        return Err(Problem::new(410, "lottery_closed", told));
    }
    if now.now_ms.saturating_add(LONGEST_AHEAD_MS) < draw_at_ms {
        let told = "a lottery can be entered for 31 days before its draw";
        return Err(Problem::invalid("id", told));
    }
    if now.entrants >= MOST_ENTRANTS {
        return Err(full());
    }
    let commands = tickets.enter(entrant, now.entrants, draw_at_ms);
    Ok(Decision::Write(commands, Entering::Now))
}

pub fn full() -> Problem {
    let detail = format!("a lottery has at most {MOST_ENTRANTS} entrants");
    Problem::new(409, "lottery_full", detail)
}
