//! A lottery a day: whoever entered may be one of the ten who win at noon. It is drawn once, however many Workers try to.

use edgelock::{NoRandomness, Runtime, Transport};
use serde::Serialize;

use crate::chance;
use crate::day::Day;
use crate::http::Response;
use crate::input::{self, Entry, Id};
use crate::problem::Problem;
use crate::section::{Decision, TTL};
use crate::shop::Shop;
use crate::tickets::{Drawn, Drum, LotteryNow, Tickets};

const WINNERS: usize = 10;

/// All of them are read by one request, whose answer may have 1 MiB.
const MOST_ENTRANTS: u64 = 10_000;

const LONGEST_AHEAD_MS: u64 = 31 * 24 * 60 * 60 * 1000;

/// Entries close before the draw, by more than the lock under which one is written can last, and clocks differ: so none arrives
/// behind it.
const CLOSED_BEFORE_MS: u64 = 60 * 1000;
const _: () = assert!(CLOSED_BEFORE_MS > 2 * TTL.as_millis() as u64);

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn enter(&self, day: Day, body: &[u8]) -> Result<Response, Problem> {
        let Entry { entrant } = input::parse(body)?;
        let tickets = Tickets::of(day);
        let (name, reads) = (
            tickets.entrant_lock_name(&entrant),
            tickets.read_with(&entrant),
        );
        self.section(&name, &reads, |replies, _| {
            let (now, is_in) = LotteryNow::parse_with(replies)?;
            enter(day, &tickets, &entrant, &now, is_in)
        })
        .await
    }

    pub(crate) async fn show_lottery(&self, day: Day) -> Result<Response, Problem> {
        let replies = self.client.read(&Tickets::of(day).read()).await;
        let now = LotteryNow::parse(&replies.map_err(Problem::of)?)?;
        Ok(Response::json(200, &State::of(day, &now)))
    }

    /// Draws the lottery of the day in which `scheduled_ms` lies, unless another does at this moment, or did before: then at
    /// once nothing.
    ///
    /// Whoever dies in it has drawn nothing, and can be followed after the lock's ttl by another, who does.
    ///
    /// # Errors
    /// The [`Problem`] that kept it from being drawn, or from being known to be.
    pub async fn draw(&self, scheduled_ms: i64, random: &impl Runtime) -> Result<Draw, Problem> {
        let day = Day::at(scheduled_ms)
            .ok_or_else(|| Problem::new(500, "no_such_day", "no lottery is of that time"))?;
        let tickets = Tickets::of(day);
        let drawn = self
            .section_if_free(
                &tickets.draw_lock_name(),
                &tickets.read_all(),
                |replies, fence| {
                    let random = || random_number(random);
                    let (drawn, is_new) = draw(Drum::parse(replies)?, fence, random)
                        .map_err(|NoRandomness| no_randomness())?;
                    Ok(if is_new {
                        let report = Draw::new(day, "drawn", Some(&drawn));
                        Decision::Write(tickets.record(&drawn), report)
                    } else {
                        Decision::Leave(Draw::new(day, "drawn_before", Some(&drawn)))
                    })
                },
            )
            .await?;
        Ok(drawn.unwrap_or_else(|| Draw::new(day, "left_to_another", None)))
    }
}

/// What became of a draw, for the log.
#[derive(Debug, Serialize)]
pub struct Draw {
    event: &'static str,
    lottery: Day,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winners: Option<usize>,
}

impl Draw {
    fn new(lottery: Day, outcome: &'static str, drawn: Option<&Drawn>) -> Self {
        Self {
            event: "draw",
            lottery,
            outcome,
            fence: drawn.map(|drawn| drawn.fence),
            winners: drawn.map(|drawn| drawn.winners.len()),
        }
    }

    /// A line of JSON.
    pub fn log(&self) -> String {
        // Numbers and text always serialize.
        serde_json::to_string(self).unwrap_or_default()
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

fn enter(
    day: Day,
    tickets: &Tickets,
    entrant: &Id,
    now: &LotteryNow,
    is_in: bool,
) -> Result<Decision<Response>, Problem> {
    let draw_at_ms = day.noon_ms();
    let ticket = Ticket {
        id: day,
        entrant,
        draw_at_ms,
    };
    // Before all else: whoever is in is told so, even after the draw.
    if is_in {
        return Ok(Decision::Leave(Response::json(200, &ticket)));
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
        return Err(Problem::new(
            409,
            "lottery_full",
            format!("a lottery has {MOST_ENTRANTS} entrants"),
        ));
    }
    let commands = tickets.enter(entrant, draw_at_ms);
    Ok(Decision::Write(commands, Response::json(201, &ticket)))
}

/// The draw, and whether it is a new one, given what is recorded and the fence of the lock that it is drawn under.
fn draw<E>(
    drum: Drum,
    fence: u64,
    random: impl FnMut() -> Result<u64, E>,
) -> Result<(Drawn, bool), E> {
    if let Some(drawn) = drum.drawn {
        return Ok((drawn, false));
    }
    let winners = chance::draw(drum.entrants, WINNERS, random)?;
    let drawn = Drawn {
        fence,
        at_ms: drum.now_ms,
        winners,
    };
    Ok((drawn, true))
}

fn random_number(source: &impl Runtime) -> Result<u64, NoRandomness> {
    let mut bytes = [0; 8];
    source.random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn no_randomness() -> Problem {
    Problem::new(
        500,
        "no_randomness",
        "the host gives no random numbers; nothing was drawn",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A lottery of `entrants`, so long before its draw.
    fn now(entrants: u64, before_ms: u64) -> LotteryNow {
        LotteryNow {
            drawn: None,
            now_ms: day().noon_ms() - before_ms,
            entrants,
        }
    }

    /// What somebody new is told; `None` if let in.
    fn refused(now: &LotteryNow) -> Option<String> {
        let ann = Id::parse("ann").unwrap();
        let problem = enter(day(), &Tickets::of(day()), &ann, now, false).err()?;
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
        let decision = enter(day(), &Tickets::of(day()), &ann, &over, true);
        assert!(matches!(decision, Ok(Decision::Leave(answer)) if answer.status == 200));
    }

    #[test]
    fn ten_are_drawn_under_the_fence_and_never_again() {
        let entrants: Vec<_> = (10..40).map(|n| n.to_string()).collect();
        let drum = |drawn| Drum {
            drawn,
            now_ms: 5,
            entrants: entrants.clone(),
        };
        let (first, is_new) = draw(drum(None), 7, || Ok::<_, NoRandomness>(0)).unwrap();
        assert!(is_new);
        assert_eq!((first.fence, first.at_ms), (7, 5));
        assert_eq!(first.winners, entrants[..10]);

        let (second, is_new) = draw(drum(Some(first.clone())), 8, || Err(NoRandomness)).unwrap();
        assert!(!is_new);
        assert_eq!(second, first);
    }
}
