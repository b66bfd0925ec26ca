//! A cluster whose slots move while sales are held in them.

use std::thread::sleep;
use std::time::Duration;

use testkit::stack::{RedisCluster, RedisServer};

use crate::fault::Fault::{self, *};

/// Faults of slots that move, and some others.
pub(super) const FAULTS: &[Fault] = &[
    SlotMoved,
    SlotMovedSlowly,
    SlotMovedAndBack,
    SlotMovedOverKilled,
    WorkerKilled,
    BridgeKilled,
    RedisKilled,
    RedisStopped,
    NetworkStill,
];

/// How long Redis lets a server of a cluster be silent, unless it is told another time. On a busy
/// machine, less would look like a death.
const REDIS_DEFAULT: Duration = Duration::from_secs(15);

pub(super) struct Cluster(RedisCluster);

/// A slot that moves.
struct Move {
    slot: u16,
    from: usize,
    to: usize,
}

impl Cluster {
    pub(super) const fn of(cluster: RedisCluster) -> Self {
        Self(cluster)
    }

    pub(super) fn url(&self) -> String {
        self.0.url()
    }

    pub(super) fn ids(&self) -> Vec<u32> {
        self.0.nodes().iter().map(RedisServer::id).collect()
    }

    /// The server that has the sale, once all servers answer.
    pub(super) fn server(&mut self, sku: &str) -> &mut RedisServer {
        self.0.wait_until_whole();
        let owner = self.0.owner(self.0.slot(sku));
        &mut self.0.nodes_mut()[owner]
    }

    pub(super) fn strike(&mut self, fault: Fault, sku: &str, lasts: Duration) {
        self.0.wait_until_whole();
        let slot = self.0.slot(sku);
        let from = self.0.owner(slot);
        let to = (from + 1) % self.0.nodes().len();
        let there = Move { slot, from, to };
        match fault {
            SlotMoved => self.0.migrate(slot, from, to),
            SlotMovedSlowly => {
                self.carry_half(&there);
                sleep(lasts);
                self.end(&there);
            }
            SlotMovedAndBack => {
                self.0.migrate(slot, from, to);
                self.0.migrate(slot, to, from);
            }
            SlotMovedOverKilled => {
                self.carry_half(&there);
                self.0.give_up_after(Duration::from_secs(2));
                for index in [from, to] {
                    self.0.nodes_mut()[index].kill();
                    sleep(lasts / 2);
                    let restarted = self.0.nodes_mut()[index].restart();
                    restarted.expect("it starts again");
                    self.0.wait_until_whole();
                }
                self.0.give_up_after(REDIS_DEFAULT);
                self.end(&there);
            }
            _ => unreachable!("it is no fault of a slot"),
        }
    }

    /// From now on some of the slot's keys are here and some there.
    fn carry_half(&self, Move { slot, from, to }: &Move) {
        self.0.begin_migration(*slot, *from, *to);
        for _ in 0..self.0.keys(*slot, *from) / 2 {
            self.0.migrate_one(*slot, *from, *to);
        }
    }

    fn end(&self, Move { slot, from, to }: &Move) {
        while self.0.migrate_one(*slot, *from, *to) {}
        self.0.end_migration(*slot, *to);
    }
}
