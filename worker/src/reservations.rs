//! Sells in two steps: one request reserves units for some minutes, another one confirms them.
//! Neither takes the sale's lock, and no buyer waits for another.
//!
//! What a buyer has reserved and bought is within its limit: what it may reserve is the limit less
//! what it had bought when it reserved, and to confirm moves units from the one to the other.

use std::time::Duration;

use edgelock::web::Lock;
use edgelock::{Decision, Error, ReservationError, Token};
use serde_json::{Value, json};
use shared::body::{Id, parse};
use shared::call::{self, Answer, Call};
use shared::gate::Place;
use shared::problem::{Problem, millis};
use shared::section::{WAIT, section};
use worker::Request;

use crate::input::{Reserved, Wanted};
use crate::isolate::{ask, of_section};
use crate::ledger::{Ledger, ReservedNow, how_many};
use crate::placement::{SOLD_OUT, Sale, SaleNow, Sold, no_such_sale};

/// After this time at most somebody who found all reserved may ask again: buyers confirm or give
/// back before their time is over.
const COME_AGAIN: Duration = Duration::from_secs(30);

/// How long a buyer has to pay.
const LASTS: Duration = Duration::from_secs(10 * 60);

pub async fn reserve(mut request: Request, call: Call, sku: Id) -> Answer {
    let Wanted { buyer, quantity } = parse(&call::read(&mut request).await?)?;
    let (call, ledger) = (call.ends_with_its_caller(), Ledger::of(&sku));
    let _place = ask(&call).await?;
    let bought = ledger.read_bought(&buyer);
    let mut reads = ledger.read_sale();
    reads.push(bought.clone());
    let replies = call.client.read(&reads).await.map_err(Problem::of)?;
    let now = SaleNow::parse(&replies)?;
    let (sale, has) = (now.open()?, how_many(&replies[2])?);
    let most = sale.leaves(has, quantity.0)?;
    let units = units(&call, &ledger, sale)?.weight(small(quantity.0)?);
    let units = units.owner(buyer.as_str(), small(most)?);
    let (lease, replies) = units.acquire_and_read(&[bought]).await.map_err(refused)?;
    if how_many(&replies[0])? != has {
        // The buyer confirmed something in between, so it may have reserved too many.
        return Err(Problem::crowded());
    }
    let (quantity, buyer) = (quantity.0, buyer.to_string());
    let sold = Sold { quantity, buyer, turn: 0, remaining: 0, cart: None };
    let record = ledger.reserve(lease.token(), &sold, LASTS);
    lease.exec(&[record]).await.map_err(Problem::of_write)?;
    let mut reserved = receipt(&sku, lease.token().expose(), &sold);
    reserved["expires_in_ms"] = millis(lease.remaining()).into();
    drop(lease.into_token());
    call::json(201, &reserved)
}

/// It comes to its end whether its buyer stays or not.
pub async fn confirm(request: Request, call: Call, sku: Id) -> Answer {
    let Step { sku, call, ledger, found, sale, units, token, _place } =
        begin(request, call, sku).await?;
    let receipt = |sold| receipt(&sku, token.expose(), sold);
    if let Some(sold) = &found.confirmed {
        replicated(&call, &ledger).await?;
        return call::json(200, &receipt(sold));
    }
    let sold = &found.reserved.ok_or_else(over)?;
    let lease = units.resume(token.clone()).map_err(Problem::of)?;
    let outcome = lease.commit(&ledger.confirm(&token, sold, sale.ends_at_ms)).await;
    // If it is not known what came of it, the units stay reserved, and the buyer may ask again.
    drop(lease.into_token());
    match outcome.map_err(ended) {
        Ok(_) => call::json(201, &receipt(sold)),
        Err(problem) if problem.code == CONFIRMED => {
            replicated(&call, &ledger).await?;
            call::json(200, &receipt(sold))
        }
        Err(problem) => Err(problem),
    }
}

