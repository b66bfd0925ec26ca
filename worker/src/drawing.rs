//! The draw of a lottery, at noon of its day: once, however many Workers try to.

use edgelock::{EntropyUnavailable, Runtime, Transport};
use serde::Serialize;

use crate::day::Day;
use crate::draw;
use crate::problem::Problem;
use crate::shop::Shop;
use crate::tickets::{Drawn, LotteryNow, Tickets, names};

const WINNERS: u64 = 10;

impl<T: Transport, R: Runtime> Shop<T, R> {
    /// Draws the lottery of the day in which `scheduled_ms` lies. Does nothing if it was drawn
    /// before, or if another Worker draws it at the moment.
    ///
    /// It takes three requests, however many take part: the number of entrants, the names at the
    /// places that were drawn, and the record. A Worker that dies midway has drawn nothing. Another
    /// one can draw after the lock's ttl.
    ///
    /// # Errors
    /// The [`Problem`] because of which it was not drawn, or because of which nobody can know.
    pub async fn draw(&self, scheduled_ms: i64, random: &impl Runtime) -> Result<Draw, Problem> {
        let day = Day::at(scheduled_ms)
            .ok_or_else(|| Problem::new(500, "no_such_day", "no lottery is of that time"))?;
        let tickets = Tickets::of(day);
        let name = tickets.draw_lock_name();
        let Some((lease, replies)) = self.enter_if_free(&name, &tickets.read()).await? else {
            return Ok(Draw::new(day, "left_to_another", None));
        };
        let now = LotteryNow::parse(&replies)?;
        // Dropping the lease releases it.
        if let Some(drawn) = &now.drawn {
            return Ok(Draw::new(day, "drawn_before", Some(drawn)));
        }
        let places = draw::draw(now.entrants, WINNERS, || random_number(random))
            .map_err(|EntropyUnavailable| entropy_unavailable())?;
        // A list only grows, so every entrant keeps its place.
        let winners = lease
            .exec(&tickets.at(&places))
            .await
            .map_err(Problem::of)?;
        let drawn = Drawn {
            fence: lease.fence(),
            at_ms: now.now_ms,
            winners: names(&winners)?,
        };
        let recorded = lease.commit(&tickets.record(&drawn)).await;
        recorded.map_err(Problem::of_write)?;
        Ok(Draw::new(day, "drawn", Some(&drawn)))
    }
}

/// The outcome of a draw, for the log.
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

fn random_number(source: &impl Runtime) -> Result<u64, EntropyUnavailable> {
    let mut bytes = [0; 8];
    source.random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn entropy_unavailable() -> Problem {
    Problem::new(
        500,
        "entropy_unavailable",
        "the host gives no random numbers; nothing was drawn",
    )
}
