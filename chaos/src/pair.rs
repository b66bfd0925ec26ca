//! A primary and a replica, and how the replica takes over.

use std::mem;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use testkit::stack::{LatencyProxy, RedisServer};

use crate::fault::Fault::{self, *};

/// The faults of a fail-over, and some others.
pub(super) const FAULTS: &[Fault] = &[
    PrimaryKilled,
    PrimaryStopped,
    PrimaryReplaced,
    ReplicaBehind,
    ReplicaKilled,
    WorkerKilled,
    BridgeKilled,
    RedisKilled,
    NetworkStill,
];

/// A primary and its replica behind one address, which leads to the primary.
pub(super) struct Pair {
    primary: RedisServer,
    replica: RedisServer,
    proxy: LatencyProxy,
}

impl Pair {
    pub(super) fn start() -> Result<Self> {
        let (primary, replica) = (RedisServer::durable(), RedisServer::durable());
        let proxy = LatencyProxy::open(primary.address(), Duration::ZERO)?;
        let pair = Self { primary, replica, proxy };
        pair.follow()?;
        Ok(pair)
    }

    /// The address for a bridge.
    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.proxy.address())
    }

    pub(super) const fn primary(&mut self) -> &mut RedisServer {
        &mut self.primary
    }

    pub(super) fn ids(&self) -> [u32; 2] {
        [self.primary.id(), self.replica.id()]
    }

    pub(super) fn strike(&mut self, fault: Fault, lasts: Duration) -> Result<()> {
        match fault {
            PrimaryKilled => {
                self.primary.kill();
                sleep(lasts);
                self.fail_over()?;
                self.replica.restart()?;
            }
            // It still has the requests that it was sent, and executes them when it wakes.
            PrimaryStopped => {
                self.primary.freeze();
                sleep(lasts);
                self.fail_over()?;
                self.replica.wake();
            }
            // The old primary does not know that it was replaced, and goes on. Nobody reaches it
            // any more.
            PrimaryReplaced => {
                self.fail_over()?;
                sleep(lasts);
            }
            // What was written last is lost.
            ReplicaBehind => {
                let _: () = self.replica.try_ask(&["REPLICAOF", "127.0.0.1", "1"])?;
                sleep(lasts);
                self.primary.kill();
                self.fail_over()?;
                self.replica.restart()?;
            }
            ReplicaKilled => {
                self.replica.kill();
                sleep(lasts);
                self.replica.restart()?;
            }
            _ => unreachable!("it is no fault of a fail-over"),
        }
        self.follow()
    }

    /// Makes the replica the primary.
    fn fail_over(&mut self) -> Result<()> {
        let _: () = self.replica.try_ask(&["REPLICAOF", "NO", "ONE"])?;
        mem::swap(&mut self.primary, &mut self.replica);
        self.proxy.network().lead_to(self.primary.address());
        Ok(())
    }

    /// The replica drops what only it has, and copies the primary.
    fn follow(&self) -> Result<()> {
        let port = self.primary.port().to_string();
        let _: () = self.replica.try_ask(&["REPLICAOF", "127.0.0.1", &port])?;
        self.replica.wait_until_in_step();
        Ok(())
    }
}
