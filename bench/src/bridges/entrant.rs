//! A bridge that is measured, and what it did in each round.

use std::time::Duration;

pub(super) const CUSTOMERS: usize = 16;

/// A bridge, how to ask it, and how much faster ours should be.
pub(super) struct Entrant {
    pub(super) name: &'static str,
    pub(super) address: String,
    pub(super) process: u32,
    pub(super) authorization: String,
    pub(super) body: fn(sha: &str, customer: usize) -> String,
    pub(super) target: f64,
    /// One for each round.
    pub(super) samples: Vec<Sample>,
}

/// What the customers got.
pub(super) struct Served {
    pub(super) requests: u64,
    pub(super) took: Duration,
}

/// What a bridge did in one round.
pub(super) struct Sample {
    pub(super) per_second: f64,
    /// Microseconds of CPU for each request: of the bridge, of Redis and of the customers.
    pub(super) cpu_us: [f64; 3],
    /// The part of the two cores that other programs used, from 0 to 1.
    pub(super) others: f64,
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
    pub(super) fn per_cpu_second(&self) -> f64 {
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
