//! The faults, one after another, drawn from a seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;
use fastrand::Rng;
use testkit::stack::{Bridge, Network, Worker};

use crate::fault::Fault::{self, *};
use crate::store::Store;

/// How long all is well between two faults, in milliseconds.
const FAIR: std::ops::Range<u64> = 100..900;

/// How long a fault lasts that has an end, in milliseconds. Sometimes that is longer than a
/// request's time-out.
const FOUL: std::ops::Range<u64> = 50..3_000;

/// How much later data arrives while the network is slow.
const SLOW: Duration = Duration::from_millis(300);

/// How far Redis's clock is set ahead of the others, in milliseconds. Sometimes that is more than
/// the ttl of an order's turn, and a step may be twice as large.
const AHEAD_MS: std::ops::Range<i64> = -5_000..5_000;

/// The programs of a sale.
pub(super) struct Parts {
    // In this order, so that the Workers end before what they talk to.
    pub(super) workers: [Worker; 2],
    pub(super) bridge: Bridge,
    pub(super) store: Store,
    pub(super) network: Network,
}

/// How far the chaos has got.
#[derive(Default)]
pub(super) struct Course {
    sku: Mutex<String>,
    faults: AtomicU64,
    is_over: AtomicBool,
    is_whole: AtomicBool,
}

/// How often each fault happened.
#[derive(Default)]
pub(super) struct Told(BTreeMap<Fault, u64>);

impl Course {
    /// Nothing more may fail, or can.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether each fault has happened.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// How many faults have happened.
    pub(super) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// Says which sale is held from now on.
    pub(super) fn begin(&self, sku: &str) {
        sku.clone_into(&mut self.sku());
    }

    /// The sale that is held.
    fn sku(&self) -> MutexGuard<'_, String> {
        self.sku.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = self.0.iter().map(|(fault, count)| {
            let name = fault.to_possible_value().expect("none is hidden");
            format!("{} {count}", name.get_name().replace('-', " "))
        });
        f.write_str(&told.collect::<Vec<_>>().join(", "))
    }
}

impl Parts {
    /// Lets one fault after another happen, until the course is over.
    pub(super) fn suffer(&mut self, seed: u64, course: &Course) -> Result<Told> {
        let told = self.strike_all(seed, course);
        course.end();
        told
    }

    fn strike_all(&mut self, seed: u64, course: &Course) -> Result<Told> {
        let mut random = Rng::with_seed(seed);
        let mut told = Told::default();
        let mut next = Vec::new();
        while !course.is_over() {
            if next.is_empty() {
                next.extend(self.store.faults());
                random.shuffle(&mut next);
            }
            let fault = next.pop().expect("a fault is left");
            let sku = course.sku().clone();
            self.strike(fault, &sku, &mut random).with_context(|| format!("{fault:?}"))?;
            *told.0.entry(fault).or_default() += 1;
            course.faults.fetch_add(1, Ordering::Relaxed);
            let mut faults = self.store.faults().iter();
            let is_whole = faults.all(|fault| told.0.contains_key(fault));
            course.is_whole.store(is_whole, Ordering::Relaxed);
            sleep(Duration::from_millis(random.u64(FAIR)));
        }
        Ok(told)
    }

    /// One fault, from its beginning to its end.
    fn strike(&mut self, fault: Fault, sku: &str, random: &mut Rng) -> Result<()> {
        let lasts = Duration::from_millis(random.u64(FOUL));
        let worker = &mut self.workers[random.usize(0..2)];
        match fault {
            WorkerKilled => {
                worker.kill();
                sleep(lasts);
                worker.restart()?;
            }
            BridgeKilled => {
                self.bridge.kill();
                sleep(lasts);
                self.bridge.restart()?;
            }
            RedisKilled => {
                let redis = self.store.server(sku);
                redis.kill();
                sleep(lasts);
                redis.restart()?;
            }
            WorkerStopped => {
                worker.freeze();
                sleep(lasts);
                worker.wake();
            }
            BridgeStopped => {
                self.bridge.freeze();
                sleep(lasts);
                self.bridge.wake();
            }
            RedisStopped => {
                let redis = self.store.server(sku);
                redis.freeze();
                sleep(lasts);
                redis.wake();
            }
            ConnectionsToRedisCut => {
                let redis = self.store.server(sku);
                let _: i64 = redis.try_ask(&["CLIENT", "KILL", "TYPE", "normal"])?;
            }
            ConnectionsToBridgeCut => self.network.cut(),
            NetworkStill => {
                self.network.hold();
                sleep(lasts);
                // What waited never arrives, as if a host in between had forgotten it.
                self.network.cut();
                self.network.release();
            }
            NetworkSlow => {
                self.network.delay(SLOW);
                sleep(lasts);
                self.network.delay(Duration::ZERO);
            }
            RedisFull => {
                let redis = self.store.server(sku);
                redis.limit_memory("1")?;
                sleep(lasts);
                redis.limit_memory("0")?;
            }
            // With `appendfsync always`, Redis ends when it cannot write to its disk.
            DiskFull => {
                let redis = self.store.server(sku);
                redis.fill_disk()?;
                sleep(lasts);
                redis.restart()?;
            }
            ClockStepped => {
                let ahead_ms = random.i64(AHEAD_MS);
                self.store.server(sku).set_clock(ahead_ms)?;
            }
            _ => self.store.strike(fault, sku, lasts)?,
        }
        Ok(())
    }
}
