//! How one command is routed through a cluster: to which node next, and how long the bridge tries.

use std::time::Duration;

use redis::Value;
use redis::cluster_routing::Slot;
use tokio::time::{Instant, sleep};

use super::Cluster;
use crate::no_reply::NoReply;
use crate::redirect::Redirect;
use crate::slot_map::NodeAddr;

/// How often one command is redirected. If it takes more, the cluster's nodes disagree, and the
/// last reply is passed on.
const HOPS: usize = 8;

/// How long a command is held back whose keys lie on two nodes, because their slot is moving. Then
/// the client is told so, in time for the answer that it waits for.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(25);

/// Where a command is to go next, and what was learned on the way.
pub(super) struct Routing {
    pub(super) to: NodeAddr,
    /// The slot is moving to that node, which lets in only redirected commands.
    pub(super) asking: bool,
    hops: usize,
    patient_until: Instant,
    unreachable: Vec<NodeAddr>,
}

/// Whether to go on.
pub(super) enum Step {
    Arrived,
    Onward,
}

impl Cluster {
    pub(super) fn way(&self, slot: Option<Slot>) -> Routing {
        Routing {
            to: self.slot_map.owner(slot),
            asking: false,
            hops: 0,
            patient_until: Instant::now() + PATIENCE,
            unreachable: Vec::new(),
        }
    }

    /// The replies, or `None` to ask another node: nothing was sent.
    pub(super) fn sent(
        &self,
        way: &mut Routing,
        sent: Result<Vec<Value>, NoReply>,
    ) -> Result<Option<Vec<Value>>, NoReply> {
        let lost = match sent {
            Ok(replies) => return Ok(Some(replies)),
            Err(lost) => lost,
        };
        if !matches!(lost, NoReply::NoTurn | NoReply::TooManyWaits) {
            self.slot_map.mark_down(&way.to);
        }
        let NoReply::Unreachable = lost else {
            return Err(lost);
        };
        way.unreachable.push(way.to.clone());
        way.to = self.slot_map.another(&way.unreachable).ok_or(lost)?;
        way.asking = false;
        Ok(None)
    }

    /// Follows what the node said.
    pub(super) async fn step(
        &self,
        way: &mut Routing,
        slot: Option<Slot>,
        told: Redirect,
    ) -> Result<Step, NoReply> {
        if matches!(told, Redirect::Moved(..) | Redirect::Ask(_)) {
            way.hops += 1;
            if way.hops > HOPS {
                return Ok(Step::Arrived);
            }
        }
        match told {
            Redirect::Answer => {
                if let Some(slot) = slot.filter(|_| !way.asking) {
                    self.slot_map.learn(slot, way.to.clone());
                }
                return Ok(Step::Arrived);
            }
            Redirect::Moved(slot, to) => {
                let to = to.beside(&way.to);
                if !self.is_ours(&to, &way.to).await {
                    return Ok(Step::Arrived);
                }
                if way.unreachable.contains(&to) {
                    return Err(NoReply::Unreachable);
                }
                self.slot_map.learn(slot, to.clone());
                way.to = to;
                way.asking = false;
            }
            Redirect::Ask(to) => {
                let to = to.beside(&way.to);
                if !self.is_ours(&to, &way.to).await {
                    return Ok(Step::Arrived);
                }
                way.to = to;
                way.asking = true;
            }
            Redirect::Again if Instant::now() < way.patient_until => {
                sleep(PAUSE).await;
                // A try of its own: while the slot moves, each is redirected.
                way.hops = 0;
                way.to = self.slot_map.owner(slot);
                way.asking = false;
            }
            Redirect::Again => return Ok(Step::Arrived),
        }
        Ok(Step::Onward)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::dial::Server;
    use crate::node::Limits;

    /// A slot that moves for long is reported often. In the end it is where the command was sent.
    #[tokio::test(start_paused = true)]
    async fn a_command_that_was_held_back_often_is_redirected_all_the_same() {
        let server = Server::at("redis://127.0.0.1:7000", None).unwrap();
        let limits = Limits {
            timeout: Duration::from_secs(1),
            waits: 1,
            budget: Budget::of(1),
        };
        let cluster = Cluster::behind(server, limits).unwrap();
        let here = NodeAddr::parse("127.0.0.1:7000").unwrap();
        cluster.slot_map.node(&here);
        let slot = Slot::for_key(b"a");
        let mut way = cluster.way(Some(slot));
        let moved = || Redirect::Moved(slot, here.clone());
        for told in (0..15).map(|_| Redirect::Again).chain([moved()]) {
            let step = cluster.step(&mut way, Some(slot), told).await;
            assert!(matches!(step, Ok(Step::Onward)));
        }
        // The bridge does not ask for ever if nodes disagree.
        for _ in 1..HOPS {
            assert!(matches!(
                cluster.step(&mut way, None, moved()).await,
                Ok(Step::Onward)
            ));
        }
        assert!(matches!(
            cluster.step(&mut way, None, moved()).await,
            Ok(Step::Arrived)
        ));
    }
}
