//! The targets of shared turns, and whether they are reached.

use super::shops::Shop;
use super::table::Table;
use crate::target::Bound::{self, AtLeast, AtMost};
use crate::target::Target;

const ALONE: &str = "1 customer, 1 isolate, 20 ms, while stock lasts";
const IN_TURN: &str = "1 customer, 2 isolates, 20 ms, while stock lasts";
const FEW: &str = "64 customers, 2 isolates, 20 ms, while stock lasts";
const MANY: &str = "512 customers, 2 isolates, 20 ms, while stock lasts";
const MOST: &str = "4096 customers, 2 isolates, 20 ms, while stock lasts";
const CALM: &str = "500 orders/s at random, 2 isolates, 20 ms, while stock lasts";
const RUSH: &str = "2000 orders/s at random, 2 isolates, 20 ms, while stock lasts";

/// The title of a table, the head of a column, and the bound of its figure.
const TARGETS: [(&str, &str, Bound); 25] = [
    (ALONE, "requests", AtMost(1.0)),
    (ALONE, "p50 trips", AtMost(1.5)),
    (IN_TURN, "requests", AtMost(2.0)),
    (IN_TURN, "p50 trips", AtMost(2.5)),
    (FEW, "of script", AtLeast(0.45)),
    (FEW, "of gathered", AtLeast(0.9)),
    (FEW, "p50 trips", AtMost(2.5)),
    (FEW, "p99 trips", AtMost(5.0)),
    (FEW, "Worker µs", AtMost(220.0)),
    (FEW, "requests", AtMost(0.1)),
    (MANY, "of script", AtLeast(1.0)),
    (MANY, "of gathered", AtLeast(0.6)),
    (MANY, "p50 trips", AtMost(4.0)),
    (MANY, "p99 trips", AtMost(8.0)),
    (MANY, "Worker µs", AtMost(150.0)),
    (MANY, "requests", AtMost(0.02)),
    (MANY, "commands of script", AtMost(0.7)),
    (MOST, "of script", AtLeast(3.5)),
    (MOST, "of gathered", AtLeast(0.5)),
    (MOST, "Worker µs", AtMost(150.0)),
    (MOST, "requests", AtMost(0.01)),
    (CALM, "p50 trips", AtMost(2.0)),
    (CALM, "p99 trips", AtMost(5.0)),
    (RUSH, "p50 trips", AtMost(3.0)),
    (RUSH, "p99 trips", AtMost(8.0)),
];

/// Prints those for which the table with this title has the figures.
pub(super) fn print(title: &str, table: &Table) {
    for &(_, what, bound) in TARGETS.iter().filter(|(known, ..)| *known == title) {
        let target =
            Target { who: "edgelock", what, figure: table.figure(Shop::Edgelock, what), bound };
        if !target.figure.is_nan() {
            println!("{target}");
        }
    }
}
