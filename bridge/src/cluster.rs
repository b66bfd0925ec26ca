//! A Redis Cluster. Each key has a slot, each slot a node that owns it. Slots move between nodes at
//! any time.
//!
//! A command goes to the node that answered the last one for its slot. A node that does not own the
//! slot says which one does (`MOVED`), or which one has the key while the slot moves (`ASK`). The
//! command is then sent there. A node that redirects has executed nothing, so the command is still
//! sent only once.

mod routing;

use futures_util::future::join_all;
use redis::cluster_routing::Slot;
use redis::{Cmd, Pipeline, Value, cmd};

use self::routing::Routing;
use crate::budget::Limits;
use crate::command::{self, Command, name, word};
use crate::dial::Server;
use crate::hub::{Listener, NotListening};
use crate::no_reply::NoReply;
use crate::parts::Parts;
use crate::redirect::{Redirect, cross_slot, told};
use crate::refuse;
use crate::slot_map::SlotMap;
use crate::topic::Topic;

pub(crate) struct Cluster {
    slot_map: SlotMap,
    limits: Limits,
}

impl Cluster {
    pub(crate) fn behind(node: Server, limits: Limits) -> Result<Self, &'static str> {
        let slot_map = SlotMap::from(node, limits.clone());
        Ok(Self { slot_map: slot_map.ok_or("a cluster is not on a unix socket")?, limits })
    }

    /// Runs one command after the other, since each may go to another node. A command that waits
    /// for replicas goes along with the write before it.
    pub(crate) async fn run(&self, commands: &Pipeline) -> Result<Vec<Value>, NoReply> {
        let mut parts = Parts::of(&self.limits);
        let commands: Vec<_> = commands.cmd_iter().collect();
        for piece in commands.chunk_by(|_, next| refuse::waits_for_replicas(&name(next))) {
            parts.add(self.piece(piece)).await?;
        }
        Ok(parts.replies())
    }

    /// Runs a command, with what follows it on its connection.
    async fn piece(&self, commands: &[&Cmd]) -> Result<Vec<Value>, NoReply> {
        let slot = commands.first().and_then(|first| slot(first));
        let mut way = Routing::by(&self.slot_map, slot);
        let asking = cmd("ASKING");
        loop {
            let node = self.slot_map.node(&way.to);
            let before = way.asking.then_some(&asking);
            let request = command::of(before.into_iter().chain(commands.iter().copied()));
            let sent = node.run(&request).await;
            let Some(mut replies) = way.sent(sent)? else {
                continue;
            };
            if before.is_some() {
                replies.remove(0);
            }
            let told = replies.first().map_or(Redirect::Answer, told);
            if !way.goes_on(slot, told).await? {
                return Ok(replies);
            }
        }
    }

    /// Runs all of it at one node, or nothing.
    pub(crate) async fn transact(&self, commands: Pipeline) -> Result<Vec<Value>, NoReply> {
        let slot = commands.cmd_iter().find_map(slot);
        let mut way = Routing::by(&self.slot_map, slot);
        let mut moved = None;
        loop {
            let node = self.slot_map.node(&way.to);
            let sent = node.transact(commands.clone()).await;
            let Some(replies) = way.sent(sent)? else {
                continue;
            };
            let told = (replies.iter().map(told))
                .find(|told| !matches!(told, Redirect::Answer))
                .unwrap_or(Redirect::Answer);
            let told = match told {
                Redirect::Moved(slot, _) if *moved.get_or_insert(slot) != slot => {
                    return Ok(vec![cross_slot()]);
                }
                // Each command would need an `ASKING` of its own. Either the keys arrive soon, or
                // they cannot be reached together now.
                Redirect::Ask(_) => Redirect::Again,
                told => told,
            };
            if !way.goes_on(slot, told).await? {
                return Ok(replies);
            }
        }
    }

    /// Subscribes at the node that owns the channel's slot: `PUBLISH` in a script counts the
    /// listeners at the script's node. A pattern has no slot, and each node hears all messages.
    pub(crate) async fn listen(&self, topic: Topic) -> Result<Listener, NotListening> {
        let slot = match &topic {
            Topic::Channel(channel) => {
                // The answer corrects an outdated slot map, whatever else it says.
                let _ = self.piece(&[cmd("EXISTS").arg(channel)]).await;
                Some(Slot::for_key(channel))
            }
            Topic::Pattern(_) => None,
        };
        let node = self.slot_map.node(&self.slot_map.owner(slot));
        node.listen(topic).await
    }

    pub(crate) async fn reads_only(&self, command: &Command<'_>) -> Result<bool, NoReply> {
        let entry = self.slot_map.node(&self.slot_map.owner(None));
        entry.reads_only(command).await
    }

    pub(crate) async fn trouble(&self) -> Option<String> {
        let entry = self.slot_map.owner(None);
        let trouble = self.slot_map.node(&entry).trouble().await;
        if trouble.is_some() {
            self.slot_map.mark_down(&entry);
        }
        trouble
    }

    pub(crate) async fn end_overdue_scripts(&self) {
        let nodes = self.slot_map.nodes();
        join_all(nodes.iter().map(|node| node.end_overdue_scripts())).await;
    }

    /// Learns which nodes there are. So the loss of one node does not cut the bridge off from the
    /// others.
    pub(crate) async fn keep_watch(&self) {
        self.slot_map.look_around(&self.slot_map.owner(None)).await;
    }
}

/// The slot of the key by which the command is most likely routed. If this is wrong, a node says
/// so.
pub(crate) fn slot(command: &Cmd) -> Option<Slot> {
    let key = match name(command).as_slice() {
        b"EVAL" | b"EVAL_RO" | b"EVALSHA" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" => {
            word(command, 2).filter(|count| *count != b"0")?;
            word(command, 3)
        }
        _ => word(command, 1),
    };
    key.map(Slot::for_key)
}
