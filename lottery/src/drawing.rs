//! The draw of a lottery, at noon of its day: once, however many instances try to.

use std::time::Duration;

use edgelock::web::{Client, Host};
use edgelock::{EntropyUnavailable, Error, Runtime};
use serde_json::{Value, json};
use shared::call::{replicas, replicated};
use shared::observe;
use shared::problem::Problem;
use shared::section::TTL;
use worker::{Env, ScheduleContext, console_log};

use crate::day::Day;
use crate::draw;
use crate::tickets::{Drawn, LotteryNow, Tickets, names};

const WINNERS: u64 = 10;

/// Draws the lottery of the day in which `scheduled_ms` lies. Does nothing if it was drawn before,
/// or if another instance draws it at the moment. Returns what the log is told.
///
/// It takes three requests, however many take part: the number of entrants, the names at the places
/// that were drawn, and the record. An instance that dies midway has drawn nothing. Another one can
/// draw after the lock's ttl.
///
/// # Errors
/// Why it was not drawn, or why nobody can know.
pub async fn draw(
    scheduled_ms: i64,
    env: &Env,
    context: &ScheduleContext,
) -> Result<Value, Problem> {
    let host = Host::from(context)
        .on_event(|event| console_log!("{}", observe::line(event.lock, &event.kind)));
    let client =
        Client::from_env(env, host).map_err(|error| Problem::not_configured(error.to_string()))?;
    let no_day = || Problem::new(500, "no_such_day", "no lottery is of that time");
    let day = Day::at(scheduled_ms).ok_or_else(no_day)?;
    let tickets = Tickets::of(day);
    let lock = client.lock(&tickets.draw_lock_name()).ttl(TTL).wait_timeout(Duration::ZERO);
    let entered = replicated(lock, replicas(env)?).acquire_and_read(&tickets.read()).await;
    let (lease, replies) = match entered {
        Ok(entered) => entered,
        Err(Error::Held { .. }) => return Ok(told(day, "left_to_another", None)),
        Err(error) => return Err(Problem::of(error)),
    };
    let now = LotteryNow::parse(&replies)?;
    // Dropping the lease releases it.
    if let Some(drawn) = &now.drawn {
        return Ok(told(day, "drawn_before", Some(drawn)));
    }
    let places = draw::draw(now.entrants, WINNERS, || number(client.runtime()));
    let places = places.map_err(|EntropyUnavailable| no_entropy())?;
    // A list only grows, so every entrant keeps its place.
    let winners = lease.exec(&tickets.at(&places)).await.map_err(Problem::of)?;
    let (fence, at_ms) = (lease.fence(), now.now_ms);
    let drawn = Drawn { fence, at_ms, winners: names(&winners)? };
    lease.commit(&tickets.record(&drawn)).await.map_err(Problem::of_write)?;
    Ok(told(day, "drawn", Some(&drawn)))
}

/// The outcome of a draw, for the log.
fn told(lottery: Day, outcome: &str, drawn: Option<&Drawn>) -> Value {
    let mut told = json!({"event": "draw", "lottery": lottery, "outcome": outcome});
    if let Some(Drawn { fence, winners, .. }) = drawn {
        told["fence"] = json!(fence);
        told["winners"] = json!(winners.len());
    }
    told
}

fn number(source: &Host) -> Result<u64, EntropyUnavailable> {
    let mut bytes = [0; 8];
    source.random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn no_entropy() -> Problem {
    let told = "the host gives no random numbers; nothing was drawn";
    Problem::new(500, "entropy_unavailable", told)
}
