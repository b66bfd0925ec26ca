//! How one command is routed through a cluster: to which node next, and how long the bridge tries.

use std::time::Duration;

use redis::Value;
use redis::cluster_routing::Slot;
use tokio::time::{Instant, sleep};

use crate::dial::NodeAddr;
use crate::no_reply::NoReply;
use crate::redirect::Redirect;
use crate::slot_map::SlotMap;

/// How often one command is redirected. If it takes more, the cluster's nodes disagree, and the
/// last reply is passed on.
const HOPS: usize = 8;

/// How long a command is held back whose keys lie on two nodes, because their slot is moving. Then
/// the client is told so, in time for the answer that it waits for.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(25);

/// Where a command is to go next, and what was learned on the way.
pub(super) struct Routing<'m> {
    map: &'m SlotMap,
    pub(super) to: NodeAddr,
    /// The slot is moving to that node, which lets in only redirected commands.
    pub(super) asking: bool,
    hops: usize,
    patient_until: Instant,
    unreachable: Vec<NodeAddr>,
}

impl<'m> Routing<'m> {
    pub(super) fn by(map: &'m SlotMap, slot: Option<Slot>) -> Self {
        Self {
            map,
            to: map.owner(slot),
            asking: false,
            hops: 0,
            patient_until: Instant::now() + PATIENCE,
            unreachable: Vec::new(),
        }
    }

    /// The replies, or `None` to ask another node: nothing was sent.
    pub(super) fn sent(
        &mut self,
        sent: Result<Vec<Value>, NoReply>,
    ) -> Result<Option<Vec<Value>>, NoReply> {
        let lost = match sent {
            Ok(replies) => return Ok(Some(replies)),
            Err(lost) => lost,
        };
        if !matches!(lost, NoReply::NoTurn | NoReply::TooManyWaits) {
            self.map.mark_down(&self.to);
        }
        let NoReply::Unreachable = lost else {
            return Err(lost);
        };
        self.unreachable.push(self.to.clone());
        self.to = self.map.another(&self.unreachable).ok_or(lost)?;
        self.asking = false;
        Ok(None)
    }

    /// Follows what the node said. Returns whether there is another node to ask.
    pub(super) async fn goes_on(
        &mut self,
        slot: Option<Slot>,
        mut told: Redirect,
    ) -> Result<bool, NoReply> {
        if let Redirect::Moved(_, to) | Redirect::Ask(to) = &mut told {
            self.hops += 1;
            to.beside(&self.to);
            if self.hops > HOPS || !self.map.is_ours(to, &self.to).await {
                return Ok(false);
            }
        }
        match told {
            Redirect::Answer => {
                if let Some(slot) = slot.filter(|_| !self.asking) {
                    self.map.learn(slot, self.to.clone());
                }
                return Ok(false);
            }
            Redirect::Moved(slot, to) => {
                if self.unreachable.contains(&to) {
                    return Err(NoReply::Unreachable);
                }
                self.map.learn(slot, to.clone());
                self.to = to;
                self.asking = false;
            }
            Redirect::Ask(to) => {
                self.to = to;
                self.asking = true;
            }
            Redirect::Again if Instant::now() < self.patient_until => {
                sleep(PAUSE).await;
                // A try of its own: while the slot moves, each is redirected.
                self.hops = 0;
                self.to = self.map.owner(slot);
                self.asking = false;
            }
            Redirect::Again => return Ok(false),
            Redirect::Nowhere => {
                if let Some(slot) = slot {
                    self.map.forget(slot);
                }
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Limits};
    use crate::dial::Server;

    /// A slot that moves for long is reported often. In the end it is where the command was sent.
    #[tokio::test(start_paused = true)]
    async fn a_command_that_was_held_back_often_is_redirected_all_the_same() {
        let server = Server::at("redis://127.0.0.1:7000").unwrap();
        let limits =
            Limits { timeout: Duration::from_secs(1), max_reply: 1, budget: Budget::default() };
        let map = SlotMap::from(server, limits).unwrap();
        let here = NodeAddr::parse("127.0.0.1:7000").unwrap();
        map.node(&here);
        let slot = Slot::for_key(b"a");
        let mut way = Routing::by(&map, Some(slot));
        let moved = || Redirect::Moved(slot, here.clone());
        for told in (0..15).map(|_| Redirect::Again).chain([moved()]) {
            assert!(matches!(way.goes_on(Some(slot), told).await, Ok(true)));
        }
        // The bridge does not ask for ever if nodes disagree.
        for _ in 1..HOPS {
            assert!(matches!(way.goes_on(None, moved()).await, Ok(true)));
        }
        assert!(matches!(way.goes_on(None, moved()).await, Ok(false)));
    }
}