pub async fn release(request: Request, call: Call, sku: Id) -> Answer {
    let Step { found, units, token, _place, .. } = begin(request, call, sku).await?;
    if found.confirmed.is_some() {
        return Err(confirmed());
    }
    found.reserved.ok_or_else(over)?;
    let lease = units.resume(token).map_err(Problem::of)?;
    lease.release().await.map_err(ended)?;
    call::json(200, &json!({"released": true}))
}

/// The second step of a sale.
struct Step {
    sku: Id,
    call: Call,
    ledger: Ledger,
    found: ReservedNow,
    sale: Sale,
    units: Lock,
    token: Token,
    _place: Place,
}

/// Looks before anything is done, so that a token that was made up leaves nothing in Redis.
async fn begin(mut request: Request, call: Call, sku: Id) -> Result<Step, Problem> {
    let Reserved { token } = parse(&call::read(&mut request).await?)?;
    let ledger = Ledger::of(&sku);
    let _place = ask(&call).await?;
    let replies = call.client.read(&ledger.read_reserved(&token)).await.map_err(Problem::of)?;
    let mut found = ReservedNow::parse(&replies)?;
    let sale = found.at.sale.take().ok_or_else(no_such_sale)?;
    let units = units(&call, &ledger, &sale)?;
    Ok(Step { sku, call, ledger, found, sale, units, token, _place })
}

fn units(call: &Call, ledger: &Ledger, sale: &Sale) -> Result<Lock, Problem> {
    if !sale.two_steps {
        let told = "this sale has one step: order";
        return Err(Problem::new(409, "one_step", told));
    }
    let units = call.client.reservations(&ledger.units_name(), small(sale.stock)?);
    Ok(call.replicated(units.ttl(LASTS)))
}

fn small(number: u64) -> Result<u32, Problem> {
    u32::try_from(number).map_err(|_| Problem::corrupt())
}

/// What is on record is told once replicas have it, if this Worker waits for them: they have it
/// with a lock that is taken after it.
async fn replicated(call: &Call, ledger: &Ledger) -> Result<(), Problem> {
    if call.replicas.is_none() {
        return Ok(());
    }
    let lock = of_section(call, call.client.lock(&ledger.lock_name())).wait_timeout(WAIT);
    section(&lock, &[], |_, _| Ok(Decision::Leave(()))).await.map(drop)
}

/// Why nothing is reserved.
fn refused(error: Error) -> Problem {
    match &error {
        Error::Reservation { kind: ReservationError::SoldOut, .. } => {
            Problem::new(409, SOLD_OUT, "fewer are left than were asked for")
        }
        Error::Reservation { kind: ReservationError::OwnerLimit, .. } => {
            let told = "this buyer has reserved as many as it may; confirm or release them";
            Problem::new(409, "owner_limit", told)
        }
        Error::Held { retry_after, .. } => {
            let told = "others have reserved what is left, and may yet give it back";
            Problem::new(503, "all_reserved", told).retry_after((*retry_after).min(COME_AGAIN))
        }
        _ => Problem::of(error),
    }
}

/// Why a reservation is neither confirmed nor given back.
fn ended(error: Error) -> Problem {
    match &error {
        Error::Reservation { kind: ReservationError::Confirmed, .. } => confirmed(),
        Error::Lost { .. } => over(),
        _ => Problem::of_write(error),
    }
}

const CONFIRMED: &str = "confirmed";

fn confirmed() -> Problem {
    Problem::new(409, CONFIRMED, "it is confirmed, and stays sold")
}

fn over() -> Problem {
    Problem::new(410, "reservation_over", "there is no such reservation any more; reserve again")
}

/// What is reserved or sold as its buyer sees it: the same each time.
fn receipt(sku: &Id, token: &str, sold: &Sold) -> Value {
    json!({"token": token, "sku": sku, "buyer": sold.buyer, "quantity": sold.quantity})
}
