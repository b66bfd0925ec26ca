//! Entries, and what everybody may see of a lottery.

use std::time::Duration;

use edgelock::{Decision, Reply};
use serde::Deserialize;
use serde_json::json;
use shared::body::{Id, parse};
use shared::call::{self, Answer, Call};
use shared::gate::{Gate, Most, Place};
use shared::problem::Problem;
use shared::section::{NO_FENCE, TTL, WAIT, section};
use worker::Request;

use crate::day::Day;
use crate::rules::{Entering, decide, full};
use crate::tickets::{LotteryNow, Tickets, let_in, names};

/// How long a request waits for what others of its kind do.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// Whoever reads. As many wait as are inside, so nobody takes more than twice the time.
    static ASKS: Gate = {
        let most = Most { of_a_name: usize::MAX, in_all: 128 };
        Gate::new(most, most)
    };
    /// Entries, by the name of their lock.
    static ENTRANCES: Gate =
        Gate::new(Most { of_a_name: 2, in_all: 16 }, Most { of_a_name: 128, in_all: 512 });
}

/// Takes part in a lottery. Sending it again changes nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    entrant: Id,
}

pub async fn enter(mut request: Request, call: Call, day: Day) -> Answer {
    let Entry { entrant } = parse(&call::read(&mut request).await?)?;
    let call = call.ends_with_its_caller();
    let tickets = Tickets::of(day);
    let (name, reads) = (tickets.entrance_lock_name(&entrant), tickets.read_with(&entrant));
    let decide = |replies: &[_], _| {
        let (now, entered) = LotteryNow::parse_with(replies)?;
        decide(day, &tickets, &entrant, &now, entered)
    };
    // A caller that is refused, or has entered before, needs no lock. A lock would leave keys
    // behind, and anybody may ask for any day.
    let place = ask(&call).await?;
    let looked = call.client.read(&reads).await.map_err(Problem::of)?;
    drop(place);
    let (entering, replies) = match decide(&looked, NO_FENCE)? {
        Decision::Leave(entering) => (entering, Vec::new()),
        Decision::Write(..) => {
            let gate = ENTRANCES.with(Gate::clone);
            let wait = call.pass(&gate, vec![name.clone()], WAIT).await?;
            let lock = call.replicated(call.client.lock(&name)).ttl(TTL).wait_timeout(wait);
            section(&lock, &reads, decide).await?
        }
    };
    let (status, is_in) = match entering {
        Entering::Now => (201, let_in(&replies)?),
        Entering::Before => (200, true),
        Entering::AmongTheLast(since) => (200, is_in(&call, &tickets, &entrant, since).await?),
    };
    if !is_in {
        return Err(full());
    }
    // An entry as its entrant sees it: the same each time.
    call::json(status, &json!({"id": day, "entrant": entrant, "draw_at_ms": day.noon_ms()}))
}

/// Lets a request read something.
async fn ask(call: &Call) -> Result<Place, Problem> {
    call.enter(&ASKS.with(Gate::clone), Vec::new(), PATIENCE).await
}

/// Whether `entrant` is at that place or behind it. Only for a lottery that is full, where these
/// places no longer change.
async fn is_in(call: &Call, tickets: &Tickets, entrant: &Id, since: u64) -> Result<bool, Problem> {
    let _place = ask(call).await?;
    let mut from = since;
    loop {
        let page = call.client.read(&[tickets.page(from)]).await.map_err(Problem::of)?;
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

pub async fn show(call: Call, day: Day) -> Answer {
    let call = call.ends_with_its_caller();
    let _place = ask(&call).await?;
    let replies = call.client.read(&Tickets::of(day).read()).await.map_err(Problem::of)?;
    let now = LotteryNow::parse(&replies)?;
    let drawn = now.drawn.as_ref();
    let shown = json!({
        "id": day, "entrants": now.entrants, "draw_at_ms": day.noon_ms(),
        "drawn_at_ms": drawn.map(|drawn| drawn.at_ms), "fence": drawn.map(|drawn| drawn.fence),
        "winners": drawn.map(|drawn| &drawn.winners),
    });
    call::json(200, &shown)
}
