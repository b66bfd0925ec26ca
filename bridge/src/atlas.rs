//! What is known of a cluster: its nodes, and who answered last for each slot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use redis::cluster_routing::Slot;

use crate::dial::Server;
use crate::node::Node;

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Empty: where the one is that said so.
    host: String,
    port: u16,
}

pub(crate) struct Atlas {
    /// The one that the operator named. How it is spoken to, the others are too.
    named: Server,
    start: Place,
    timeout: Duration,
    known: Mutex<Known>,
}

struct Known {
    nodes: HashMap<Place, Arc<Node>>,
    owners: HashMap<Slot, Place>,
    /// Who is asked where nobody is known to own the slot.
    entry: Place,
}

impl Place {
    /// `host:port`; a host of version 6 has colons too.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let (host, port) = address.rsplit_once(':')?;
        Some(Self {
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    }

    /// As seen from `other`, which said it.
    pub(crate) fn beside(mut self, other: &Self) -> Self {
        // Redis says `?` where it was not told its own host name.
        if matches!(self.host.as_str(), "" | "?") {
            self.host.clone_from(&other.host);
        }
        self
    }
}

impl Atlas {
    /// `None` if the node has no address that others could have, too.
    pub(crate) fn from(named: Server, timeout: Duration) -> Option<Self> {
        let (host, port) = named.place()?;
        let start = Place {
            host: host.to_owned(),
            port,
        };
        let known = Known {
            nodes: HashMap::new(),
            owners: HashMap::new(),
            entry: start.clone(),
        };
        Some(Self {
            named,
            start,
            timeout,
            known: Mutex::new(known),
        })
    }

    pub(crate) fn node(&self, place: &Place) -> Arc<Node> {
        let mut known = self.known();
        let node = known.nodes.entry(place.clone()).or_insert_with(|| {
            let server = self.named.elsewhere(&place.host, place.port);
            Arc::new(Node::new(server, self.timeout))
        });
        Arc::clone(node)
    }

    /// Who is to be asked first.
    pub(crate) fn owner(&self, slot: Option<Slot>) -> Place {
        let known = self.known();
        slot.and_then(|slot| known.owners.get(&slot))
            .unwrap_or(&known.entry)
            .clone()
    }

    pub(crate) fn learn(&self, slot: Slot, place: Place) {
        self.known().owners.insert(slot, place);
    }

    /// Any but those.
    pub(crate) fn another(&self, but: &[Place]) -> Option<Place> {
        let known = self.known();
        [&known.entry, &self.start]
            .into_iter()
            .chain(known.nodes.keys())
            .find(|place| !but.contains(place))
            .cloned()
    }

    /// Something is wrong there: others are asked first.
    pub(crate) fn shun(&self, place: &Place) {
        self.known().owners.retain(|_, owner| owner != place);
        if let Some(entry) = self.another(std::slice::from_ref(place)) {
            self.known().entry = entry;
        }
    }

    /// These are all.
    pub(crate) fn keep(&self, places: &[Place]) {
        if places.is_empty() {
            return;
        }
        for place in places {
            self.node(place);
        }
        let is_known = |place: &Place| *place == self.start || places.contains(place);
        let mut known = self.known();
        known.nodes.retain(|place, _| is_known(place));
        known.owners.retain(|_, place| is_known(place));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those in the answer of `asked` to `CLUSTER SLOTS`: a list of ranges, each its first slot, its last, and its nodes, each of which
/// begins with host and port.
pub(crate) fn places(replies: &[Value], asked: &Place) -> Vec<Place> {
    let list = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let ranges = replies.first().map(list).unwrap_or_default();
    let nodes = ranges
        .iter()
        .flat_map(|range| list(range).into_iter().skip(2));
    let mut places = Vec::new();
    for node in nodes {
        let (host, port) = match &list(&node)[..] {
            [Value::BulkString(host), Value::Int(port), ..] => {
                (String::from_utf8_lossy(host).into_owned(), *port)
            }
            [Value::Nil, Value::Int(port), ..] => (String::new(), *port),
            _ => continue,
        };
        let Ok(port) = u16::try_from(port) else {
            continue;
        };
        let place = Place { host, port }.beside(asked);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
