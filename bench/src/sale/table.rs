//! The figures of one phase, shop by shop.

use std::collections::BTreeMap;
use std::fmt;

use testkit::sale::load::percentile;

use super::crowd::Seen;
use super::shops::Shop;
use crate::host::median;

/// What was measured in one round.
pub(super) struct Sample {
    pub(super) per_second: f64,
    /// The median and the 99th percentile, in milliseconds and in round trips.
    took_ms: [f64; 2],
    trips: [f64; 2],
    /// For each order.
    requests: f64,
    commands: f64,
    /// Microseconds of an order: of the Workers, the bridge and Redis.
    cpu_us: [f64; 3],
    gave_up: f64,
    broken: f64,
    wrong: f64,
}

impl Sample {
    /// `spent` as by [`super::shops::Open::hold`].
    pub(super) fn of(mut seen: Seen, spent: [u64; 5], trip_ms: u64) -> Self {
        seen.took_ms.sort_by(f64::total_cmp);
        let took_ms = [0.5, 0.99].map(|part| percentile(&seen.took_ms, part));
        let orders = (seen.took_ms.len() as u64 + seen.gave_up + seen.wrong) as f64;
        let [requests, commands, cpu @ ..] = spent.map(|sum| sum as f64 / orders);
        Self {
            per_second: seen.answered as f64 / seen.took.as_secs_f64(),
            took_ms,
            trips: took_ms.map(|ms| ms / trip_ms as f64),
            requests,
            commands,
            cpu_us: cpu.map(|ns| ns / 1_000.0),
            gave_up: seen.gave_up as f64,
            broken: seen.broken as f64,
            wrong: seen.wrong as f64,
        }
    }
}

/// A figure of each shop, or its ratio to what another shop has in the same round: the head, how
/// many digits follow the point, the other shop, and the figure.
type Column = (&'static str, usize, Option<Shop>, fn(&Sample) -> f64);

const SCRIPT: Option<Shop> = Some(Shop::Script);
const GATHERED: Option<Shop> = Some(Shop::Gathered);
const COLUMNS: [Column; 16] = [
    ("orders/s", 0, None, |sample| sample.per_second),
    ("of script", 2, SCRIPT, |sample| sample.per_second),
    ("of gathered", 2, GATHERED, |sample| sample.per_second),
    ("p50 ms", 0, None, |sample| sample.took_ms[0]),
    ("p99 ms", 0, None, |sample| sample.took_ms[1]),
    ("p50 trips", 1, None, |sample| sample.trips[0]),
    ("p99 trips", 1, None, |sample| sample.trips[1]),
    ("requests", 3, None, |sample| sample.requests),
    ("commands", 2, None, |sample| sample.commands),
    ("commands of script", 2, SCRIPT, |sample| sample.commands),
    ("Worker µs", 0, None, |sample| sample.cpu_us[0]),
    ("bridge µs", 0, None, |sample| sample.cpu_us[1]),
    ("Redis µs", 0, None, |sample| sample.cpu_us[2]),
    ("gave up", 0, None, |sample| sample.gave_up),
    ("broken", 0, None, |sample| sample.broken),
    ("wrong", 0, None, |sample| sample.wrong),
];

/// The rounds of each shop.
#[derive(Default)]
pub(super) struct Table(BTreeMap<Shop, Vec<Sample>>);

impl Table {
    pub(super) fn add(&mut self, shop: Shop, sample: Sample) {
        self.0.entry(shop).or_default().push(sample);
    }

    /// The figure in the column with this head; not a number where it was not measured.
    pub(super) fn figure(&self, shop: Shop, head: &str) -> f64 {
        let column = COLUMNS.iter().find(|(known, ..)| *known == head);
        self.median(shop, column.expect("a column has this head"))
    }

    fn median(&self, shop: Shop, (_, _, of, value): &Column) -> f64 {
        let values = |shop| self.0.get(&shop).into_iter().flatten().map(value);
        let ratios = |of| values(shop).zip(values(of)).map(|(ours, its)| ours / its);
        of.map_or_else(|| median(values(shop)), |of| median(ratios(of)))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = COLUMNS.map(|(head, ..)| head).join("  ");
        write!(f, "{:12}  {heads}", "")?;
        for shop in self.0.keys() {
            write!(f, "\n{:12}", shop.name())?;
            for column in &COLUMNS {
                let (head, digits, ..) = column;
                let (width, figure) = (head.chars().count() + 2, self.median(*shop, column));
                let text =
                    if figure.is_finite() { format!("{figure:.digits$}") } else { String::new() };
                write!(f, "{text:>width$}")?;
            }
        }
        Ok(())
    }
}
