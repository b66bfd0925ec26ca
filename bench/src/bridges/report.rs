//! What was measured, as a table, and whether the targets are reached.

use super::entrant::{CUSTOMERS, Entrant, Sample};
use crate::host::median;
use crate::target::{Bound, Target};

pub(super) fn table(entrants: &[Entrant]) -> String {
    let mut table = format!(
        "{CUSTOMERS} connections, EVALSHA     requests/s  /s of bridge's CPU  µs CPU: bridge  Redis customers  of others\n"
    );
    for entrant in entrants {
        let median_of = |value: &dyn Fn(&Sample) -> f64| median(entrant.samples.iter().map(value));
        let sample = Sample {
            per_second: median_of(&|sample| sample.per_second),
            cpu_us: [0, 1, 2].map(|of| median_of(&move |sample| sample.cpu_us[of])),
            others: median_of(&|sample| sample.others),
        };
        table += &format!("{:25} {sample}\n", entrant.name);
    }
    table
}

/// The targets: each is the median of our figure over theirs in the same round, with the lowest and
/// the highest.
pub(super) fn targets(entrants: &[Entrant]) -> Vec<(Target, [f64; 2])> {
    let Some((ours, others)) = entrants.split_first() else {
        return Vec::new();
    };
    let mut targets = Vec::new();
    for other in others {
        let mut target = |what, value: fn(&Sample) -> f64| {
            let rounds = ours.samples.iter().zip(&other.samples);
            let ratios = rounds.map(|(ours, theirs)| value(ours) / value(theirs));
            let target = Target {
                who: other.name,
                what,
                figure: median(ratios.clone()),
                bound: Bound::AtLeast(other.target),
            };
            let range = [ratios.clone().fold(f64::NAN, f64::min), ratios.fold(f64::NAN, f64::max)];
            targets.push((target, range));
        };
        target("requests/s, ours to theirs", |s| s.per_second);
        target("per second of CPU", Sample::per_cpu_second);
    }
    targets
}
