//! Opens a sale, and shows it.

use edgelock::Decision;
use serde_json::{Value, json};
use shared::body::{Id, parse};
use shared::call::{self, Answer, Call};
use shared::gate::Gate;
use shared::problem::Problem;
use shared::section::{WAIT, section};
use worker::{Env, Request};

use crate::input::Terms;
use crate::isolate::{OPENINGS, ask, of_section};
use crate::ledger::Ledger;
use crate::placement::{Sale, SaleNow, no_such_sale};

const LONGEST_SALE_MS: u64 = 365 * 24 * 60 * 60 * 1000;

pub async fn open(mut request: Request, env: &Env, call: Call, sku: Id) -> Answer {
    call::admit(&request, env, "ADMIN_CREDENTIAL")?;
    let terms: Terms = parse(&call::read(&mut request).await?)?;
    let (call, ledger) = (call.ends_with_its_caller(), Ledger::of(&sku));
    let name = ledger.lock_name();
    let wait = call.pass(&OPENINGS.with(Gate::clone), vec![name.clone()], WAIT).await?;
    let lock = of_section(&call, call.client.lock(&name)).wait_timeout(wait);
    let decide = |replies: &[_], _| decide(&sku, &ledger, &terms, &SaleNow::parse(replies)?);
    let ((status, opened), _) = section(&lock, &ledger.read_sale(), decide).await?;
    call::json(status, &opened)
}

pub async fn show(call: Call, sku: Id) -> Answer {
    let call = call.ends_with_its_caller();
    let _place = ask(&call).await?;
    let replies = call.client.read(&Ledger::of(&sku).read_sale()).await.map_err(Problem::of)?;
    let SaleNow { sale, now_ms } = SaleNow::parse(&replies)?;
    call::json(200, &shown(&sku, &sale.ok_or_else(no_such_sale)?, now_ms))
}

/// A sale as callers see it.
fn shown(sku: &Id, sale: &Sale, now_ms: u64) -> Value {
    json!({
        "sku": sku, "stock": sale.stock, "sold": sale.stock.saturating_sub(sale.remaining),
        "remaining": sale.remaining, "limit_per_buyer": sale.limit_per_buyer,
        "ends_at_ms": sale.ends_at_ms, "open": now_ms < sale.ends_at_ms,
        "two_steps": sale.two_steps,
    })
}

/// A status, and the sale.
fn decide(
    sku: &Id,
    ledger: &Ledger,
    terms: &Terms,
    found: &SaleNow,
) -> Result<Decision<(u16, Value)>, Problem> {
    let stock = terms.stock.0;
    let (limit_per_buyer, ends_at_ms) = (terms.limit_per_buyer.0, terms.ends_at_ms.0);
    let two_steps = terms.two_steps;
    let wanted = Sale { stock, remaining: stock, limit_per_buyer, ends_at_ms, two_steps };
    if let Some(sale) = &found.sale {
        if *sale == (Sale { remaining: sale.remaining, ..wanted }) {
            return Ok(Decision::Leave((200, shown(sku, sale, found.now_ms))));
        }
        let told = "there is a sale of this sku on other terms; open one of another sku";
        return Err(Problem::new(409, "sale_exists", told));
    }
    let lasts_ms = ends_at_ms.saturating_sub(found.now_ms);
    if !(1..=LONGEST_SALE_MS).contains(&lasts_ms) {
        let told = "a sale ends in the future, and within 365 days";
        return Err(Problem::invalid("ends_at_ms", told));
    }
    Ok(Decision::Write(ledger.open(terms), (201, shown(sku, &wanted, found.now_ms))))
}
