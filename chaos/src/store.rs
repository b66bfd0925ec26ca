//! Where the sales are stored: one Redis, or several that stand in for each other.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use testkit::stack::{Bridge, BridgeOptions, RedisCluster, RedisServer};

use crate::cluster::{self, Cluster};
use crate::fault::Fault;
use crate::pair::{self, Pair};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    /// One Redis, which loses nothing
    One,
    /// One Valkey, whose clock steps
    Clock,
    /// A primary whose replica takes over
    #[value(name = "fail-over")]
    Pair,
    /// A cluster of three whose slots move
    Cluster,
}

pub(super) enum Store {
    One(RedisServer),
    Clock(RedisServer),
    Pair(Pair),
    Cluster(Cluster),
}

impl Store {
    pub(super) fn start(over: Over) -> Result<Self> {
        Ok(match over {
            Over::One => Self::One(RedisServer::durable()),
            Over::Clock => Self::Clock(RedisServer::with_clock()?),
            Over::Pair => Self::Pair(Pair::start()?),
            Over::Cluster => Self::Cluster(Cluster::of(RedisCluster::durable())),
        })
    }

    /// A bridge before it.
    pub(super) fn bridge(&self) -> BridgeOptions {
        match self {
            Self::One(redis) | Self::Clock(redis) => Bridge::options().redis(redis.url()),
            Self::Pair(pair) => Bridge::options().redis(pair.url()),
            Self::Cluster(cluster) => Bridge::options().cluster(cluster.url()),
        }
    }

    /// The faults of this store, and of the programs before it.
    pub(super) const fn faults(&self) -> &'static [Fault] {
        match self {
            Self::One(_) => Fault::OF_ONE,
            Self::Clock(_) => Fault::OF_CLOCK,
            Self::Pair(_) => pair::FAULTS,
            Self::Cluster(_) => cluster::FAULTS,
        }
    }

    /// One of the faults that only this store has, in the sale of `sku`.
    pub(super) fn strike(&mut self, fault: Fault, sku: &str, lasts: Duration) -> Result<()> {
        match self {
            Self::One(_) | Self::Clock(_) => unreachable!("it has no faults of its own"),
            Self::Pair(pair) => pair.strike(fault, lasts),
            Self::Cluster(cluster) => {
                cluster.strike(fault, sku, lasts);
                Ok(())
            }
        }
    }

    /// The server that has the sale of `sku`.
    pub(super) fn server(&mut self, sku: &str) -> &mut RedisServer {
        match self {
            Self::One(redis) | Self::Clock(redis) => redis,
            Self::Pair(pair) => pair.primary(),
            Self::Cluster(cluster) => cluster.server(sku),
        }
    }

    /// The process ids of all its servers.
    pub(super) fn ids(&self) -> Vec<u32> {
        match self {
            Self::One(redis) | Self::Clock(redis) => vec![redis.id()],
            Self::Pair(pair) => pair.ids().to_vec(),
            Self::Cluster(cluster) => cluster.ids(),
        }
    }
}
