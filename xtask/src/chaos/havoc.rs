//! What goes wrong, one thing after another, drawn from a seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use fastrand::Rng;
use tokio::sync::watch;
use xtask::stack::{Bridge, RedisServer, Worker};

use super::way::Weather;

/// How long fair weather lasts between two faults, in milliseconds.
const FAIR: std::ops::Range<u64> = 100..900;

/// How long a fault lasts that has an end, in milliseconds. Longer than the time-out of a request,
/// at times.
const FOUL: std::ops::Range<u64> = 50..3_000;

/// What a sale is held on.
pub(super) struct Parts {
    // In this order, so that the Workers end before what they talk to.
    pub(super) workers: [Worker; 2],
    pub(super) bridge: Bridge,
    pub(super) redis: RedisServer,
    pub(super) weather: watch::Sender<Weather>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
enum Fault {
    WorkerKilled,
    BridgeKilled,
    RedisKilled,
    WorkerStopped,
    BridgeStopped,
    RedisStopped,
    ConnectionsToRedisCut,
    ConnectionsToBridgeCut,
    NetworkStill,
    NetworkSlow,
    RedisFull,
    DiskFull,
}

use Fault::*;

/// How far it is.
#[derive(Default)]
pub(super) struct Course {
    is_over: AtomicBool,
    is_whole: AtomicBool,
}

/// How often what went wrong.
#[derive(Default)]
pub(super) struct Told(BTreeMap<Fault, u64>);

impl Course {
    /// Nothing more is to go wrong, or can.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether each fault has come.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }
}

impl Told {
    /// Whether each fault came at least once.
    pub(super) fn is_whole(&self) -> bool {
        self.0.len() == Fault::value_variants().len()
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
    /// Has things go wrong, one after another, until the course is over.
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
                next.extend(Fault::value_variants());
                random.shuffle(&mut next);
            }
            let fault = next.pop().expect("a fault is left");
            self.strike(fault, &mut random)
                .with_context(|| format!("{fault:?}"))?;
            *told.0.entry(fault).or_default() += 1;
            course.is_whole.store(told.is_whole(), Ordering::Relaxed);
            sleep(Duration::from_millis(random.u64(FAIR)));
        }
        Ok(told)
    }

    /// One fault, from its begin to its end.
    fn strike(&mut self, fault: Fault, random: &mut Rng) -> Result<()> {
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
                self.redis.kill();
                sleep(lasts);
                self.redis.restart()?;
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
                self.redis.freeze();
                sleep(lasts);
                self.redis.wake();
            }
            ConnectionsToRedisCut => {
                let _: i64 = self.redis.try_ask(&["CLIENT", "KILL", "TYPE", "normal"])?;
            }
            ConnectionsToBridgeCut => self.weather.send_modify(Weather::cut),
            NetworkStill => {
                self.weather.send_modify(|now| now.is_still = true);
                sleep(lasts);
                // What waited does not arrive after all, as if a host in between had forgotten it.
                self.weather.send_modify(Weather::cut);
                self.weather.send_modify(|now| now.is_still = false);
            }
            NetworkSlow => {
                self.weather.send_modify(|now| now.is_slow = true);
                sleep(lasts);
                self.weather.send_modify(|now| now.is_slow = false);
            }
            RedisFull => {
                self.redis.limit_memory("1")?;
                sleep(lasts);
                self.redis.limit_memory("0")?;
            }
            // With `appendfsync always`, Redis ends when it cannot write.
            DiskFull => {
                self.redis.fill_disk()?;
                sleep(lasts);
                self.redis.restart()?;
            }
        }
        Ok(())
    }
}
