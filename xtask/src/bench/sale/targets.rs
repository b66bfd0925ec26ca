//! The targets at a distance of 20 ms, and whether they are reached.

use std::time::Duration;

use super::shops::Shop;
use super::{Cell, percentile_ms};
use crate::bench::target::{Bound, Target};

const ROUND_TRIP_MS: u64 = 20;

/// The targets for which the measurements exist.
pub(super) fn all(cells: &[Cell]) -> Vec<Target> {
    let mut targets = Vec::new();
    let ours = |customers, round_trip_ms| {
        cells.iter().find(move |cell| {
            cell.shop == Shop::Edgelock
                && (cell.customers, cell.round_trip_ms) == (customers, round_trip_ms)
        })
    };
    let beside = |ours: &Cell, is_shop: fn(Shop) -> bool| {
        let cells = cells.iter().filter(|cell| {
            is_shop(cell.shop)
                && (cell.customers, cell.round_trip_ms, cell.units)
                    == (ours.customers, ours.round_trip_ms, ours.units)
        });
        let best = cells.map(Cell::per_second).fold(f64::NAN, f64::max);
        ours.per_second() / best
    };
    let is_script = |shop| shop == Shop::Script;
    let is_gathered = |shop| shop == Shop::Gathered;
    let is_lock = |shop| matches!(shop, Shop::Lock { .. });
    let mut add = |who, what, figure: f64, bound| {
        if figure.is_finite() {
            targets.push(Target {
                who,
                what,
                figure,
                bound,
            });
        }
    };
    if let Some(cell) = ours(64, ROUND_TRIP_MS) {
        let who = "64 customers";
        let rounds = |times: &[Duration], share| percentile_ms(times, share) / ROUND_TRIP_MS as f64;
        let seen = &cell.figures.seen;
        add(
            who,
            "orders/s, to one script",
            beside(cell, is_script),
            Bound::AtLeast(1.3),
        );
        add(
            who,
            "orders/s, to @upstash/lock",
            beside(cell, is_lock),
            Bound::AtLeast(35.0),
        );
        add(
            who,
            "orders/s, to the gathered",
            beside(cell, is_gathered),
            Bound::AtLeast(0.7),
        );
        add(
            who,
            "refused p50, round trips",
            rounds(&seen.refused, 0.5),
            Bound::AtMost(2.5),
        );
        add(
            who,
            "refused p99, round trips",
            rounds(&seen.refused, 0.99),
            Bound::AtMost(8.0),
        );
        add(
            who,
            "sold p99, round trips",
            rounds(&seen.sold, 0.99),
            Bound::AtMost(10.0),
        );
        add(
            who,
            "requests per order",
            cell.requests_per_order(),
            Bound::AtMost(0.12),
        );
    }
    if let Some(cell) = ours(512, ROUND_TRIP_MS) {
        let who = "512 customers";
        add(
            who,
            "orders/s, to one script",
            beside(cell, is_script),
            Bound::AtLeast(2.5),
        );
        add(
            who,
            "orders/s, to the gathered",
            beside(cell, is_gathered),
            Bound::AtLeast(0.7),
        );
        add(
            who,
            "gave up",
            cell.figures.seen.gave_up as f64,
            Bound::AtMost(0.0),
        );
        add(
            who,
            "requests per order",
            cell.requests_per_order(),
            Bound::AtMost(0.03),
        );
        add(who, "orders/s", cell.per_second(), Bound::AtLeast(1_000.0));
        if let Some(more) = ours(4_096, ROUND_TRIP_MS) {
            let who = "4,096 customers";
            let ratio = more.per_second() / cell.per_second();
            add(
                who,
                "orders/s, to 512 customers",
                ratio,
                Bound::AtLeast(1.0),
            );
            add(
                who,
                "gave up",
                more.figures.seen.gave_up as f64,
                Bound::AtMost(0.0),
            );
        }
        if let (Some(near), Some(far)) = (ours(512, 0), ours(512, 100)) {
            let [near, far] = [near, far].map(|cell| cell.cpu_us_per_order().iter().sum::<f64>());
            add(
                "0 to 100 ms",
                "CPU of an order",
                far / near,
                Bound::AtMost(1.2),
            );
        }
    }
    let oversold: u64 = cells
        .iter()
        .filter(|cell| cell.shop == Shop::Edgelock)
        .map(|cell| {
            let seen = &cell.figures.seen;
            cell.oversold() + seen.twice + seen.wrong + seen.broken
        })
        .sum();
    add(
        "all sales",
        "oversold, twice, wrong, broken",
        oversold as f64,
        Bound::AtMost(0.0),
    );
    targets
}
