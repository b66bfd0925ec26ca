//! Sells, and never more than there is.

use edgelock::{Command, Runtime, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::{self, Id, Order};
use crate::ledger::{Ledger, OrderNow, Sold};
use crate::problem::Problem;
use crate::section::Decision;
use crate::shop::Shop;

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn place_order(&self, sku: &Id, body: &[u8]) -> Result<Response, Problem> {
        let order: Order = input::parse(body)?;
        let ledger = Ledger::of(sku);
        let reads = ledger.read_order(&order);
        self.section(&ledger.lock_name(), &reads, |replies, fence| {
            let (sold, commands) = place(&ledger, &order, &OrderNow::parse(replies)?, fence)?;
            let receipt = Receipt::of(sku, &order, &sold);
            Ok(match commands {
                Some(commands) => Decision::Write(commands, Response::json(201, &receipt)),
                None => Decision::Leave(Response::json(200, &receipt)),
            })
        })
        .await
    }
}

/// A sold order as its buyer sees it: the same each time.
#[derive(Serialize)]
struct Receipt<'a> {
    order_id: &'a Id,
    sku: &'a Id,
    buyer: &'a Id,
    quantity: u64,
    remaining: u64,
    fence: u64,
}

impl<'a> Receipt<'a> {
    const fn of(sku: &'a Id, order: &'a Order, sold: &Sold) -> Self {
        Self {
            order_id: &order.order_id,
            sku,
            buyer: &order.buyer,
            quantity: sold.quantity,
            remaining: sold.remaining,
            fence: sold.fence,
        }
    }
}

/// What `order` comes to, given what is recorded and the fence of the lock that it is judged under: what is sold, and how to
/// record it, unless it was before.
fn place(
    ledger: &Ledger,
    order: &Order,
    found: &OrderNow,
    fence: u64,
) -> Result<(Sold, Option<Vec<Command>>), Problem> {
    let quantity = order.quantity.get();
    // Before all else: whoever was sold something is told so, even when the sale is over.
    if let Some(sold) = &found.sold {
        if sold.quantity == quantity && sold.buyer == order.buyer.as_str() {
            return Ok((sold.clone(), None));
        }
        return Err(Problem::new(
            409,
            "order_conflict",
            "another order has this order_id",
        ));
    }
    let sale = found.at.sale.as_ref().ok_or_else(Problem::no_such_sale)?;
    if found.at.now_ms >= sale.ends_at_ms {
        return Err(Problem::new(410, "sale_over", "the sale is over"));
    }
    if sale.remaining == 0 {
        return Err(Problem::new(409, "sold_out", "nothing is left").remaining(0));
    }
    let Some(remaining) = sale.remaining.checked_sub(quantity) else {
        return Err(
            Problem::new(409, "not_enough_left", "fewer are left than were ordered")
                .remaining(sale.remaining),
        );
    };
    let bought = found.bought.saturating_add(quantity);
    if bought > sale.limit_per_buyer {
        return Err(Problem::new(
            409,
            "limit_reached",
            format!("a buyer may have {}", sale.limit_per_buyer),
        )
        .bought(found.bought));
    }
    let sold = Sold {
        quantity,
        buyer: order.buyer.to_string(),
        fence,
        remaining,
    };
    let commands = ledger.sell(order, &sold, bought, sale.ends_at_ms);
    Ok((sold, Some(commands)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Sale, SaleNow};

    const NOW_MS: u64 = 1_000;

    fn sku() -> Id {
        Id::parse("42").unwrap()
    }

    fn order(quantity: u64) -> Order {
        let body = format!(r#"{{"order_id":"o1","buyer":"ann","quantity":{quantity}}}"#);
        input::parse(body.as_bytes()).unwrap()
    }

    /// A sale of which `remaining` are left, to a buyer with `bought` and a limit of 3.
    fn found(remaining: u64, bought: u64) -> OrderNow {
        let sale = Sale {
            stock: 10,
            remaining,
            limit_per_buyer: 3,
            ends_at_ms: NOW_MS + 1,
        };
        OrderNow {
            at: SaleNow {
                sale: Some(sale),
                now_ms: NOW_MS,
            },
            sold: None,
            bought,
        }
    }

    #[track_caller]
    fn refused(quantity: u64, found: &OrderNow) -> String {
        let problem = place(&Ledger::of(&sku()), &order(quantity), found, 7).unwrap_err();
        let body: serde_json::Value = serde_json::from_str(&Response::from(problem).body).unwrap();
        body["code"].as_str().unwrap().to_owned()
    }

    #[test]
    fn an_order_is_sold_down_to_the_last_unit_and_up_to_the_limit() {
        for (remaining, bought, quantity) in [(10, 0, 1), (3, 0, 3), (1, 2, 1), (10, 0, 3)] {
            let found = found(remaining, bought);
            let (sold, commands) = place(&Ledger::of(&sku()), &order(quantity), &found, 7).unwrap();
            assert_eq!(sold.remaining, remaining - quantity);
            assert_eq!((sold.quantity, sold.fence), (quantity, 7));
            assert!(commands.is_some());
        }
    }

    #[test]
    fn an_order_is_refused_for_the_first_of_these_reasons() {
        let mut conflict = found(0, 9);
        conflict.sold = Some(Sold {
            quantity: 2,
            buyer: "ann".to_owned(),
            fence: 1,
            remaining: 0,
        });
        let mut over = found(0, 9);
        over.at.now_ms = NOW_MS + 1;
        let mut none = found(0, 9);
        none.at.sale = None;
        for (found, quantity, code) in [
            (conflict, 1, "order_conflict"),
            (none, 1, "no_such_sale"),
            (over, 1, "sale_over"),
            (found(0, 9), 1, "sold_out"),
            (found(1, 9), 2, "not_enough_left"),
            (found(2, 2), 2, "limit_reached"),
            (found(10, u64::MAX), 1, "limit_reached"),
        ] {
            assert_eq!(refused(quantity, &found), code);
        }
    }

    #[test]
    fn what_was_sold_is_repeated_whatever_became_of_the_sale() {
        let sold = Sold {
            quantity: 2,
            buyer: "ann".to_owned(),
            fence: 1,
            remaining: 0,
        };
        let mut found = found(0, 9);
        found.sold = Some(sold.clone());
        found.at.sale = None;
        let (repeated, commands) = place(&Ledger::of(&sku()), &order(2), &found, 7).unwrap();
        assert_eq!(repeated, sold);
        assert!(commands.is_none());
    }
}
