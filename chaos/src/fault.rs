//! What can go wrong under a sale.

use clap::ValueEnum;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Fault {
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
    ClockStepped,
    PrimaryKilled,
    PrimaryStopped,
    PrimaryReplaced,
    ReplicaBehind,
    ReplicaKilled,
    SlotMoved,
    SlotMovedSlowly,
    SlotMovedAndBack,
    SlotMovedOverKilled,
}

use Fault::*;

impl Fault {
    /// The faults of a single Redis, and of the programs before it.
    pub(super) const OF_ONE: &[Self] = &[
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
    ];

    /// Steps of the clock, and faults whose leases must then end by the clock.
    pub(super) const OF_CLOCK: &[Self] = &[
        ClockStepped,
        ClockStepped,
        ClockStepped,
        WorkerKilled,
        WorkerStopped,
        BridgeStopped,
        RedisKilled,
        NetworkSlow,
    ];
}
