//! A lottery each day: ten of those who entered win at noon.

use edgelock::{Decision, Reply, Runtime, Transport};
use serde::Serialize;

use crate::day::Day;
use crate::http::Response;
use crate::input::{self, Entry, Id};
use crate::problem::Problem;
use crate::section::TTL;
use crate::shop::Shop;
use crate::tickets::{LotteryNow, MOST_ENTRANTS, Tickets, let_in, names};

const LONGEST_AHEAD_MS: u64 = 31 * 24 * 60 * 60 * 1000;

/// Entries close before the draw, by more than an entry's lock can last and than clocks differ. So
/// no entry arrives after the draw.
const CLOSED_BEFORE_MS: u64 = 60 * 1000;
const _: () = assert!(CLOSED_BEFORE_MS > 2 * TTL.as_millis() as u64);

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn enter(&self, day: Day, body: &[u8]) -> Result<Response, Problem> {
        let Entry { entrant } = input::parse(body)?;
        let tickets = Tickets::of(day);
        let (name, reads) = (
            tickets.entrance_lock_name(&entrant),
            tickets.read_with(&entrant),
        );
        let decide = |replies: &[_], _| {
            let (now, entered) = LotteryNow::parse_with(replies)?;
            enter(day, &tickets, &entrant, &now, entered)
        };
        // A caller that is refused, or has entered before, needs no lock. A lock would leave keys
        // behind, and anybody may ask for any day.
        const NO_FENCE: u64 = 0;
        let looked = self.client.read(&reads).await.map_err(Problem::of)?;
        let (entering, replies) = match decide(&looked, NO_FENCE)? {
            Decision::Leave(entering) => (entering, Vec::new()),
            Decision::Write(..) => self.section_with_replies(&name, &reads, decide).await?,
        };
        let (status, is_in) = match entering {
            Entering::Now => (201, let_in(&replies)?),
            Entering::Before => (200, true),
            Entering::AmongTheLast(since) => (200, self.is_in(&tickets, &entrant, since).await?),
        };
        if !is_in {
            return Err(full());
        }
        let ticket = Ticket {
            id: day,
            entrant: &entrant,
            draw_at_ms: day.noon_ms(),
        };
        Ok(Response::json(status, &ticket))
    }

    /// Whether `entrant` is at that place or behind it. Only for a lottery that is full, where
    /// these places no longer change.
    async fn is_in(&self, tickets: &Tickets, entrant: &Id, since: u64) -> Result<bool, Problem> {
        let mut from = since;
        loop {
            let page = self.client.read(&[tickets.page(from)]).await;
            let page = page.map_err(Problem::of)?;
            let page = page.first().and_then(Reply::as_array);
            let page = names(page.ok_or_else(Problem::corrupt)?)?;
            if page.is_empty() {
                return Ok(false);
            }
            if page.iter().any(|name| name == entrant.as_str()) {
                return Ok(true);
            }
            from += page.len() as u64;
        }
    }

    pub(crate) async fn show_lottery(&self, day: Day) -> Result<Response, Problem> {
        let replies = self.client.read(&Tickets::of(day).read()).await;
        let now = LotteryNow::parse(&replies.map_err(Problem::of)?)?;
        Ok(Response::json(200, &State::of(day, &now)))
    }
}

/// An entry as its entrant sees it: the same each time.
#[derive(Serialize)]
struct Ticket<'a> {
    id: Day,
    entrant: &'a Id,
    draw_at_ms: u64,
}

/// A lottery as callers see it.
#[derive(Serialize)]
struct State<'a> {
    id: Day,
    entrants: u64,
    draw_at_ms: u64,
    drawn_at_ms: Option<u64>,
    fence: Option<u64>,
    winners: Option<&'a [String]>,
}

impl<'a> State<'a> {
    fn of(id: Day, now: &'a LotteryNow) -> Self {
        let drawn = now.drawn.as_ref();
        Self {
            id,
            entrants: now.entrants,
            draw_at_ms: id.noon_ms(),
            drawn_at_ms: drawn.map(|drawn| drawn.at_ms),
            fence: drawn.map(|drawn| drawn.fence),
            winners: drawn.map(|drawn| drawn.winners.as_slice()),
        }
    }
}

