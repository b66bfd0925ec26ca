//! What was measured, as a table, and whether the targets are reached.

use super::customers::Served;
use super::{CUSTOMERS, Entrant};
use crate::host::median;
use crate::target::{Bound, Target};

/// What a bridge did in one round.
pub(super) struct Sample {
    per_second: f64,
    /// Microseconds of CPU for each request: of the bridge, of Redis and of the customers.
    cpu_us: [f64; 3],
    /// The part of the two cores that other programs used, from 0 to 1.
    others: f64,
}

impl Sample {
    /// `busy` is the part of the two cores that was busy.
    pub(super) fn of(served: &Served, cpu_ns: [u64; 3], busy: f64) -> Self {
        let requests = served.requests as f64;
        let both_cores_ns = 2.0 * served.took.as_secs_f64() * 1e9;
        let ours = cpu_ns.iter().sum::<u64>() as f64 / both_cores_ns;
        Self {
            per_second: requests / served.took.as_secs_f64(),
            cpu_us: cpu_ns.map(|ns| ns as f64 / 1_000.0 / requests),
            others: (busy - ours).max(0.0),
        }
    }

    /// How many requests the bridge serves in one second of its CPU time.
    fn per_cpu_second(&self) -> f64 {
        1_000_000.0 / self.cpu_us[0]
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([bridge, redis, customers], per_cpu) = (self.cpu_us, self.per_cpu_second());
        let (per_second, others) = (self.per_second, 100.0 * self.others);
        write!(
            f,
            "{per_second:10.0} {per_cpu:17.0} {bridge:13.1} {redis:6.1} {customers:9.1} {others:12.0} %"
        )
    }
}

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
            let range = [
                ratios.clone().fold(f64::NAN, f64::min),
                ratios.fold(f64::NAN, f64::max),
            ];
            targets.push((target, range));
        };
        target("requests/s, ours to theirs", |s| s.per_second);
        target("per second of CPU", Sample::per_cpu_second);
    }
    targets
}
