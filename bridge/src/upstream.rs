//! The Redis behind the bridge: one server, or a cluster of them.

use std::sync::Arc;

use redis::{Pipeline, Value};

use crate::cluster::Cluster;
use crate::command::{self, Command};
use crate::hub::{Listener, NotListening};
use crate::no_reply::NoReply;
use crate::node::Node;
use crate::topic::Topic;

pub(crate) enum Upstream {
    One(Box<Node>),
    Cluster(Box<Cluster>),
}

impl Upstream {
    /// Sends the commands and returns a reply for each.
    pub(crate) async fn run(&self, commands: &Arc<Pipeline>) -> Result<Vec<Value>, NoReply> {
        match self {
            Self::One(node) => node.run(commands).await,
            Self::Cluster(cluster) => cluster.run(commands).await,
        }
    }

    /// Runs the commands between MULTI and EXEC. The replies are those of the commands when they
    /// were queued, then EXEC's.
    pub(crate) async fn transact(&self, commands: Pipeline) -> Result<Vec<Value>, NoReply> {
        match self {
            Self::One(node) => node.transact(commands).await,
            Self::Cluster(cluster) => cluster.transact(commands).await,
        }
    }

    pub(crate) async fn listen(&self, topic: Topic) -> Result<Listener, NotListening> {
        match self {
            Self::One(node) => node.listen(topic).await,
            Self::Cluster(cluster) => cluster.listen(topic).await,
        }
    }

    pub(crate) async fn reads_only(&self, command: &Command<'_>) -> Result<bool, NoReply> {
        match self {
            Self::One(node) => node.reads_only(command).await,
            Self::Cluster(cluster) => cluster.reads_only(command).await,
        }
    }

    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Why Redis does not answer now, if it does not.
    pub(crate) async fn trouble(&self) -> Option<String> {
        match self {
            Self::One(node) => node.trouble().await,
            Self::Cluster(cluster) => cluster.trouble().await,
        }
    }

    /// Ends scripts of the bridge that keep Redis busy.
    pub(crate) async fn end_overdue_scripts(&self) {
        match self {
            Self::One(node) => node.end_overdue_scripts().await,
            Self::Cluster(cluster) => cluster.end_overdue_scripts().await,
        }
    }

    /// Notices the loss and the return of Redis.
    pub(crate) async fn keep_watch(&self) {
        match self {
            Self::One(node) => drop(node.run(&command::one(&["PING"])).await),
            Self::Cluster(cluster) => cluster.keep_watch().await,
        }
    }
}