/// The decision about an entry.
#[derive(Debug, PartialEq, Eq)]
enum Entering {
    /// It is written. The replies say whether it came in time.
    Now,
    /// The entrant has entered before.
    Before,
    /// The lottery is full, and the entrant was one of the last to come. It is in, from this place
    /// on, or was cut off.
    AmongTheLast(u64),
}

/// `entered` is how many entrants there were before this one entered, if it did.
fn enter(
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
        return Err(Problem::new(
            410,
            "lottery_closed",
            "a lottery is open until a minute before noon of its day, in UTC",
        ));
    }
    if now.now_ms.saturating_add(LONGEST_AHEAD_MS) < draw_at_ms {
        return Err(Problem::invalid(
            "id",
            "a lottery can be entered for 31 days before its draw",
        ));
    }
    if now.entrants >= MOST_ENTRANTS {
        return Err(full());
    }
    let commands = tickets.enter(entrant, now.entrants, draw_at_ms);
    Ok(Decision::Write(commands, Entering::Now))
}

fn full() -> Problem {
    let detail = format!("a lottery has at most {MOST_ENTRANTS} entrants");
    Problem::new(409, "lottery_full", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tickets::Drawn;

    fn day() -> Day {
        Day::parse("2026-11-21").unwrap()
    }

    fn drawn() -> Drawn {
        Drawn {
            fence: 3,
            at_ms: 4,
            winners: vec!["ann".to_owned()],
        }
    }

    /// A lottery with `entrants`, that long before its draw.
    fn now(entrants: u64, before_ms: u64) -> LotteryNow {
        LotteryNow {
            drawn: None,
            now_ms: day().noon_ms() - before_ms,
            entrants,
        }
    }

    /// The refusal of a new entrant; `None` if it is let in.
    fn refused(now: &LotteryNow) -> Option<String> {
        let ann = Id::parse("ann").unwrap();
        let problem = enter(day(), &Tickets::of(day()), &ann, now, None).err()?;
        let body: serde_json::Value = serde_json::from_str(&Response::from(problem).body).unwrap();
        Some(body["code"].as_str()?.to_owned())
    }

    #[test]
    fn a_lottery_is_open_from_31_days_to_a_minute_before_its_draw() {
        for (entrants, before_ms, told) in [
            (0, CLOSED_BEFORE_MS + 1, None),
            (0, LONGEST_AHEAD_MS, None),
            (MOST_ENTRANTS - 1, LONGEST_AHEAD_MS, None),
            (0, 0, Some("lottery_closed")),
            (0, CLOSED_BEFORE_MS, Some("lottery_closed")),
            (0, LONGEST_AHEAD_MS + 1, Some("invalid_input")),
            (MOST_ENTRANTS, LONGEST_AHEAD_MS, Some("lottery_full")),
        ] {
            let now = now(entrants, before_ms);
            assert_eq!(refused(&now).as_deref(), told, "{now:?}");
        }
        let early = LotteryNow {
            drawn: Some(drawn()),
            ..now(1, LONGEST_AHEAD_MS)
        };
        assert_eq!(refused(&early).as_deref(), Some("lottery_closed"));
    }

    #[test]
    fn whoever_is_in_is_told_so_whatever_became_of_the_lottery() {
        let ann = Id::parse("ann").unwrap();
        let over = LotteryNow {
            drawn: Some(drawn()),
            ..now(MOST_ENTRANTS, 0)
        };
        let entering = |now: &LotteryNow| {
            let decision = enter(day(), &Tickets::of(day()), &ann, now, Some(7));
            match decision.unwrap() {
                Decision::Leave(entering) => entering,
                Decision::Write(..) => panic!("it was written again"),
            }
        };
        // If some were cut off, the place must be looked up.
        assert_eq!(entering(&over), Entering::AmongTheLast(7));
        let over = LotteryNow {
            entrants: MOST_ENTRANTS - 1,
            ..over
        };
        assert_eq!(entering(&over), Entering::Before);
    }
}
