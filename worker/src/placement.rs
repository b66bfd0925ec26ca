//! Decides an order by what is recorded: an order of its own, or an item of a cart.

use crate::input::Order;
use crate::ledger::{OrderNow, Sold};
use crate::problem::Problem;

/// The items of an order that is no cart.
pub(crate) const ONE_ITEM: u64 = 1;

/// For a decision that is made without the lock. One that sells is void. Any other stays true:
/// nothing is ever given back, a sale's terms never change, and a sold order stays sold.
pub(crate) const NO_FENCE: u64 = 0;

/// The decision about an order.
#[derive(Debug)]
pub(crate) enum Placement {
    /// It was sold before.
    Known(Sold),
    /// It is sold. After it the buyer has `bought`.
    New {
        sold: Sold,
        bought: u64,
        ends_at_ms: u64,
    },
}

/// Decides `order` by what is recorded, under the lock's fence. It is one of so many `items`.
///
/// # Errors
/// Why it is not sold.
pub(crate) fn place(
    order: &Order,
    items: u64,
    found: &OrderNow,
    fence: u64,
) -> Result<Placement, Problem> {
    let quantity = order.quantity.get();
    // First of all: a buyer is told of a sold order, even when the sale is over.
    if let Some(sold) = &found.sold {
        let is_same = sold.quantity == quantity && sold.buyer == order.buyer.as_str();
        if is_same && sold.items == items {
            return Ok(Placement::Known(sold.clone()));
        }
        return Err(Problem::order_conflict());
    }
    let sale = found.at.sale.as_ref().ok_or_else(Problem::no_such_sale)?;
    if found.at.now_ms >= sale.ends_at_ms {
        return Err(Problem::new(410, "sale_over", "the sale is over"));
    }
    if sale.remaining == 0 {
        return Err(Problem::sold_out());
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
        items,
    };
    Ok(Placement::New {
        sold,
        bought,
        ends_at_ms: sale.ends_at_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Response;
    use crate::input;
    use crate::ledger::{Sale, SaleNow};

    const NOW_MS: u64 = 1_000;

    fn order(quantity: u64) -> Order {
        let body = format!(r#"{{"order_id":"o1","buyer":"ann","quantity":{quantity}}}"#);
        input::parse(body.as_bytes()).unwrap()
    }

    /// A sale with `remaining` left, for a buyer with `bought` and a limit of 3.
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
        let problem = place(&order(quantity), ONE_ITEM, found, 7).unwrap_err();
        let body: serde_json::Value = serde_json::from_str(&Response::from(problem).body).unwrap();
        body["code"].as_str().unwrap().to_owned()
    }

    #[test]
    fn an_order_is_sold_down_to_the_last_unit_and_up_to_the_limit() {
        for (remaining, bought, quantity) in [(10, 0, 1), (3, 0, 3), (1, 2, 1), (10, 0, 3)] {
            let found = found(remaining, bought);
            let placement = place(&order(quantity), ONE_ITEM, &found, 7).unwrap();
            let Placement::New {
                sold, bought: has, ..
            } = placement
            else {
                panic!("it was sold before")
            };
            assert_eq!(sold.remaining, remaining - quantity);
            assert_eq!((sold.quantity, sold.fence), (quantity, 7));
            assert_eq!(has, bought + quantity);
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
            items: ONE_ITEM,
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
            items: ONE_ITEM,
        };
        let mut found = found(0, 9);
        found.sold = Some(sold.clone());
        found.at.sale = None;
        let placement = place(&order(2), ONE_ITEM, &found, 7).unwrap();
        assert!(matches!(placement, Placement::Known(repeated) if repeated == sold));
    }
}
