//! The targets for many waiters.

use super::field::{CROWD, Cell, Kind, WAITERS};
use crate::target::{Bound, Target};

/// How much more a turn may cost with more waiters.
const FLAT: Bound = Bound::AtMost(1.2);

pub(super) fn all(cells: &[Cell]) -> Vec<Target> {
    let cell = |kind, waiters| {
        cells.iter().find(|cell| (cell.kind, cell.waiters, cell.names) == (kind, waiters, 1))
    };
    let figure =
        |kind, waiters, value: fn(&Cell) -> f64| cell(kind, waiters).map_or(f64::NAN, value);
    // The most that it is with more than two waiters, compared with two.
    let growth = |kind, value: fn(&Cell) -> f64| {
        let more = WAITERS.into_iter().filter(|waiters| *waiters > 2);
        let most = more.map(|waiters| figure(kind, waiters, value)).fold(f64::NAN, f64::max);
        most / figure(kind, 2, value)
    };
    let crowd = |what, kind, value, bound| Target {
        who: "32 waiters",
        what,
        figure: figure(kind, CROWD, value),
        bound,
    };
    let flat = |what, kind, value| Target {
        who: "2 to 64 waiters",
        what,
        figure: growth(kind, value),
        bound: FLAT,
    };
    let requests = |cell: &Cell| cell.figures.requests;
    let server_cpu = |cell: &Cell| cell.figures.server_cpu_ms();
    vec![
        crowd("push, share of the limit", Kind::Push, Cell::share, Bound::AtLeast(0.95)),
        crowd("push, requests of a turn", Kind::Push, requests, Bound::AtMost(4.2)),
        crowd("push, wait p99 in rounds", Kind::Push, Cell::rounds_waited, Bound::AtMost(1.25)),
        crowd("fair, Jain's index", Kind::Fair, |cell| cell.figures.jain, Bound::AtLeast(0.99)),
        flat("push, requests of a turn", Kind::Push, requests),
        flat("push, CPU of bridge and Redis", Kind::Push, server_cpu),
        flat("fair, requests of a turn", Kind::Fair, requests),
        flat("fair, CPU of bridge and Redis", Kind::Fair, server_cpu),
    ]
}
