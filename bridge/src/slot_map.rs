//! What the bridge knows of a cluster: its nodes, and which one answered last for each slot.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::Value;
use redis::cluster_routing::Slot;

use crate::budget::Limits;
use crate::command;
use crate::dial::{NodeAddr, Server};
use crate::node::Node;

pub(crate) struct SlotMap {
    /// The node that the operator named. The bridge uses its settings for the other nodes.
    named: Server,
    start: NodeAddr,
    limits: Limits,
    known: Mutex<Known>,
}

struct Known {
    nodes: HashMap<NodeAddr, Arc<Node>>,
    owners: HashMap<Slot, NodeAddr>,
    /// Which node to ask for a slot without a known owner.
    entry: NodeAddr,
}

impl SlotMap {
    /// `None` if the node's address is one that other nodes cannot have, such as a socket.
    pub(crate) fn from(named: Server, limits: Limits) -> Option<Self> {
        let start = named.place()?.clone();
        let known = Known { nodes: HashMap::new(), owners: HashMap::new(), entry: start.clone() };
        Some(Self { named, start, limits, known: Mutex::new(known) })
    }

    pub(crate) fn node(&self, place: &NodeAddr) -> Arc<Node> {
        let mut known = self.known.lock();
        let node = known.nodes.entry(place.clone()).or_insert_with(|| {
            let server = self.named.elsewhere(place.clone());
            Arc::new(Node::new(server, self.limits.clone()))
        });
        Arc::clone(node)
    }

    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        self.known.lock().nodes.values().cloned().collect()
    }

    /// Which node to ask first.
    pub(crate) fn owner(&self, slot: Option<Slot>) -> NodeAddr {
        let known = self.known.lock();
        slot.and_then(|slot| known.owners.get(&slot)).unwrap_or(&known.entry).clone()
    }

    pub(crate) fn learn(&self, slot: Slot, place: NodeAddr) {
        self.known.lock().owners.insert(slot, place);
    }

    /// Whoever wants the slot next asks where it is.
    pub(crate) fn forget(&self, slot: Slot) {
        self.known.lock().owners.remove(&slot);
    }

    /// Any node but those.
    pub(crate) fn another(&self, but: &[NodeAddr]) -> Option<NodeAddr> {
        let known = self.known.lock();
        [&known.entry, &self.start]
            .into_iter()
            .chain(known.nodes.keys())
            .find(|place| !but.contains(place))
            .cloned()
    }

    /// That node has trouble: others are asked first.
    pub(crate) fn mark_down(&self, place: &NodeAddr) {
        self.known.lock().owners.retain(|_, owner| owner != place);
        if let Some(entry) = self.another(std::slice::from_ref(place)) {
            self.known.lock().entry = entry;
        }
    }

    /// Keeps only these nodes.
    pub(crate) fn keep(&self, places: &[NodeAddr]) {
        if places.is_empty() {
            return;
        }
        for place in places {
            self.node(place);
        }
        let is_known = |place: &NodeAddr| *place == self.start || places.contains(place);
        let mut known = self.known.lock();
        known.nodes.retain(|place, _| is_known(place));
        known.owners.retain(|_, place| is_known(place));
    }

    /// Learns which nodes there are. A node that came back with an empty disk is in no cluster, and
    /// knows none.
    pub(crate) async fn look_around(&self, from: &NodeAddr) {
        let question = command::one(&["CLUSTER", "NODES"]);
        match self.node(from).run(&question).await {
            Ok(replies) if knows_slots(&replies) => self.keep(&places(&replies, from)),
            _ => self.mark_down(from),
        }
    }

    /// Whether a redirect may be followed. A script can answer with any error, and a node that is
    /// asked is sent Redis' password first. So the bridge follows only to nodes that others of the
    /// cluster know.
    pub(crate) async fn is_ours(&self, place: &NodeAddr, said_by: &NodeAddr) -> bool {
        let is_known = || self.known.lock().nodes.contains_key(place);
        if !is_known() {
            self.look_around(said_by).await;
        }
        is_known()
    }
}

/// Whether some node has slots, by the answer to `CLUSTER NODES`. They are behind eight other
/// words.
fn knows_slots(replies: &[Value]) -> bool {
    (text(replies).lines()).any(|line| line.split(' ').nth(8).is_some())
}

fn text(replies: &[Value]) -> Cow<'_, str> {
    match replies.first() {
        Some(Value::BulkString(text)) => String::from_utf8_lossy(text),
        _ => Cow::Borrowed(""),
    }
}

/// The nodes in the answer of `asked` to `CLUSTER NODES`. It has a line for each, whose second word
/// is `<address>:<port>@<bus>`, and behind a comma the host's name, if it has one.
pub(crate) fn places(replies: &[Value], asked: &NodeAddr) -> Vec<NodeAddr> {
    let mut places = Vec::new();
    for line in text(replies).lines() {
        let word = line.split(' ').nth(1).unwrap_or_default();
        let (address, rest) = word.split_once('@').unwrap_or((word, ""));
        let Some(mut place) = NodeAddr::parse(address) else {
            continue;
        };
        let port = place.port;
        place.beside(asked);
        places.push(place);
        // Redis names this in redirects if it is told to prefer names.
        if let Some(host) = rest.split(',').nth(1).filter(|host| !host.is_empty()) {
            let host = host.to_owned();
            places.push(NodeAddr { host, port });
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_their_addresses_and_names() {
        let nodes = "id1 10.0.0.1:6379@16379 master - 0 0 1 connected 0-5460\n\
            id2 ::1:6380@16380,redis.example,shard-id=x myself,slave id1 0 0 1 connected\n\
            id3 :6381@16381 myself,master - 0 0 1 connected\n\
            id4 :0@0 noaddr\n";
        let asked = NodeAddr::parse("10.0.0.9:7000").unwrap();
        let replies = [Value::BulkString(nodes.into())];
        let expected =
            ["10.0.0.1:6379", "::1:6380", "redis.example:6380", "10.0.0.9:6381", "10.0.0.9:0"];
        let expected = expected.map(|place| NodeAddr::parse(place).unwrap());
        assert_eq!(places(&replies, &asked), expected);
        assert_eq!(places(&[Value::Nil], &asked), []);
        assert!(knows_slots(&replies));
        let alone = "id4 :6379@16379 myself,master - 0 0 0 connected\n";
        assert!(!knows_slots(&[Value::BulkString(alone.into())]));
    }
}
