//! A Redis Cluster of three primaries.

use std::time::Duration;

use super::port::free_port;
use super::redis_server::{DURABLE, RedisServer};

/// How many slots a cluster has.
pub const SLOTS: u16 = 16_384;

/// Three running servers that share the slots in equal parts. Dropping it kills them.
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
}

fn start_node(options: &[&str]) -> RedisServer {
    RedisServer::with(|_| {
        // Drawn for each try, since somebody may have taken it meanwhile.
        let bus = free_port().expect("a port").to_string();
        let ours = ["--cluster-enabled", "yes", "--cluster-port", &bus];
        ours.iter().chain(options).map(|&option| option.to_owned()).collect()
    })
}

/// How to introduce a server to others: where it serves clients, and where it talks to servers.
fn meet(node: &RedisServer) -> String {
    let (_, bus): (String, u16) = node.ask("CONFIG GET cluster-port");
    format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port())
}

impl RedisCluster {
    /// Starts three servers, and waits until they form one cluster.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same with servers that keep all that they confirmed when they are restarted.
    pub fn durable() -> Self {
        Self::with(&DURABLE)
    }

    fn with(options: &[&str]) -> Self {
        let nodes: Vec<RedisServer> = (0..3).map(|_| start_node(options)).collect();
        let share = SLOTS / 3 + 1;
        for (index, node) in nodes.iter().enumerate() {
            let first = share * u16::try_from(index).expect("three");
            let last = (first + share - 1).min(SLOTS - 1);
            let _: () = node.ask(&format!("CLUSTER ADDSLOTSRANGE {first} {last}"));
            let _: () = node.ask(&format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1));
            let _: () = nodes[0].ask(&meet(node));
        }
        let cluster = Self { nodes };
        cluster.wait_until_whole();
        cluster
    }

    /// Waits until each of its servers sees all three.
    pub fn wait_until_whole(&self) {
        for node in &self.nodes {
            node.wait_until("the cluster is whole", |node| {
                let info: String = node.ask("CLUSTER INFO");
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            });
        }
    }

    /// Sets how long a server may be silent until the others give it up. Until this is called, that
    /// is Redis's own default, so that a pause of the machine does not look like a death.
    pub fn give_up_after(&self, silence: Duration) {
        let silence = silence.as_millis();
        for node in &self.nodes {
            let _: () = node.ask(&format!("CONFIG SET cluster-node-timeout {silence}"));
        }
    }

    /// A new replica of one of its servers, which has copied it and is known to all.
    pub fn add_replica_of(&self, index: usize) -> RedisServer {
        let replica = start_node(&[]);
        let port = replica.port();
        let _: () = self.nodes[0].ask(&meet(&replica));
        let primary = myself(&self.nodes[index]).id;
        replica.wait_until("it knows its primary", |replica| {
            replica.try_ask::<()>(&["CLUSTER", "REPLICATE", &primary]).is_ok()
        });
        replica.wait_until_in_step();
        for node in &self.nodes {
            node.wait_until("it is known", |node| {
                let nodes: String = node.ask("CLUSTER NODES");
                nodes
                    .lines()
                    .any(|line| line.contains(&format!(":{port}@")) && line.contains(" slave "))
            });
        }
        replica
    }

    /// The address for a bridge.
    pub fn url(&self) -> String {
        self.nodes[0].url()
    }

    /// Its servers.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// Its servers, so that one can be killed.
    pub fn nodes_mut(&mut self) -> &mut [RedisServer] {
        &mut self.nodes
    }

    /// The slot of a key, by Redis itself.
    pub fn slot(&self, key: &str) -> u16 {
        let slot = self.nodes[0].try_ask(&["CLUSTER", "KEYSLOT", key]);
        slot.expect("a slot")
    }

    /// Which of the servers has the slot.
    pub fn owner(&self, slot: u16) -> usize {
        let owns = |node: &RedisServer| {
            node.try_ask::<i64>(&["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()]).is_ok()
                && myself(node).slots.iter().any(|&(first, last)| (first..=last).contains(&slot))
        };
        (self.nodes.iter().position(owns)).expect("every slot has an owner")
    }

    /// How many keys of the slot a server has.
    pub fn keys(&self, slot: u16, of: usize) -> u64 {
        self.nodes[of].ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}"))
    }

    /// Begins to move a slot. From now on its keys may be here or there.
    pub fn begin_migration(&self, slot: u16, from: usize, to: usize) {
        let (here, there) = (myself(&self.nodes[from]).id, myself(&self.nodes[to]).id);
        let _: () = self.nodes[to].ask(&format!("CLUSTER SETSLOT {slot} IMPORTING {here}"));
        let _: () = self.nodes[from].ask(&format!("CLUSTER SETSLOT {slot} MIGRATING {there}"));
    }

    /// Moves one key of the slot, if any is left. Returns whether there was one.
    pub fn migrate_one(&self, slot: u16, from: usize, to: usize) -> bool {
        let keys: Vec<String> = self.nodes[from].ask(&format!("CLUSTER GETKEYSINSLOT {slot} 1"));
        let Some(key) = keys.first() else {
            return false;
        };
        let port = self.nodes[to].port().to_string();
        // Redis answers `NOKEY` if the key has expired meanwhile.
        let _: String = self.nodes[from]
            .try_ask(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"])
            .expect("the key moves");
        true
    }

    /// Gives the slot to the other server.
    pub fn end_migration(&self, slot: u16, to: usize) {
        let there = myself(&self.nodes[to]).id;
        // The new owner first, so that no moment is without one.
        let others = (0..self.nodes.len()).filter(|index| *index != to);
        for index in std::iter::once(to).chain(others) {
            let _: () = self.nodes[index].ask(&format!("CLUSTER SETSLOT {slot} NODE {there}"));
        }
    }

    /// Moves a slot with all its keys.
    pub fn migrate(&self, slot: u16, from: usize, to: usize) {
        self.begin_migration(slot, from, to);
        while self.migrate_one(slot, from, to) {}
        self.end_migration(slot, to);
    }
}

struct Myself {
    id: String,
    slots: Vec<(u16, u16)>,
}

/// What a server's own line in `CLUSTER NODES` says: its id, six more fields and the state of its
/// link, then its slots.
fn myself(node: &RedisServer) -> Myself {
    let nodes: String = node.ask("CLUSTER NODES");
    let line = nodes.lines().find(|line| line.contains("myself"));
    let mut words = line.expect("it knows itself").split(' ');
    let id = words.next().expect("an id").to_owned();
    let range = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    // Slots that are being moved stand in brackets.
    let slots = words.skip(7).filter_map(range).collect();
    Myself { id, slots }
}
