//! The way of one command through a cluster: to whom next, and for how long.

use std::time::Duration;

use redis::Value;
use redis::cluster_routing::Slot;
use tokio::time::{Instant, sleep};

use super::Cluster;
use crate::atlas::Place;
use crate::lost::Lost;
use crate::redirect::Told;

/// How often one command is redirected. More is a cluster whose nodes disagree, and its last word is passed on.
const HOPS: usize = 8;

/// For how long a command is held back whose keys lie on two nodes, because their slot is on its way. Then the client is told
/// so, within the time that it waits for an answer.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(25);

/// Where a command is to go next, and what was learned on the way.
pub(super) struct Way {
    pub(super) to: Place,
    /// The slot is on its way to there, and only whoever was sent is let in.
    pub(super) asking: bool,
    hops: usize,
    patient_until: Instant,
    unreachable: Vec<Place>,
}

/// Whether to go on.
pub(super) enum Step {
    Arrived,
    Onward,
}

impl Cluster {
    pub(super) fn way(&self, slot: Option<Slot>) -> Way {
        Way {
            to: self.atlas.owner(slot),
            asking: false,
            hops: 0,
            patient_until: Instant::now() + PATIENCE,
            unreachable: Vec::new(),
        }
    }

    /// The replies, or `None` to ask another: nothing was sent.
    pub(super) fn sent(
        &self,
        way: &mut Way,
        sent: Result<Vec<Value>, Lost>,
    ) -> Result<Option<Vec<Value>>, Lost> {
        let lost = match sent {
            Ok(replies) => return Ok(Some(replies)),
            Err(lost) => lost,
        };
        if !matches!(lost, Lost::NoTurn | Lost::TooManyWaits) {
            self.atlas.shun(&way.to);
        }
        let Lost::Unreachable = lost else {
            return Err(lost);
        };
        way.unreachable.push(way.to.clone());
        way.to = self.atlas.another(&way.unreachable).ok_or(lost)?;
        way.asking = false;
        Ok(None)
    }

    /// On by what the node told.
    pub(super) async fn step(
        &self,
        way: &mut Way,
        slot: Option<Slot>,
        told: Told,
    ) -> Result<Step, Lost> {
        if matches!(told, Told::Moved(..) | Told::Ask(_)) {
            way.hops += 1;
            if way.hops > HOPS {
                return Ok(Step::Arrived);
            }
        }
        match told {
            Told::Answer => {
                if let Some(slot) = slot.filter(|_| !way.asking) {
                    self.atlas.learn(slot, way.to.clone());
                }
                return Ok(Step::Arrived);
            }
            Told::Moved(slot, to) => {
                let to = to.beside(&way.to);
                if !self.is_ours(&to, &way.to).await {
                    return Ok(Step::Arrived);
                }
                if way.unreachable.contains(&to) {
                    return Err(Lost::Unreachable);
                }
                self.atlas.learn(slot, to.clone());
                way.to = to;
                way.asking = false;
            }
            Told::Ask(to) => {
                let to = to.beside(&way.to);
                if !self.is_ours(&to, &way.to).await {
                    return Ok(Step::Arrived);
                }
                way.to = to;
                way.asking = true;
            }
            Told::Again if Instant::now() < way.patient_until => {
                sleep(PAUSE).await;
                way.to = self.atlas.owner(slot);
                way.asking = false;
            }
            Told::Again => return Ok(Step::Arrived),
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

    /// A slot that is on its way for long is told of often, and is then where it was sent.
    #[tokio::test(start_paused = true)]
    async fn a_command_that_was_held_back_often_is_redirected_all_the_same() {
        let server = Server::at("redis://127.0.0.1:7000", None).unwrap();
        let limits = Limits {
            timeout: Duration::from_secs(1),
            waits: 1,
            budget: Budget::of(1),
        };
        let cluster = Cluster::behind(server, limits).unwrap();
        let here = Place::parse("127.0.0.1:7000").unwrap();
        cluster.atlas.node(&here);
        let slot = Slot::for_key(b"a");
        let mut way = cluster.way(Some(slot));
        let moved = || Told::Moved(slot, here.clone());
        for told in (0..15).map(|_| Told::Again).chain([moved()]) {
            let step = cluster.step(&mut way, Some(slot), told).await;
            assert!(matches!(step, Ok(Step::Onward)));
        }
        // Nodes that disagree are not asked for ever.
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
