//! Opens a sale, and shows it.

use edgelock::{Decision, Runtime, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::{self, Id, Terms};
use crate::ledger::{Ledger, Sale, SaleNow};
use crate::problem::Problem;
use crate::shop::Shop;

const LONGEST_SALE_MS: u64 = 365 * 24 * 60 * 60 * 1000;

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn open_sale(&self, sku: &Id, body: &[u8]) -> Result<Response, Problem> {
        let terms: Terms = input::parse(body)?;
        let ledger = Ledger::of(sku);
        self.section(&ledger.lock_name(), &ledger.read_sale(), |replies, _| {
            open(sku, &ledger, &terms, &SaleNow::parse(replies)?)
        })
        .await
    }

    pub(crate) async fn show_sale(&self, sku: &Id) -> Result<Response, Problem> {
        let reads = Ledger::of(sku).read_sale();
        let replies = self.client.read(&reads).await.map_err(Problem::of)?;
        let SaleNow { sale, now_ms } = SaleNow::parse(&replies)?;
        let sale = sale.ok_or_else(Problem::no_such_sale)?;
        Ok(Response::json(200, &State::of(sku, &sale, now_ms)))
    }
}

/// A sale as callers see it.
#[derive(Serialize)]
struct State<'a> {
    sku: &'a Id,
    stock: u64,
    sold: u64,
    remaining: u64,
    limit_per_buyer: u64,
    ends_at_ms: u64,
    open: bool,
}

impl<'a> State<'a> {
    const fn of(sku: &'a Id, sale: &Sale, now_ms: u64) -> Self {
        Self {
            sku,
            stock: sale.stock,
            sold: sale.stock.saturating_sub(sale.remaining),
            remaining: sale.remaining,
            limit_per_buyer: sale.limit_per_buyer,
            ends_at_ms: sale.ends_at_ms,
            open: now_ms < sale.ends_at_ms,
        }
    }
}

fn open(
    sku: &Id,
    ledger: &Ledger,
    terms: &Terms,
    found: &SaleNow,
) -> Result<Decision<Response>, Problem> {
    let now_ms = found.now_ms;
    let answer = |status, sale| Response::json(status, &State::of(sku, sale, now_ms));
    let wanted = Sale {
        stock: terms.stock.get(),
        remaining: terms.stock.get(),
        limit_per_buyer: terms.limit_per_buyer.get(),
        ends_at_ms: terms.ends_at_ms.get(),
    };
    if let Some(sale) = &found.sale {
        let asked_again = Sale {
            remaining: sale.remaining,
            ..wanted
        };
        if asked_again == *sale {
            return Ok(Decision::Leave(answer(200, sale)));
        }
        return Err(Problem::new(
            409,
            "sale_exists",
            "there is a sale of this sku on other terms; open one of another sku",
        ));
    }
    let lasts_ms = wanted.ends_at_ms.saturating_sub(now_ms);
    if !(1..=LONGEST_SALE_MS).contains(&lasts_ms) {
        return Err(Problem::invalid(
            "ends_at_ms",
            "a sale ends in the future, and within 365 days",
        ));
    }
    Ok(Decision::Write(ledger.open(terms), answer(201, &wanted)))
}
